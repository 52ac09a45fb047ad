"""The daily close: written once for each tool and day, also after crashes and pauses; then frozen."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from models.run import JobRun, read_run
from models.timeline import DailyClose, HistoryProgress
from services import deadline
from services.figures.coverage import Coverage
from services.figures.daily_close import DailyCloses
from services.figures.history import History
from services.figures.recount import Recount
from services.mentions.due import mark_dirty
from services.ports import Query, Store
from services.store.containers import CATALOG, MENTIONS, RUNS
from services.store.sqlite import SqliteStore
from tests.builders import Watch, existing
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.figures.world import a_mention, a_tool, everything

START = datetime(2026, 2, 21, 0, 30, tzinfo=UTC)
TOOLS = [a_tool(number, START - timedelta(days=40)) for number in range(3)]
BUSY, QUIET, OTHER = (tool.tool_id for tool in TOOLS)
YESTERDAY = date(2026, 2, 20)


@pytest.fixture
def clock() -> Watch:
    return Watch(START)


@pytest.fixture
async def world(tmp_path: Any, clock: Watch) -> Any:
    store = SqliteStore(tmp_path / "of-the-clock.db", clock)
    for tool in TOOLS:
        await store.create(CATALOG.name, tool.to_document())
    yield store
    await store.close()


async def _say(
    store: Store, tool_id: str, source_id: str, at: datetime, sentiment: Any = "positive", **more: Any
) -> None:
    await store.upsert(MENTIONS.name, a_mention(tool_id, source_id, at, sentiment, **more).to_document())
    await mark_dirty(store, {tool_id: [at]}, at)


async def _days(store: Store, tool_id: str) -> dict[str, DailyClose]:
    found = [each for each in await everything(store, CATALOG.name, tool_id) if each["id"].startswith("CLOSE:")]
    return {each["day"]: DailyClose.from_document(each) for each in found}


def _closes(store: Store, clock: Watch, **limits: Any) -> DailyCloses:
    return DailyCloses(store, Recount(store), Coverage(store), clock, **limits)


async def _closed_until(store: Store, day: str) -> None:
    progress = HistoryProgress(created_at=START, since="2026-01-01", closed_until=day)
    await store.create(CATALOG.name, progress.to_document())


async def _work(store: Store, clock: Watch, **limits: int) -> None:
    while (await _closes(store, clock, **limits).work()).done:
        pass


async def _runs(store: Store) -> list[JobRun]:
    return [read_run(each) for each in (await store.query(RUNS.name, Query(limit=100))).items]


async def test_a_day_is_closed_once_for_each_tool_with_mentions_and_never_changes(
    world: SqliteStore, clock: Watch
) -> None:
    await _say(world, BUSY, "one", START - timedelta(hours=2))
    await _say(world, OTHER, "one", START - timedelta(hours=3), "negative")
    await _work(world, clock)
    assert await _days(world, BUSY) == {}, "it is half past midnight"
    clock.advance(hours=6)
    await _work(world, clock)
    closed = {tool.tool_id: await _days(world, tool.tool_id) for tool in TOOLS}
    assert {tool_id: list(days) for tool_id, days in closed.items()} == {
        BUSY: ["2026-02-20"],
        OTHER: ["2026-02-20"],
        QUIET: [],
    }
    runs = await _runs(world)
    assert sum(run.metrics["closed"] for run in runs) == 2
    assert {(run.workflow_name, run.status, len(run.attempts)) for run in runs} == {("close_days", "SUCCEEDED", 1)}
    first = closed[BUSY]["2026-02-20"]
    assert (first.closed_at, first.figures["positive_count"], first.figures["stories"]) == (clock.now, 1, 1)
    await _say(world, BUSY, "late", START - timedelta(hours=2), "negative")
    for _ in range(3):
        clock.advance(hours=9)
        await _work(world, clock)
    assert (await _days(world, BUSY))["2026-02-20"] == first


async def test_once_all_days_are_done_a_call_reads_one_document(world: SqliteStore, clock: Watch) -> None:
    await _say(world, BUSY, "one", START - timedelta(hours=2))
    clock.advance(hours=6)
    await _work(world, clock)
    counting = DyingStore(world)
    await _closes(counting, clock).work()
    assert counting.operations == 1


async def test_a_call_is_bounded_and_the_next_goes_on_where_it_stopped(world: SqliteStore, clock: Watch) -> None:
    for tool in TOOLS:
        await _say(world, tool.tool_id, "one", START - timedelta(hours=2))
    clock.advance(hours=6)
    await _closed_until(world, "2026-02-19")
    closes = _closes(world, clock, tools_at_once=1, most_pages=1)
    handled = [await closes.work() for _ in range(4)]
    assert [(each.done, each.counts["closed"]) for each in handled] == [(1, 1), (1, 1), (1, 1), (0, 0)]
    progress = await existing(world, CATALOG.name, HistoryProgress.PARTITION, HistoryProgress.ID)
    assert (progress["closed_until"], progress.get("after")) == ("2026-02-20", None)


@pytest.mark.parametrize("when", ["before", "halfway", "after"])
async def test_after_a_crash_at_any_operation_each_day_is_closed_once(tmp_path: Any, when: Any) -> None:
    for k in itertools.count(1, 3):
        clock = Watch(START)
        store = SqliteStore(tmp_path / f"{k}.db", clock)
        for tool in TOOLS:
            await store.create(CATALOG.name, tool.to_document())
            for days in (0, 1, 32):
                await _say(store, tool.tool_id, f"article-{days}", START - timedelta(hours=2, days=days))
        clock.advance(hours=6)
        await _closed_until(store, "2026-02-18")
        died = False
        try:
            while (await _closes(DyingStore(store, k, when), clock, tools_at_once=2).work()).done:
                pass
        except Died:
            died = True
        before = {tool.tool_id: await _days(store, tool.tool_id) for tool in TOOLS}
        clock.advance(minutes=5)
        await _work(store, clock, tools_at_once=2)
        for tool in TOOLS:
            after = await _days(store, tool.tool_id)
            assert set(after) == {"2026-02-20", "2026-02-19"}
            for day, stored in before[tool.tool_id].items():
                assert after[day] == stored, "a close that was written has changed"
            assert await store.read(CATALOG.name, tool.tool_id, "REFS:20260119") is not None
        await store.close()
        if not died:
            assert k > 5
            return


async def test_two_workers_at_once_close_each_day_once(world: SqliteStore, clock: Watch) -> None:
    for tool in TOOLS:
        await _say(world, tool.tool_id, "one", START - timedelta(hours=2))
    clock.advance(hours=6)
    await _closed_until(world, "2026-02-19")
    workers = [_closes(world, clock, tools_at_once=1) for _ in range(4)]
    done = await asyncio.gather(*(worker.work() for worker in workers))
    assert sum(each.counts["closed"] for each in done) == len(TOOLS)
    await _work(world, clock)
    for tool in TOOLS:
        assert list(await _days(world, tool.tool_id)) == ["2026-02-20"]


async def test_days_in_which_nothing_ran_are_closed_later_and_say_when(world: SqliteStore, clock: Watch) -> None:
    await _say(world, BUSY, "one", START - timedelta(hours=2))
    clock.advance(hours=6)
    await _work(world, clock)
    for day in (1, 2, 3):
        await _say(world, BUSY, f"paused-{day}", START + timedelta(days=day))
    clock.advance(days=10)
    await _work(world, clock)
    closed = await _days(world, BUSY)
    assert list(closed) == ["2026-02-20", "2026-02-22", "2026-02-23", "2026-02-24"]
    assert {each.closed_at for each in list(closed.values())[1:]} == {clock.now}


async def test_a_day_that_leaves_the_live_days_keeps_its_last_figures_beside_the_close(
    world: SqliteStore, clock: Watch
) -> None:
    at = START - timedelta(hours=2)
    await _say(world, BUSY, "one", at)
    clock.advance(hours=6)
    await _work(world, clock)
    await _say(world, BUSY, "late", at, "negative", created_at=clock.now, analyzer_version="2")
    await _say(world, QUIET, "late", at, "negative", created_at=clock.now)
    clock.now = datetime(2026, 3, 23, 23, 59, tzinfo=UTC)
    history = History(world, Recount(world), Coverage(world))
    for tool_id in (BUSY, QUIET):
        assert (await history.day(tool_id, YESTERDAY, clock.now))[1].state == "live"
    clock.advance(minutes=1)  # 32 days later
    close, point = await history.day(BUSY, YESTERDAY, clock.now)
    assert close is not None
    assert (close.figures["total_mentions"], point.figures["total_mentions"], point.state) == (1, 2, "frozen")
    assert point.figures["analyzers"] == ["embedded/1", "embedded/2"]
    # A tool that had no mentions when the day was closed has none to cite, and its last figures.
    unclosed, of_quiet = await history.day(QUIET, YESTERDAY, clock.now)
    assert (unclosed, of_quiet.figures["negative_count"]) == (None, 1)
    # Nothing changes a frozen day.
    await _say(world, BUSY, "later", at, created_at=clock.now)
    clock.advance(days=3)
    await Recount(world).rebuild_tool(BUSY, clock.now)
    assert await history.day(BUSY, YESTERDAY, clock.now) == (close, point)
    counts = await existing(world, CATALOG.name, BUSY, "COUNTS:20260220")
    await world.upsert(CATALOG.name, {**counts, "whole": 7})
    damaged = (await history.day(BUSY, YESTERDAY, clock.now))[1]
    assert (damaged.state, damaged.figures) == ("closed", close.figures)


class Slow(DyingStore):
    """Time passes while it finds the dirty hours."""

    seconds = 0.0

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        if name == "query" and arguments[1].order == "by_dirty_hour":
            self.seconds = 90.0
        return await super()._do(name, *arguments, **options)


async def test_no_day_is_closed_by_counts_that_are_not_right(world: SqliteStore, clock: Watch) -> None:
    for source_id, tool_id in (("one", BUSY), ("damaged", OTHER)):
        await _say(world, tool_id, source_id, START - timedelta(hours=2))
    await Recount(world).windows_of([BUSY, OTHER], clock.now)
    await _say(world, BUSY, "two", START - timedelta(hours=2))
    damaged = a_mention(OTHER, "damaged", START - timedelta(hours=2), "positive").to_document()
    await world.upsert(MENTIONS.name, damaged | {"sentiment": "odd"})
    await mark_dirty(world, {OTHER: [START - timedelta(hours=2)]}, START)
    clock.advance(hours=6)
    await _closed_until(world, "2026-02-19")
    slow = Slow(world)
    with deadline.within(100.0, clock=lambda: slow.seconds):
        assert (await _closes(slow, clock).work()).done == 0
    await _work(world, clock)
    assert (await _days(world, BUSY))["2026-02-20"].figures["positive_count"] == 2
    assert await _days(world, OTHER) == {}
    (run,) = await _runs(world)
    assert (run.status, run.progress, run.metrics) == ("PARTIAL", 2, {"closed": 1, "failed": 1})
    assert run.errors == (f"{OTHER}: UnreadableDocument",)
