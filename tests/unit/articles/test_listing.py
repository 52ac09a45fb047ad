"""Lists of articles by source are merged from two queries."""

from datetime import timedelta
from typing import Any

import pytest

from models.errors import InvalidInput
from services.articles.reading import (
    NOT_DELETED,
    Articles,
    _query,
    article_filter,
)
from services.ports import MAX_PAGES, Where, utc_now
from services.store.sqlite import SqliteStore
from tests.documents import NOW, observation
from tests.unit.articles.test_reading import carried_by, named
from tests.unit.conftest import Put

ARTICLE = {"sentiment": "positive", "tags": ["x"], "timestamp": "2026-02-21T20:00:00Z", "headline": "Ägypten RISES"}


@pytest.mark.parametrize(
    ("where", "is_met"),
    [
        (NOT_DELETED, True),
        (Where("sentiment", "missing"), False),
        (Where("sentiment", "eq", "positive"), True),
        (Where("status", "eq", "pending"), False),
        (Where("tags", "contains", "x"), True),
        (Where("status", "contains", "y"), False),
        (Where("sentiment", "in", ("neutral", "positive")), True),
        (Where("sentiment", "in", ("neutral",)), False),
        (Where("timestamp", "ge", "2026-02-21T20:00:00Z"), True),
        (Where("timestamp", "ge", "2026-02-21T20:00:01Z"), False),
        (Where("timestamp", "lt", "2026-02-21T20:00:00Z"), False),
        (Where("timestamp", "lt", "2026-02-21T20:00:01Z"), True),
    ],
)
def test_a_condition_means_the_same_as_in_the_store(where: Where, is_met: bool) -> None:
    assert where.is_met_by(ARTICLE) == is_met


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ({}, "by_time"),
        ({"status": "error"}, "by_status"),
        ({"sentiment": "positive"}, "by_sentiment"),
        ({"sentiment": "positive", "status": "analyzed"}, "by_sentiment"),
        ({"sentiment": "unscored"}, "by_status"),
        ({"sentiment": "positive", "since": "2026-02-21T20:00:00Z"}, "by_sentiment"),
        ({"sentiment": "positive", "tag": "x"}, "by_time"),
        ({"status": "pending", "text": "fed"}, "by_time"),
        ({"tool": "t"}, "by_time"),
    ],
)
def test_the_order_has_an_index_for_the_filter(given: dict[str, str], order: str) -> None:
    query = _query(article_filter(given).where, 7)
    assert (query.order, query.reverse, query.limit, query.may_be_stale) == (order, True, 7, True)


def test_unscored_articles_are_analysed_and_have_no_sentiment() -> None:
    unscored = (Where("sentiment", "missing"), Where("status", "eq", "analyzed"))
    assert article_filter({"sentiment": "unscored"}).where == unscored
    assert article_filter({"sentiment": "unscored", "tag": "x"}).where == (*unscored, Where("tags", "contains", "x"))


async def put_many(put: Put, count: int) -> list[str]:
    """Articles of `further`, newest first: every third lists it, the others have an observation of it."""
    headlines = []
    for number in range(count):
        at = NOW - timedelta(hours=number // 2)
        fields: dict[str, Any] = {"tags": ("odd",) if number % 2 else (), "has_further_sources": True}
        by = "tiingo" if number % 3 else "further"
        each = named(f"Story number {number} is new", at, **carried_by(by), **fields)
        seen = observation(source_id=each.source_id, source="further", article_timestamp=at if number % 3 else None)
        await put(each, seen)
        headlines.append(each.headline)
    return headlines


async def listed(store: SqliteStore, limit: int, **given: str) -> list[list[str]]:
    """The headlines of each page."""
    pages: list[list[str]] = []
    after: str | None = None
    while True:
        page = await Articles(store, utc_now).page(article_filter({"source": "further", **given}), limit, after)
        pages.append([each.headline for each in page.items])
        after = page.next
        if after is None:
            return pages


@pytest.mark.parametrize("limit", [1, 3, 8])
async def test_pages_have_every_article_once_newest_first(store: SqliteStore, put: Put, limit: int) -> None:
    expected = await put_many(put, 7)
    both = named("Both a list and an observation", NOW - timedelta(hours=1), **carried_by("further"))
    await put(both, observation(source_id=both.source_id, source="further", article_timestamp=both.timestamp))
    await put(named("Another feed alone", NOW, **carried_by("tiingo")))
    pages = await listed(store, limit)
    found = [headline for page in pages for headline in page]
    assert sorted(found) == sorted([*expected, both.headline])
    times = [int(each.split()[2]) // 2 if each.startswith("Story") else 1 for each in found]
    assert times == sorted(times)
    assert all(len(page) == limit for page in pages[:-1])


async def test_a_list_that_finds_little_reads_on(store: SqliteStore, put: Put) -> None:
    await put_many(put, 9)
    assert MAX_PAGES == 20
    assert await listed(store, 1, tag="even") == [[]]
    pages = await listed(store, 2, tag="odd")
    assert sum(map(len, pages)) == 4


async def test_a_cursor_belongs_to_its_query(store: SqliteStore, put: Put) -> None:
    await put_many(put, 3)
    where = article_filter({"source": "further"})
    cursor = (await Articles(store, utc_now).page(where, 1, None)).next
    assert cursor is not None
    for other in ({"source": "another"}, {"source": "further", "tag": "odd"}, {}):
        with pytest.raises(InvalidInput, match="cursor"):
            await Articles(store, utc_now).page(article_filter(other), 1, cursor)
    with pytest.raises(InvalidInput, match="cursor"):
        await Articles(store, utc_now).page(where, 1, "odd")


@pytest.mark.parametrize("more", [0, 1])
async def test_a_list_that_reads_twenty_pages_ends_early(store: SqliteStore, put: Put, more: int) -> None:
    """Then nothing older is listed yet: what is found later would be newer."""
    for number in range(20 + more):
        at = NOW - timedelta(minutes=number)
        fields: dict[str, Any] = {"tags": ("found",) if number == 20 else (), "has_further_sources": True}
        each = named(f"Story number {number} is new", at, **carried_by("tiingo"), **fields)
        await put(each, observation(source_id=each.source_id, source="further", article_timestamp=at))
    old = named("An older one is listed", NOW - timedelta(days=1), tags=("found",), **carried_by("further"))
    await put(old)
    expected = [["An older one is listed"]]
    if more:
        expected = [[], ["Story number 20 is new"], *expected]
    assert await listed(store, 1, tag="found") == expected
