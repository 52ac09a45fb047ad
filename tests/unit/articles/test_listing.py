"""Lists of articles by source are merged from two queries."""

from datetime import timedelta

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
from tests.documents import NOW
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
    """Articles of the source `one`, newest first."""
    headlines = []
    for number in range(count):
        at = NOW - timedelta(hours=number // 2)
        tags = ("odd",) if number % 2 else ()
        each = named(f"Story number {number} is new", at, **carried_by("one"), tags=tags)
        await put(each)
        headlines.append(each.headline)
    return headlines


async def listed(store: SqliteStore, limit: int, **given: str) -> list[list[str]]:
    """The headlines of each page."""
    pages: list[list[str]] = []
    after: str | None = None
    while True:
        page = await Articles(store, utc_now).page(article_filter({"source": "one", **given}), limit, after)
        pages.append([each.headline for each in page.items])
        after = page.next
        if after is None:
            return pages


@pytest.mark.parametrize("limit", [1, 3, 8])
async def test_pages_have_every_article_once_newest_first(store: SqliteStore, put: Put, limit: int) -> None:
    expected = await put_many(put, 7)
    await put(named("Another feed alone", NOW, **carried_by("tiingo")))
    pages = await listed(store, limit)
    found = [headline for page in pages for headline in page]
    assert sorted(found) == sorted(expected)
    times = [int(each.split()[2]) // 2 for each in found]
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
    where = article_filter({"source": "one"})
    cursor = (await Articles(store, utc_now).page(where, 1, None)).next
    assert cursor is not None
    for other in ({"source": "another"}, {"source": "one", "tag": "odd"}, {}):
        with pytest.raises(InvalidInput, match="cursor"):
            await Articles(store, utc_now).page(article_filter(other), 1, cursor)
    with pytest.raises(InvalidInput, match="cursor"):
        await Articles(store, utc_now).page(where, 1, "odd")
