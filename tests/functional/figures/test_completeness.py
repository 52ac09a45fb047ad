"""A figure that lacks an article is never served as complete, whatever step between storing and serving is next."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from models.article import Article
from models.cache import SentimentCacheEntry
from models.errors import Unavailable
from models.tool import Tool
from services.figures.evidence import Evidence
from services.mentions.due import few_tools_with_dirty_hours, mark_dirty, tools_with_dirty_hours_among
from services.ports import Store
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.store.sqlite import SqliteStore
from tests import documents
from tests.builders import Watch, existing
from tests.failing_stores import Interrupted
from tests.functional.figures.world import NOW, Judgement, Meanwhile, Process, a_mention, a_tool

TOOL = a_tool(0, NOW - timedelta(days=40))
PUBLISHED = NOW - timedelta(minutes=5)
CALLS_OF_A_READ = 12


@pytest.fixture
async def tool(store: SqliteStore) -> Tool:
    await store.create(CATALOG.name, TOOL.to_document())
    return TOOL


async def served(process: Process, period: Any = "HOUR_1") -> dict[str, Any]:
    read = await process.cache.reader.read(TOOL.tool_id, period)
    body: dict[str, Any] = json.loads(read.body)
    return body


async def store_article(store: Store, number: int, **changes: Any) -> Article:
    fields: dict[str, Any] = {"analysis_due_since": NOW} | changes
    article = documents.article(dedup_key=f"{number:032x}", **fields)
    await store.create(ARTICLES.name, article.to_document())
    return article


class Steps:
    """One article on its way into the figures, step by step, by one of several workers."""

    def __init__(self, store: Store, number: int) -> None:
        self.store = store
        self.number = number

    async def stored(self) -> None:
        await store_article(self.store, self.number)

    async def mention_written(self) -> None:
        mention = a_mention(TOOL.tool_id, f"article-{self.number}", PUBLISHED)
        await self.store.create(MENTIONS.name, mention.to_document())

    async def marked_dirty(self) -> None:
        await mark_dirty(self.store, {TOOL.tool_id: [PUBLISHED]}, NOW)

    async def analysed(self) -> None:
        source_id = documents.article(dedup_key=f"{self.number:032x}").source_id
        document = await existing(self.store, ARTICLES.name, source_id, Article.ID)
        after = Article.from_document(document).changed(
            NOW, status="analyzed", sentiment="positive", score=0.9, analysis_due_since=None
        )
        await self.store.replace(ARTICLES.name, after.to_document(), document["_etag"])

    def until_analysed(self) -> list[Any]:
        return [self.stored, self.mention_written, self.marked_dirty, self.analysed]


@asynccontextmanager
async def two_workers(store: SqliteStore, watch: Watch, memory_seconds: float = 0.0) -> AsyncIterator[list[Process]]:
    workers = [Process(store, watch, memory_seconds, last_write=store.last_write) for _ in range(2)]
    yield workers
    for each in workers:
        await each.close()


async def test_each_step_from_the_article_to_the_figure_is_served_as_incomplete(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    async with two_workers(store, watch) as workers:
        await workers[0].refresh()
        for worker in workers:
            assert [(await served(worker))[name] for name in ("total_mentions", "complete")] == [0, True]
        steps = Steps(store, 1)
        for step, pending in zip(steps.until_analysed(), (1, 1, 1, 0), strict=True):
            await step()
            for worker in workers:
                body = await served(worker)
                fields = [body[name] for name in ("total_mentions", "pending_articles", "failed_articles", "complete")]
                assert fields == [0, pending, 0, False], step.__name__
        # The refresh counts first, in another container than that of the entries: here the worker dies in between.
        await workers[0].cache.recount.recount_tool(tool.tool_id, watch())
        for worker in workers:
            assert [(await served(worker))[name] for name in ("total_mentions", "complete")] == [0, False]
        await workers[0].refresh()
        for worker in workers:
            assert [(await served(worker))[name] for name in ("total_mentions", "complete")] == [1, True]


@pytest.mark.parametrize(("done_before", "refreshes"), [(1, False), (1, True), (2, True), (3, True), (4, True)])
async def test_whatever_happens_during_a_read_it_serves_no_incomplete_figure_as_complete(
    store: SqliteStore, watch: Watch, tool: Tool, done_before: int, refreshes: bool
) -> None:
    """Another worker does some of the steps before the read, and the others before one of the calls of the store that
    the read makes."""
    other = Process(store, watch)
    await other.refresh()
    for calls in range(CALLS_OF_A_READ):
        steps = Steps(store, calls).until_analysed()
        for step in steps[:done_before]:
            await step()

        async def act(left: list[Any] = steps[done_before:]) -> None:
            for step in left:
                await step()
            if refreshes:
                await other.refresh()

        interrupted = Interrupted(store, calls, act)
        reading = Process(cast("Store", interrupted), watch)
        body = await served(reading)
        assert not (body["complete"] and body["total_mentions"] == calls), calls
        await reading.close()
        if not interrupted.has_acted:
            await act()
        await other.refresh()
        assert [(await served(other))[name] for name in ("total_mentions", "complete")] == [calls + 1, True]
    await other.close()


async def test_memory_serves_no_incomplete_figure_as_complete_at_any_step_of_another_worker(
    store: SqliteStore, tmp_path: Path, watch: Watch, tool: Tool
) -> None:
    others_store = SqliteStore(tmp_path / "toolpulse.db", watch)
    async with two_workers(store, watch, memory_seconds=60.0) as (worker, _):
        await worker.refresh()
        assert (await served(worker))["complete"]
        for step in Steps(others_store, 1).until_analysed():
            await step()
            assert not (await served(worker))["complete"], step.__name__
    await others_store.close()


async def test_only_the_tools_that_must_be_recounted_are_incomplete(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    other = a_tool(1, NOW - timedelta(days=40))
    await store.create(CATALOG.name, other.to_document())
    async with two_workers(store, watch) as (worker, _):
        await worker.refresh()
        await worker.analyse(TOOL.tool_id, "article-1", Judgement(PUBLISHED, "positive"))
        rows = await worker.cache.reader.read_all([tool, other], "HOUR_1")
        assert [each.completeness.complete for each in rows.items] == [False, True]


async def test_more_than_twenty_dirty_hours_are_read_tool_by_tool(store: SqliteStore, watch: Watch, tool: Tool) -> None:
    other = a_tool(1, NOW - timedelta(days=40))
    await store.create(CATALOG.name, other.to_document())
    async with two_workers(store, watch) as (worker, _):
        await worker.refresh()
        for hours, few in ((20, {TOOL.tool_id}), (21, None)):
            await mark_dirty(store, {TOOL.tool_id: [NOW - timedelta(hours=number) for number in range(hours)]}, NOW)
            assert await few_tools_with_dirty_hours(store) == few
            rows = await worker.cache.reader.read_all([tool, other], "HOUR_1")
            assert [each.completeness.complete for each in rows.items] == [False, True]


async def test_tools_with_more_dirty_hours_than_a_page_count_as_outdated_together(
    store: SqliteStore, watch: Watch
) -> None:
    tools = [a_tool(number, NOW).tool_id for number in range(3)]
    moments = [NOW - timedelta(hours=number) for number in range(600)]
    for tool_id in tools[:2]:
        await mark_dirty(store, {tool_id: moments}, NOW)
    assert await tools_with_dirty_hours_among(store, tools) == set(tools)
    assert await tools_with_dirty_hours_among(store, tools[1:]) == {tools[1]}
    assert await tools_with_dirty_hours_among(store, tools[2:]) == set()


class _NoCounts:
    """A store whose articles cannot be counted."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def count(self, *args: Any, **more: Any) -> int:
        raise Unavailable("busy")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_a_figure_is_served_without_the_backlog_if_it_cannot_be_counted(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    worker = Process(cast("Store", _NoCounts(store)), watch)
    body = await served(worker)
    assert [body[name] for name in ("pending_articles", "failed_articles", "complete")] == [None, None, False]
    await worker.close()


async def _figure(process: Process) -> SentimentCacheEntry:
    await process.store.upsert(CATALOG.name, TOOL.to_document())
    await process.analyse(TOOL.tool_id, "one", Judgement(NOW - timedelta(minutes=5), "positive"))
    return (await process.cache.reader.read(TOOL.tool_id, "HOUR_1")).entry


async def test_a_recount_while_evidence_is_read_is_a_change(store: SqliteStore, watch: Watch, process: Process) -> None:
    entry = await _figure(process)
    watch.advance(seconds=5)
    await process.analyse(TOOL.tool_id, "two", Judgement(NOW - timedelta(minutes=5), "negative"))
    late = Meanwhile(
        store, "query", CATALOG.name, 1, lambda: process.cache.recount.recount_tool(TOOL.tool_id, watch.now)
    )
    assert (await Evidence(late).page(entry, 10, None))[1]["changed_since"] is True
    assert late.happened
