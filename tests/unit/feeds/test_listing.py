"""Which feeds a list has, and in which order: on every page, whatever the filters."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from models.errors import InvalidInput
from models.feed import Feed, host_of_address, words_of_name
from models.resources.feeds import MAX_IDS
from services.feeds.registry import (
    SORTS,
    FeedRegistry,
    feed_filter,
)
from services.ports import Store
from services.store.containers import FEEDS
from tests.documents import NOW, feed

DISABLED = {"enabled": False, "disabled_reason": "by hand", "disabled_by": "person", "disabled_at": NOW}
FEEDS_STORED = [
    feed(
        feed_id=f"f{n}",
        feed_url=f"https://{'one' if n % 2 else 'two'}.example/{n}",
        source_name=("beta News", "Alpha news", "Gamma")[n % 3],
        title="Daily Tools" if n % 4 == 0 else None,
        **({} if n % 5 else DISABLED),
        verdict=None if n == 3 else ("ok", "failing")[n % 2],
        tags=("News/World",) if n < 4 else (),
        next_fetch_time=NOW + timedelta(minutes=n * 7 % 5),
        consecutive_errors=n * 5 % 3,
        last_successful_fetch=None if n in (2, 6, 7) else NOW - timedelta(minutes=n * 3 % 4),
    )
    for n in range(12)
]


@pytest.fixture
async def stored(store: Store) -> Store:
    await store.create_many(FEEDS.name, [each.to_document() for each in FEEDS_STORED])
    return store


async def walked(store: Store, given: dict[str, Any], limit: int, sort: Any, reverse: bool = False) -> list[Feed]:
    found, after = [], None
    while True:
        page = await FeedRegistry(store, lambda: NOW).page(limit, after, feed_filter(given), sort, reverse=reverse)
        assert len(page.items) <= limit
        found += page.items
        after = page.next
        if after is None:
            return found


KEYS: dict[str, Any] = {
    "id": lambda each: each.feed_id,
    "name": lambda each: each.source_name.casefold(),
    "next_fetch": lambda each: each.next_fetch_time,
    "last_success": lambda each: each.last_successful_fetch,
    "verdict": lambda each: each.verdict,
    "errors": lambda each: -each.consecutive_errors,
}


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [1, 4, 100])
async def test_the_pages_of_a_list_have_every_feed_once_in_order_and_those_without_the_value_last(
    stored: Store, sort: Any, reverse: bool, limit: int
) -> None:
    found = await walked(stored, {}, limit, sort, reverse)
    assert sorted(each.feed_id for each in found) == sorted(each.feed_id for each in FEEDS_STORED)
    values = [KEYS[sort](each) for each in found]
    having = [each for each in values if each is not None]
    assert values[: len(having)] == sorted(having, reverse=reverse)


FILTERED: list[tuple[dict[str, Any], Any]] = [
    ({"verdict": "ok"}, lambda each: each.verdict == "ok"),
    ({"tag": "News/World"}, lambda each: "News/World" in each.tags),
    ({"host": "ONE.example"}, lambda each: "//one." in each.feed_url),
    ({"enabled": False}, lambda each: not each.enabled),
    ({"text": "NEWS alpha"}, lambda each: each.source_name == "Alpha news"),
    ({"text": "tools"}, lambda each: each.title is not None),
    ({"host": "two.example", "enabled": True, "text": "news"}, lambda each: each.feed_id in ("f4", "f6")),
    ({"host": "three.example"}, lambda each: False),
]


@pytest.mark.parametrize(("given", "expected"), FILTERED)
@pytest.mark.parametrize("sort", ["id", "last_success"])
async def test_a_list_has_the_feeds_that_meet_all_filters(stored: Store, given: Any, expected: Any, sort: Any) -> None:
    wanted = {each.feed_id for each in FEEDS_STORED if expected(each)}
    found = await walked(stored, given, 2, sort)
    assert {each.feed_id for each in found} == wanted
    assert len(found) == len(wanted)
    by = feed_filter(given)
    named = replace(by, ids=tuple(each.feed_id for each in FEEDS_STORED))
    assert {each.feed_id for each in (await FeedRegistry(stored, lambda: NOW).matching(named, 100)).items} == wanted
    assert {each.feed_id for each in (await FeedRegistry(stored, lambda: NOW).matching(by, 100)).items} == wanted


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"verdict": "fine"}, "verdict"),
        ({"enabled": "yes"}, "enabled"),
        ({"host": "https://one.example"}, "host"),
        ({"host": ""}, "host"),
        ({"text": "..."}, "text"),
        ({"text": " ".join(map(str, range(11)))}, "text"),
        ({"text": "x" * 201}, "text"),
        ({"tag": "a,b"}, "tag"),
        ({"ids": []}, "ids"),
        ({"ids": ["f1", 7]}, "ids"),
        ({"ids": [f"f{n}" for n in range(MAX_IDS + 1)]}, "ids"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_filter_is_refused_by_its_name(given: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        feed_filter(given)
    assert refused.value.field == field
    assert refused.value.allowed


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.com/feed", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("http://example.com:443/", "example.com:443"),
        ("http://127.0.0.1:8080/feed", "127.0.0.1:8080"),
        ("https://b\u00fccher.example/", "xn--bcher-kva.example"),
        ("https://example.com:x/", ""),
        ("nonsense", ""),
    ],
)
def test_a_host_has_one_spelling(url: str, host: str) -> None:
    assert host_of_address(url) == host


def test_the_words_of_a_name_are_whole_words_in_any_case() -> None:
    assert words_of_name("The O'Reilly-Radar, 2026: STRASSE the") == ["2026", "o", "radar", "reilly", "strasse", "the"]
    assert feed(feed_url="https://a.example/", redirect_url="https://b.example/x").host == "b.example"
