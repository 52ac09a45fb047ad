"""The raw layer's history looks every mention up, so that it has a limit, and says what stays under it."""

from datetime import timedelta
from typing import Any

import pytest

from models.errors import InvalidInput
from services.figures.coverage import Coverage
from services.figures.history import MAX_RAW_MENTIONS, History, sources_of
from services.figures.points import Span, span_of
from services.figures.recount import Recount
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import mention
from tests.functional.figures.world import NOW, Judgement, Process, a_mention, a_tool

TOOL = a_tool(0, NOW - timedelta(days=40))


def _last(days: int) -> Span:
    return span_of({}, days, "day", NOW)


def _raw(store: SqliteStore, watch: Watch, most: int) -> History:
    return History(store, Recount(store), Coverage(store), most)


@pytest.fixture
async def history(store: SqliteStore, watch: Watch) -> History:
    """Of two mentions today, one yesterday, three the day before; three at most are looked up."""
    process = Process(store, watch)
    await store.create(CATALOG.name, TOOL.to_document())
    for number, days in enumerate((0, 0, 1, 2, 2, 2)):
        await process.analyse(TOOL.tool_id, f"article-{number}", Judgement(NOW - timedelta(days=days), "positive"))
    await process.close()
    return _raw(store, watch, 3)


async def test_the_raw_layer_lists_the_days_that_are_within_the_limit(history: History) -> None:
    points = (await history.raw(TOOL.tool_id, _last(2))).points
    assert [(point.name, point.source, point.figures["total_mentions"]) for point in points] == [
        ("2026-02-20", "reuters-world", 1),
        ("2026-02-21", "reuters-world", 2),
    ]


async def test_a_time_with_too_many_mentions_is_refused(history: History) -> None:
    with pytest.raises(InvalidInput, match=r"days: a shorter time with layer=raw, .*: at most 3 .* has 6 of this tool"):
        await history.raw(TOOL.tool_id, _last(30))


async def test_what_cannot_be_read_is_left_out_and_named(store: SqliteStore, history: History) -> None:
    await store.upsert(ARTICLES.name, {"source_id": "article-0", "id": "article", "sources": 7})
    odd = {"source_id": "article-1", "id": "article", "sources": 7}
    await store.upsert(ARTICLES.name, odd)
    broken = a_mention(TOOL.tool_id, "article-1", NOW).to_document()
    await store.upsert(MENTIONS.name, {**broken, "matches": "many"})
    found = await history.raw(TOOL.tool_id, _last(1))
    assert [(point.source, point.figures["total_mentions"]) for point in found.points] == [("reuters-world", 1)]
    assert found.unreadable == ("article-1",)


def test_at_most_a_hundred_thousand_mentions_are_read() -> None:
    assert MAX_RAW_MENTIONS == 100_000


@pytest.mark.parametrize(
    ("article", "sources"),
    [
        ({"sources": ["reuters", "bbc"]}, [("reuters", None), ("bbc", None)]),
        (
            {"sources": ["reuters", "bbc"], "source_attribution": {"bbc": {"revision": "r2"}, "reuters": None}},
            [("reuters", None), ("bbc", "r2")],
        ),
        ({"sources": ["reuters"], "source_attribution": 7}, [("reuters", None)]),
        ({"sources": []}, [("wire", None)]),
        ({"sources": 7}, [("wire", None)]),
        ({}, [("wire", None)]),
        (None, [("wire", None)]),
    ],
)
def test_a_mention_counts_for_its_articles_sources_or_else_for_the_one_it_names(
    article: dict[str, Any] | None, sources: list[tuple[str, str | None]]
) -> None:
    assert list(sources_of(mention(source="wire"), article)) == sources
    assert list(sources_of(mention(source=None), None)) == [("unknown", None)]
