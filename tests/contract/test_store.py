"""The promises of services/ports.py about a Store, for every store alike."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from models.errors import ChangedMeanwhile, Conflict, InvalidInput, Unavailable
from services.ports import Create, Delete, Document, Operation, Query, Replace, Store, Upsert, Where
from services.store.cosmos import CosmosStore
from services.store.sqlite import SqliteStore
from tests.contract.conftest import SettableClock

LONG_ID = "i" * 1023
LONG_KEY = "k" * 2048


def mention(tool: str, name: str, **fields: Any) -> Document:
    return {"id": name, "tool_id": tool, **fields}


def plain(document: Document | None) -> Document | None:
    return document and {name: value for name, value in document.items() if name not in ("_etag", "_ts")}


async def listed(store: Store, container: str, **query: Any) -> list[tuple[str, str]]:
    """(partition key, id) of all pages, two or `limit` at a time."""
    key = {
        "mentions": "tool_id",
        "quarantine": "pk",
        "articles": "source_id",
        "feeds": "feed_id",
        "sentiment_cache": "tool_id",
    }[container]
    found: list[tuple[str, str]] = []
    after = None
    limit = query.pop("limit", 2)
    while True:
        page = await store.query(container, Query(**query, limit=limit, after=after))
        assert len(page.items) <= limit
        found += [(item[key], item["id"]) for item in page.items]
        if page.next is None:
            return found
        assert len(page.items) == limit
        after = page.next


# Reading and writing


async def test_a_document_is_read_as_it_was_written(store: Store) -> None:
    document = mention(
        "tool",
        "a",
        text="Grüße, 世界 😀 \u2028 \\ \" '",
        number=1.5,
        whole=2**53,
        none=None,
        yes=True,
        empty=[],
        nested={"a": [1]},
        words="NaN, Infinity and -Infinity",
        small=[-0.5, 1e-7, 1e300],
    )
    written = await store.create("mentions", document)
    read = await store.read("mentions", "tool", "a")
    assert plain(read) == document
    assert read is not None
    assert written == {**document, "_etag": read["_etag"]}
    assert isinstance(written["_etag"], str)
    assert isinstance(read["_ts"], int)


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")  # aiohttp, over a megabyte
async def test_a_document_may_be_large(store: Store) -> None:
    document = mention("tool", "large", text="é" * 900_000)
    await store.upsert("mentions", document)
    assert plain(await store.read("mentions", "tool", "large")) == document


IDS = (
    "a b",
    "%2F%25",
    "x:y&z=1;,+",
    "'\"`",
    "ünïcödé",
    "日本語",
    "😀",
    "[]{}",
    "~*!()",
    "a.b",
    LONG_ID,
)


async def test_an_id_may_be_any_text_that_cosmos_takes(store: Store, subtests: pytest.Subtests) -> None:
    for name in IDS:
        with subtests.test(str(name)):
            await store.create("mentions", mention(name, name, n=0))
            await store.upsert("mentions", mention(name, name, n=1))
            found = await store.read("mentions", name, name)
            assert found is not None
            assert found["n"] == 1
            assert await listed(store, "mentions", partition=name) == [(name, name)]
            await store.replace("mentions", mention(name, name), found["_etag"])
            assert await store.delete("mentions", name, name)
            assert await store.read("mentions", name, name) is None


async def test_a_partition_key_may_have_characters_that_an_id_may_not(store: Store) -> None:
    key = "https://example.com/a?b=c#d\\e\t" + LONG_KEY
    key = key[:2048]
    await store.create("mentions", mention(key, "a"))
    assert await store.read("mentions", key, "a") is not None
    assert await listed(store, "mentions", partition=key) == [(key, "a")]


async def test_names_that_begin_with_an_underscore_are_the_stores_own(store: Store) -> None:
    written = await store.create("mentions", mention("tool", "a", _etag="mine", _ts=1, _rid="mine", _write="mine"))
    assert written["_etag"] != "mine"
    read = await store.read("mentions", "tool", "a")
    assert read is not None
    assert set(read) == {"id", "tool_id", "_etag", "_ts"}


async def test_what_was_read_can_be_written_back(store: Store, clock: SettableClock) -> None:
    await store.create("mentions", mention("tool", "a", ttl_timestamp=clock.seconds() + 60))
    read = await store.read("mentions", "tool", "a")
    assert read is not None
    written = await store.replace("mentions", {**read, "n": 1}, read["_etag"])
    assert plain(written) == {**(plain(read) or {}), "n": 1}
    assert plain(await store.upsert("mentions", written)) == plain(written)


async def test_a_later_change_to_a_written_document_is_not_stored(store: Store) -> None:
    document = mention("tool", "a", list=[1])
    await store.create("mentions", document)
    document["list"].append(2)
    assert plain(await store.read("mentions", "tool", "a")) == mention("tool", "a", list=[1])


# ETags


async def test_every_write_changes_the_etag(store: Store) -> None:
    etags = [(await store.create("mentions", mention("tool", "a", n=0)))["_etag"]]
    etags.append((await store.upsert("mentions", mention("tool", "a", n=0)))["_etag"])
    etags.append((await store.replace("mentions", mention("tool", "a", n=0), etags[-1]))["_etag"])
    await store.delete("mentions", "tool", "a")
    etags.append((await store.create("mentions", mention("tool", "a", n=0)))["_etag"])
    await store.write_many("mentions", [mention("tool", "a", n=0)])
    read = await store.read("mentions", "tool", "a")
    assert read is not None
    etags.append(read["_etag"])
    assert len(set(etags)) == len(etags)


async def test_reading_and_listing_give_the_same_etag(store: Store) -> None:
    written = await store.create("mentions", mention("tool", "a"))
    page = await store.query("mentions", Query(partition="tool"))
    assert [each["_etag"] for each in page.items] == [written["_etag"]]


async def test_a_delete_returns_whether_the_document_was_there(store: Store) -> None:
    await store.create("mentions", mention("tool", "a"))
    assert await store.delete("mentions", "tool", "a") is True
    assert await store.delete("mentions", "tool", "a") is False
    assert await store.delete("mentions", "tool", "a", "any etag") is False


# Races


async def test_one_of_many_creators_wins(another: Callable[[], Store], store: Store) -> None:
    stores = [store, another()]
    outcomes = await asyncio.gather(
        *(stores[n % 2].create("mentions", mention("tool", "a", n=n)) for n in range(30)), return_exceptions=True
    )
    winners = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    assert len(winners) == 1
    assert all(isinstance(outcome, dict | Conflict) for outcome in outcomes)
    read = await store.read("mentions", "tool", "a")
    assert read is not None
    assert winners == [{**(plain(read) or {}), "_etag": read["_etag"]}]


async def test_one_of_many_replacers_wins(another: Callable[[], Store], store: Store) -> None:
    stores = [store, another()]
    first = await store.create("mentions", mention("tool", "a"))
    outcomes = await asyncio.gather(
        *(stores[n % 2].replace("mentions", mention("tool", "a", n=n), first["_etag"]) for n in range(30)),
        return_exceptions=True,
    )
    winners = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    assert len(winners) == 1
    assert all(isinstance(outcome, dict | ChangedMeanwhile) for outcome in outcomes)
    read = await store.read("mentions", "tool", "a")
    assert read is not None
    assert winners == [{**(plain(read) or {}), "_etag": read["_etag"]}]


async def test_a_write_is_seen_by_every_other_store_at_once(another: Callable[[], Store], store: Store) -> None:
    other = another()
    for n in range(10):
        await store.upsert("mentions", mention("tool", "a", n=n))
        assert plain(await other.read("mentions", "tool", "a")) == mention("tool", "a", n=n)
        assert (await other.query("mentions", Query(partition="tool"))).items[0]["n"] == n


async def test_one_of_many_deleters_was_the_one(store: Store) -> None:
    await store.create("mentions", mention("tool", "a"))
    assert sum(await asyncio.gather(*(store.delete("mentions", "tool", "a") for _ in range(10)))) == 1


# Expiry


async def test_an_expired_document_is_not_there(store: Store, clock: SettableClock) -> None:
    deadline = clock.seconds() + 60
    await store.create("mentions", mention("tool", "a", published_at="2026-02-21T20:00:00Z", ttl_timestamp=deadline))
    await store.create("mentions", mention("tool", "b", published_at="2026-02-21T20:00:00Z", ttl_timestamp=None))
    clock.forward(59)
    assert await store.read("mentions", "tool", "a") is not None
    assert await store.count("mentions") == 2
    clock.forward(1)
    assert await store.read("mentions", "tool", "a") is None
    assert await listed(store, "mentions") == [("tool", "b")]
    assert await listed(store, "mentions", partition="tool", order="by_published") == [("tool", "b")]
    assert await store.count("mentions", partition="tool") == 1


async def test_writing_again_renews_or_ends_a_lifetime(store: Store, clock: SettableClock) -> None:
    await store.create("mentions", mention("tool", "a", ttl_timestamp=clock.seconds() + 60))
    await store.create("mentions", mention("tool", "b", ttl_timestamp=clock.seconds() + 60))
    await store.upsert("mentions", mention("tool", "a", ttl_timestamp=clock.seconds() + 120))
    await store.upsert("mentions", mention("tool", "b"))
    clock.forward(61)
    assert await listed(store, "mentions") == [("tool", "a"), ("tool", "b")]
    clock.forward(60)
    assert await listed(store, "mentions") == [("tool", "b")]


async def test_what_is_written_with_a_deadline_of_the_past_is_expired_at_once(
    store: Store, clock: SettableClock
) -> None:
    await store.upsert("mentions", mention("tool", "a", ttl_timestamp=clock.seconds() - 5))
    assert await store.read("mentions", "tool", "a") is None
    assert await store.count("mentions") == 0


# Filters

FILTERED: list[Document] = [
    {"id": "a", "pk": "t", "v": 1, "tags": ["x", 1, True]},
    {"id": "b", "pk": "t", "v": 2.5, "tags": []},
    {"id": "c", "pk": "t", "v": "1", "tags": ["xy"]},
    {"id": "d", "pk": "t", "v": "Motor Öl", "tags": "x"},
    {"id": "e", "pk": "t", "v": True, "tags": None},
    {"id": "f", "pk": "t", "v": False},
    {"id": "g", "pk": "t", "v": None},
    {"id": "h", "pk": "t"},
    {"id": "i", "pk": "t", "v": ["1"], "tags": [["x"], {"x": 1}, None]},
    {"id": "j", "pk": "t", "v": {"a": 1}},
    {"id": "k", "pk": "t", "v": '["1"]'},
    {"id": "l", "pk": "t", "v": 0},
]


FILTERS = (
    (Where("v", "eq", 1), "a"),
    (Where("v", "eq", 2.5), "b"),
    (Where("v", "eq", "1"), "c"),
    (Where("v", "eq", True), "e"),
    (Where("v", "eq", False), "f"),
    (Where("v", "eq", '["1"]'), "k"),
    (Where("v", "eq", "motor öl"), ""),
    (Where("v", "lt", 1), "l"),
    (Where("v", "le", 1), "al"),
    (Where("v", "gt", 1), "b"),
    (Where("v", "ge", 1.0), "ab"),
    (Where("v", "lt", "M"), "c"),
    (Where("v", "ge", "1"), "cdk"),
    (Where("v", "gt", "1"), "dk"),
    (Where("v", "le", "1"), "c"),
    (Where("v", "in", [1, "1", True, "none"]), "ace"),
    (Where("v", "in", ("none",)), ""),
    (Where("v", "missing"), "gh"),
    (Where("tags", "missing"), "efghjkl"[:2] + "ghjkl"),
    (Where("tags", "contains", "x"), "a"),
    (Where("tags", "contains", 1), "a"),
    (Where("tags", "contains", True), "a"),
    (Where("tags", "contains", "y"), ""),
    (Where("id", "ge", "k"), "kl"),
    (Where("id", "in", ["a", "z"]), "a"),
    (Where("pk", "eq", "t"), "abcdefghijkl"),
    (Where("pk", "eq", 1), ""),
    (Where("pk", "missing"), ""),
    (Where("_ts", "gt", 0), "abcdefghijkl"),
    (Where("_ts", "lt", 1000), ""),
    (Where("nothing", "eq", "x"), ""),
)


async def test_a_filter_lists_the_documents_that_meet_its_condition(store: Store, subtests: pytest.Subtests) -> None:
    await store.write_many("quarantine", [*FILTERED, {"id": "a", "pk": "other"}])
    for condition, expected in FILTERS:
        where = (condition, Where("pk", "eq", "t"))
        for partition in ("t", None):
            with subtests.test(str(condition), partition=partition):
                found = await listed(store, "quarantine", where=where, partition=partition, limit=100)
                assert "".join(name for _, name in found) == expected
                assert await store.count("quarantine", where, partition) == len(expected)


async def test_a_document_must_meet_all_conditions(store: Store) -> None:
    await store.write_many("quarantine", FILTERED)
    where = (Where("v", "ge", 0), Where("v", "lt", 2), Where("tags", "contains", "x"))
    assert await listed(store, "quarantine", where=where) == [("t", "a")]
    assert await store.count("quarantine", where) == 1


# Orders


async def test_without_an_order_a_partition_is_listed_by_id(store: Store) -> None:
    names = ["b", "a", "B", "ä", "10", "9", "é", "z"]
    await store.write_many("mentions", [mention("tool", name) for name in names])
    expected = [("tool", name) for name in sorted(names)]
    assert await listed(store, "mentions", partition="tool", limit=3) == expected
    assert await listed(store, "mentions", partition="tool", limit=3, reverse=True) == expected[::-1]


async def test_where_ids_are_unique_all_are_listed_by_id(store: Store) -> None:
    keys = [("b", "b:1"), ("a", "a:2"), ("a", "a:1"), ("metadata", "metadata")]
    await store.write_many("sentiment_cache", [mention(*key) for key in keys])
    assert await listed(store, "sentiment_cache") == sorted(keys, key=lambda key: key[1])
    assert await listed(store, "sentiment_cache", reverse=True) == sorted(keys, key=lambda key: key[1])[::-1]
    assert await listed(store, "sentiment_cache", partition="a") == [("a", "a:1"), ("a", "a:2")]


async def test_an_order_lists_only_what_has_all_of_its_fields(store: Store) -> None:
    await store.write_many(
        "articles",
        [
            {"id": "article", "source_id": "both", "status": "pending", "timestamp": "2026-02-21T20:00:00Z"},
            {"id": "article", "source_id": "no status", "timestamp": "2026-02-21T20:00:00Z"},
            {"id": "article", "source_id": "null status", "status": None, "timestamp": "2026-02-21T20:00:00Z"},
            {"id": "article", "source_id": "no time", "status": "pending"},
            {"id": "article", "source_id": "null time", "status": "pending", "timestamp": None},
        ],
    )
    for reverse in (False, True):
        assert await listed(store, "articles", order="by_status", reverse=reverse) == [("both", "article")]
    assert len(await listed(store, "articles")) == 5


async def test_an_order_within_a_partition(store: Store) -> None:
    times = {"a": "2026-02-21T20:00:02Z", "b": "2026-02-21T20:00:01Z", "c": "2026-02-21T20:00:01Z"}
    await store.write_many(
        "mentions", [mention(tool, name, published_at=time) for name, time in times.items() for tool in ("x", "y")]
    )
    expected = [("x", "b"), ("x", "c"), ("x", "a")]
    for limit in (1, 2, 3):
        assert await listed(store, "mentions", partition="x", order="by_published", limit=limit) == expected
        found = await listed(store, "mentions", partition="x", order="by_published", limit=limit, reverse=True)
        assert found == expected[::-1]
    since = (Where("published_at", "gt", "2026-02-21T20:00:01Z"),)
    assert await listed(store, "mentions", partition="x", order="by_published", where=since) == [("x", "a")]


async def test_an_order_may_go_up_in_one_field_and_down_in_another(store: Store) -> None:
    feeds = [(f"{p}-{t}-{n}", p, t) for p in (1, 2, 2.5) for t in ("2026-01", "2026-02") for n in "ab"]
    await store.write_many(
        "feeds", [{"id": "feed", "feed_id": key, "priority_score": p, "next_fetch_time": t} for key, p, t in feeds]
    )
    expected = [(key, "feed") for key, p, t in sorted(feeds, key=lambda feed: (-feed[1], feed[2], feed[0]))]
    for limit in (1, 3, 5):
        assert await listed(store, "feeds", order="by_priority", limit=limit) == expected
        assert await listed(store, "feeds", order="by_priority", limit=limit, reverse=True) == expected[::-1]
    due = (Where("next_fetch_time", "le", "2026-01"),)
    assert await listed(store, "feeds", order="by_priority", where=due) == [key for key in expected if "-01-" in key[0]]


async def test_a_filter_on_the_first_field_of_an_order(store: Store) -> None:
    await store.write_many(
        "articles",
        [
            {"id": "article", "source_id": f"{status}{n}", "status": status, "timestamp": f"2026-02-21T20:00:0{n % 2}Z"}
            for status in ("pending", "analyzed")
            for n in range(4)
        ],
    )
    where = (Where("status", "eq", "pending"),)
    expected = [(f"pending{n}", "article") for n in (0, 2, 1, 3)]
    for limit in (1, 2, 3):
        assert await listed(store, "articles", order="by_status", where=where, limit=limit) == expected
        assert (
            await listed(store, "articles", order="by_status", where=where, limit=limit, reverse=True) == expected[::-1]
        )


async def test_conditions_may_fix_every_key_of_an_order(store: Store) -> None:
    await store.write_many("mentions", [mention("tool", name) for name in "abc"])
    page = await store.query("mentions", Query(partition="tool", where=(Where("id", "eq", "b"),), limit=1))
    assert [item["id"] for item in page.items] == ["b"]
    assert page.next is None


# Pages and cursors


async def test_a_last_page_that_is_full_has_no_next(store: Store) -> None:
    await store.write_many("mentions", [mention("tool", name) for name in "abcd"])
    first = await store.query("mentions", Query(partition="tool", limit=2))
    second = await store.query("mentions", Query(partition="tool", limit=2, after=first.next))
    assert [item["id"] for item in second.items] == ["c", "d"]
    assert second.next is None
    assert (await store.query("mentions", Query(partition="none"))).items == []


async def test_a_cursor_is_text_for_a_url_and_fits_another_limit_and_store(
    another: Callable[[], Store], store: Store
) -> None:
    await store.write_many("mentions", [mention("tööl/?&", name) for name in "abcd"])
    first = await store.query("mentions", Query(limit=2))
    assert first.next is not None
    assert set(first.next) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    rest = await another().query("mentions", Query(limit=100, after=first.next))
    assert [item["id"] for item in rest.items] == ["c", "d"]


async def test_nothing_is_listed_twice_or_left_out_while_others_write(store: Store) -> None:
    stay = [mention("tool", f"{n:02}", published_at=f"2026-02-21T20:{n:02}:00Z") for n in range(12)]
    await store.write_many("mentions", stay)
    seen: list[str] = []
    after = None
    for n in range(100):
        page = await store.query("mentions", Query(order="by_published", limit=3, after=after))
        seen += [item["id"] for item in page.items]
        if page.next is None:
            break
        after = page.next
        await store.upsert("mentions", mention("tool", f"before{n}", published_at="2026-02-21T19:00:00Z"))
        await store.upsert("mentions", mention("tool", f"after{n}", published_at="2026-02-21T21:00:00Z"))
        await store.delete("mentions", "tool", page.items[-1]["id"])  # the very one the cursor stands on
    assert [name for name in seen if name.isdigit()] == [document["id"] for document in stay]
    assert len(set(seen)) == len(seen)
    assert "after0" in seen
    assert "before0" not in seen


async def test_queries_at_once_keep_their_own_cursors(store: Store) -> None:
    tools = [f"t{n}" for n in range(6)]
    await store.write_many("mentions", [mention(tool, f"{n:02}") for tool in tools for n in range(7)])
    found = await asyncio.gather(*(listed(store, "mentions", partition=tool) for tool in tools))
    assert found == [[(tool, f"{n:02}") for n in range(7)] for tool in tools]


# Refusals


async def test_what_the_rules_refuse_is_refused_by_every_call(store: Store, subtests: pytest.Subtests) -> None:
    """tests/unit/store/test_rules.py and test_plans.py have all that is refused."""
    good, bad = mention("t", "good"), mention("t", "a/b")
    batches: list[tuple[str, list[Operation]]] = [("t", [Upsert(good)]), ("t", [Replace(bad, "etag")])]
    deletes: list[tuple[str, list[Operation]]] = [("t", [Delete("good")]), ("", [Delete("a", "etag")])]
    filters = [(container, (Where(field, "eq", 1),)) for container, field in WITHOUT_INDEX]
    calls: list[tuple[str, partial[Coroutine[Any, Any, Any]]]] = [
        ("id", partial(store.create, "mentions", bad)),
        ("id", partial(store.upsert, "mentions", bad)),
        ("id", partial(store.replace, "mentions", bad, "etag")),
        ("id", partial(store.write_many, "mentions", [good, bad])),
        ("id", partial(store.create_many, "mentions", [good, bad])),
        ("id", partial(store.batch, "mentions", "t", [Create(good), Upsert(bad)])),
        ("id", partial(store.batch_many, "mentions", batches)),
        ("id", partial(store.read, "mentions", "t", "a#")),
        ("id", partial(store.delete, "mentions", "t", "..")),
        ("id", partial(store.read_many, "mentions", [("t", "good"), ("t", "a/b")])),
        ("tool_id", partial(store.batch_many, "mentions", deletes)),
        ("container", partial(store.read, "nowhere", "a", "b")),
        ("container", partial(store.create, "nowhere", {"id": "a"})),
        ("container", partial(store.upsert, "nowhere", {"id": "a"})),
        ("container", partial(store.replace, "nowhere", {"id": "a"}, "etag")),
        ("container", partial(store.delete, "nowhere", "a", "b")),
        ("container", partial(store.query, "nowhere", Query())),
        ("container", partial(store.count, "nowhere")),
        ("container", partial(store.write_many, "nowhere", [])),
        ("container", partial(store.create_many, "nowhere", [])),
        ("container", partial(store.batch_many, "nowhere", [])),
        ("container", partial(store.read_many, "nowhere", [])),
        ("order", partial(store.query, "mentions", Query(order="by_name"))),
        ("cursor", partial(store.query, "mentions", Query(after="W10"))),
        *((where[0].field, partial(store.query, container, Query(where))) for container, where in filters),
        *((where[0].field, partial(store.count, container, where)) for container, where in filters),
    ]
    for field, call in calls:
        with subtests.test(field, call=call.func.__name__):
            with pytest.raises(InvalidInput) as refused:
                await call()
            assert refused.value.field == field
    assert await store.count("mentions") == 0


WITHOUT_INDEX = (("articles", "canonical"), ("sentiment_cache", "total"), ("feeds", "hashes"))


# Many at once, and the end


async def test_a_few_hundred_documents_are_written_at_once(store: Store) -> None:
    documents = [mention(f"t{n % 3}", f"{n:03}", n=n) for n in range(300)]
    await store.write_many("mentions", documents)
    await store.write_many("mentions", [{**document, "again": True} for document in documents])
    assert all("again" in each for each in (await store.query("mentions", Query(limit=1000))).items)
    assert len(await listed(store, "mentions", limit=1000)) == 300
    assert len(await listed(store, "mentions", limit=7, partition="t1")) == 100


async def test_reading_many_returns_each_document_in_the_order_of_the_keys(store: Store, clock: SettableClock) -> None:
    await store.write_many("mentions", [mention("t", f"{n:02}") for n in range(0, 40, 2)])
    await store.upsert("mentions", mention("t", "38", ttl_timestamp=clock.seconds() - 1))
    for count in (0, 1, 3, 40):
        found = await store.read_many("mentions", [("t", f"{n:02}") for n in reversed(range(count))])
        assert found == [await store.read("mentions", "t", f"{n:02}") for n in reversed(range(count))]
    assert await store.read_many("mentions", [("t", "00"), ("u", "00"), ("t", "00")]) == [
        await store.read("mentions", "t", "00"),
        None,
        await store.read("mentions", "t", "00"),
    ]


async def test_creating_many_returns_which_documents_were_created(store: Store, clock: SettableClock) -> None:
    await store.create("mentions", mention("t", "001", n="old"))
    await store.create("mentions", mention("t", "002", n="old", ttl_timestamp=clock.seconds() - 1))
    created = await store.create_many("mentions", [mention("t", f"{n:03}", n=n) for n in range(60)])
    assert created == [n != 1 for n in range(60)]
    assert plain(await store.read("mentions", "t", "001")) == mention("t", "001", n="old")
    assert plain(await store.read("mentions", "t", "002")) == mention("t", "002", n=2)
    assert await store.create_many("mentions", []) == []
    assert sorted(await store.create_many("mentions", [mention("u", "a"), mention("u", "a")])) == [False, True]


async def test_of_many_who_create_many_each_document_has_one_creator(
    another: Callable[[], Store], store: Store
) -> None:
    documents = [mention("t", f"{n}") for n in range(20)]
    outcomes = await asyncio.gather(*(each.create_many("mentions", documents) for each in (store, another(), store)))
    assert [sum(each) for each in zip(*outcomes, strict=True)] == [1] * 20


async def test_a_store_answers_a_ping(store: Store) -> None:
    await store.ping()


async def test_a_store_that_is_not_there_is_unavailable(unreachable: Store) -> None:
    for ask in (
        unreachable.ping,
        lambda: unreachable.read("mentions", "t", "a"),
        lambda: unreachable.create("mentions", mention("t", "a")),
        lambda: unreachable.query("mentions", Query()),
        lambda: unreachable.write_many("mentions", [mention("t", "a")]),
    ):
        async with asyncio.timeout(300):
            with pytest.raises(Unavailable):
                await ask()


async def test_closing_twice_does_nothing_and_what_is_closed_is_unavailable(
    another: Callable[[], Store], store: Store
) -> None:
    await store.upsert("mentions", mention("t", "a"))
    await store.close()
    await store.close()
    for ask in (
        lambda: store.read("mentions", "t", "a"),
        store.ping,
        lambda: store.query("mentions", Query()),
    ):
        with pytest.raises(Unavailable):
            await ask()
    assert await another().read("mentions", "t", "a") is not None


async def test_a_store_that_was_never_used_can_be_closed(another: Callable[[], Store], store: Store) -> None:
    await another().close()
    await store.ping()


async def test_containers_are_made_once(another: Callable[[], Store], store: Store) -> None:
    await store.upsert("mentions", mention("t", "a"))
    await another().ensure_containers()  # type: ignore[attr-defined]
    assert await store.count("mentions") == 1


async def test_a_store_notices_its_own_writes_and_the_embedded_one_those_of_others(
    store: Store, another: Callable[[], Store], clock: SettableClock
) -> None:
    assert isinstance(store, SqliteStore | CosmosStore)
    await store.upsert("mentions", mention("t", "a"))
    stored = await store.read("mentions", "t", "a")
    assert stored is not None
    before = store.last_write()
    await store.read("mentions", "t", "a")
    await store.read_many("mentions", [("t", "a"), ("t", "b")])
    await store.query("mentions", Query(partition="t"))
    await store.count("mentions")
    assert store.last_write() == before
    for write in (
        lambda: store.upsert("mentions", mention("t", "a", n=1)),
        lambda: store.create("mentions", mention("t", "b")),
        lambda: store.batch("mentions", "t", [Upsert(mention("t", "c"))]),
        lambda: store.write_many("mentions", [mention("t", str(number)) for number in range(100)]),
        lambda: store.delete("mentions", "t", "a"),
    ):
        before = store.last_write()
        await write()
        assert store.last_write() != before
    if isinstance(store, SqliteStore):
        before = store.last_write()
        await another().upsert("mentions", mention("t", "a"))
        assert store.last_write() != before
