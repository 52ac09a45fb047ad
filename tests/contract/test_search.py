"""Both stores find the documents with several values, latest first, page by page, and forget what is deleted."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from models.values import format_time
from services.ports import Delete, Document, Query, Replace, Store, Upsert, Where
from tests.contract.conftest import SettableClock

START = datetime(2026, 2, 21, 20, tzinfo=UTC)
WORDS = ("fed", "rates", "zürich", "1.2", "%", "and", "人工", "c", "x" * 9000)


def at(second: int) -> str:
    return format_time(START + timedelta(seconds=second))


def article(name: str, second: int, words: list[str], **fields: Any) -> Document:
    return {"id": "article", "source_id": name, "timestamp": at(second), "words": words, **fields}


async def found(store: Store, where: tuple[Where, ...], limit: int, *, reverse: bool = True) -> list[str]:
    query, names = Query(where, order="by_time", reverse=reverse, limit=limit), []
    while True:
        page = await store.query("articles", query)
        names += [each["source_id"] for each in page.items]
        if page.next is None:
            return names
        assert len(page.items) == limit
        query = replace(query, after=page.next)


async def test_a_search_finds_what_counting_by_hand_finds(store: Store) -> None:
    chance = random.Random(7)
    documents = {
        name: article(
            name,
            chance.randrange(12),
            chance.sample(WORDS, 4),
            language=chance.choice(["en", "de"]),
            status=chance.choice(["pending", "analyzed"]),
            **({"sentiment": "negative"} if chance.random() < 0.5 else {}),
        )
        for name in (f"dedup:{n:03}" for n in range(90))
    }
    # A document without a time is not listed by time, and one whose words are no list contains none.
    documents["no time"] = {"id": "article", "source_id": "no time", "words": ["fed"]}
    documents["no list"] = {"id": "article", "source_id": "no list", "timestamp": at(3), "words": "fed"}
    await store.write_many("articles", list(documents.values()))
    filters = [
        (Where("words", "contains", "fed"),),
        (Where("words", "contains", "x" * 9000), Where("words", "contains", "%")),
        (Where("words", "contains", "zürich"), Where("language", "eq", "de"), Where("sentiment", "missing")),
        (Where("words", "contains", "and"), Where("timestamp", "ge", at(2)), Where("timestamp", "lt", at(9))),
        (Where("words", "contains", "人工"), Where("status", "eq", "analyzed"), Where("words", "contains", "1.2")),
        (Where("language", "eq", "en"), Where("sentiment", "eq", "negative")),
        (Where("words", "contains", "nowhere"),),
        (Where("words", "contains", "FED"),),
        (Where("words", "contains", "fe"),),
    ]
    for where in filters:
        for reverse in (False, True):
            timed = [each for each in documents.values() if "timestamp" in each]
            met = [each for each in timed if all(one.is_met_by(each) for one in where)]
            met.sort(key=lambda each: (each["timestamp"], each["source_id"]), reverse=reverse)
            names = [each["source_id"] for each in met]
            for limit in (1, 4, 50):
                assert await found(store, where, limit, reverse=reverse) == names


async def test_a_search_follows_every_kind_of_write(store: Store, clock: SettableClock) -> None:
    fed, rates = (Where("words", "contains", "fed"),), (Where("words", "contains", "rates"),)
    await store.create("articles", article("a", 1, ["fed"]))
    await store.upsert("articles", article("b", 2, ["fed"]))
    assert await found(store, fed, 5) == ["b", "a"]
    stored = await store.upsert("articles", article("a", 3, ["rates", "fed"]))
    assert await found(store, fed, 5) == ["a", "b"]
    await store.replace("articles", article("a", 3, ["rates"]), stored["_etag"])
    assert (await found(store, fed, 5), await found(store, rates, 5)) == (["b"], ["a"])
    read = await store.read("articles", "b", "article")
    assert read is not None
    await store.batch("articles", "b", [Replace(article("b", 2, ["rates"]), read["_etag"])])
    assert await found(store, rates, 5) == ["a", "b"]
    await store.batch("articles", "b", [Delete("article")])
    await store.batch("articles", "c", [Upsert(article("c", 1, ["rates"], ttl_timestamp=clock.seconds() + 5))])
    assert await found(store, rates, 5) == ["a", "c"]
    clock.forward(5)
    assert await found(store, rates, 5) == ["a"]
    await store.create("articles", article("c", 9, ["fed"]))
    assert (await found(store, fed, 5), await found(store, rates, 5)) == (["c"], ["a"])
    await store.delete("articles", "a", "article")
    assert await found(store, rates, 5) == []


async def test_times_of_all_centuries_are_in_order(store: Store) -> None:
    years = ("0001", "1583", "1969", "1970", "2026", "2241", "2243", "9999")
    for number, year in enumerate(years):
        document = {"id": "article", "source_id": f"{9 - number}", "timestamp": f"{year}-06-01T00:00:00Z"}
        await store.upsert("articles", {**document, "words": ["fed"]})
    expected = [f"{9 - number}" for number in range(len(years))]
    for limit in (1, 3, 10):
        where = (Where("words", "contains", "fed"),)
        assert await found(store, where, limit, reverse=False) == expected
        assert await found(store, where, limit) == expected[::-1]
    late = (Where("words", "contains", "fed"), Where("timestamp", "ge", "2243-06-01T00:00:00Z"))
    assert await found(store, late, 5) == ["2", "3"]
