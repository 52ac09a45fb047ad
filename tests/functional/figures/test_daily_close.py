"""The daily close: written once for each tool and day, also after crashes and pauses; then frozen."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from models.history import HistoryDay, HistoryProgress
from services.figures.counting import Count, CountedMention
from services.figures.coverage import Coverage
from services.figures.daily_close import DailyCloses
from services.ports import Document, Store
from services.store.containers import CATALOG, MENTIONS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.figures.world import Judgement, Process, a_mention, a_tool, everything, mentions_of

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


async def _days(store: Store, tool_id: str) -> dict[str, HistoryDay]:
    found = [each for each in await everything(store, CATALOG.name, tool_id) if each["id"].startswith("DAY:")]
    return {each["day"]: HistoryDay.from_document(each) for each in found}


async def _work(store: Store, clock: Watch, **limits: int) -> None:
    while (await DailyCloses(store, Coverage(store), clock, **limits).work()).tools:
        pass


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
    first = closed[BUSY]["2026-02-20"].closed
    assert first is not None
    assert (first.closed_at, first.figures["positive_count"], first.figures["stories"]) == (clock.now, 1, 1)
    await _say(world, BUSY, "late", START - timedelta(hours=2), "negative")
    for _ in range(3):
        clock.advance(hours=9)
        await _work(world, clock)
    assert (await _days(world, BUSY))["2026-02-20"].closed == first


async def test_once_all_days_are_done_a_call_reads_one_document(world: SqliteStore, clock: Watch) -> None:
    await _say(world, BUSY, "one", START - timedelta(hours=2))
    clock.advance(hours=6)
    await _work(world, clock)
    counting = DyingStore(world, 1000, "after")
    await DailyCloses(counting, Coverage(counting), clock).work()
    assert counting.operations == 1


async def test_a_call_is_bounded_and_the_next_goes_on_where_it_stopped(world: SqliteStore, clock: Watch) -> None:
    for tool in TOOLS:
        await _say(world, tool.tool_id, "one", START - timedelta(hours=2))
    clock.advance(hours=6)
    closes = DailyCloses(world, Coverage(world), clock, tools_at_once=1, most_pages=1)
    done = [await closes.work() for _ in range(4)]
    assert [(each.tools, each.closed) for each in done] == [(1, 1), (1, 1), (1, 1), (0, 0)]
    progress = await world.read(CATALOG.name, HistoryProgress.PARTITION, HistoryProgress.ID)
    assert progress is not None
    assert (progress["closed_until"], progress.get("round")) == ("2026-02-20", None)


@pytest.mark.parametrize("when", ["before", "halfway", "after"])
async def test_after_a_crash_at_any_operation_each_day_is_closed_and_frozen_once(tmp_path: Any, when: Any) -> None:
    for k in itertools.count(1):
        clock = Watch(START)
        store = SqliteStore(tmp_path / f"{k}.db", clock)
        for tool in TOOLS:
            await store.create(CATALOG.name, tool.to_document())
            for days in (0, 1, 33):
                await _say(store, tool.tool_id, f"article-{days}", START - timedelta(hours=2, days=days))
        clock.advance(hours=6)
        died = False
        try:
            while (await DailyCloses(DyingStore(store, k, when), Coverage(store), clock, tools_at_once=2).work()).tools:
                pass
        except Died:
            died = True
        before = {tool.tool_id: await _days(store, tool.tool_id) for tool in TOOLS}
        clock.advance(minutes=5)
        await _work(store, clock, tools_at_once=2)
        for tool in TOOLS:
            after = await _days(store, tool.tool_id)
            assert set(after) == {"2026-02-20", "2026-02-19", "2026-01-18"}
            assert all(day.closed is not None for day in after.values())
            assert [day for day, each in after.items() if each.frozen is not None] == ["2026-01-18"]
            for day, stored in before[tool.tool_id].items():
                assert after[day].closed == stored.closed, "a close that was written has changed"
        await store.close()
        if not died:
            assert k > 5
            return


async def test_two_workers_at_once_close_each_day_once(world: SqliteStore, clock: Watch) -> None:
    for tool in TOOLS:
        await _say(world, tool.tool_id, "one", START - timedelta(hours=2))
    clock.advance(hours=6)
    workers = [DailyCloses(world, Coverage(world), clock, tools_at_once=1) for _ in range(4)]
    done = await asyncio.gather(*(worker.work() for worker in workers))
    assert sum(each.closed for each in done) == len(TOOLS)
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
    closed = {day: each.closed for day, each in (await _days(world, BUSY)).items()}
    assert list(closed) == ["2026-02-20", "2026-02-22", "2026-02-23", "2026-02-24"]
    assert {each.closed_at for each in list(closed.values())[1:] if each} == {clock.now}


async def test_a_day_that_leaves_the_live_days_keeps_its_last_figures_beside_the_close(
    world: SqliteStore, clock: Watch
) -> None:
    at = START - timedelta(hours=2)
    await _say(world, BUSY, "one", at)
    clock.advance(hours=6)
    await _work(world, clock)
    await _say(world, BUSY, "late", at, "negative", created_at=clock.now, updated_at=clock.now, analyzer_version="2")
    await _say(world, QUIET, "late", at, "negative", created_at=clock.now, updated_at=clock.now)
    clock.now = datetime(2026, 3, 24, 5, 59, tzinfo=UTC)  # 32 days later
    await _work(world, clock)
    assert (await _days(world, BUSY))["2026-02-20"].frozen is None
    clock.advance(minutes=1)
    await _work(world, clock)
    day = (await _days(world, BUSY))["2026-02-20"]
    assert day.closed is not None
    assert day.frozen is not None
    assert (day.closed.figures["total_mentions"], day.frozen.figures["total_mentions"]) == (1, 2)
    assert day.frozen.figures["analyzers"] == ["embedded/1", "embedded/2"]
    # A tool that had no mentions when the day was closed has none to cite, and its last figures.
    unclosed = (await _days(world, QUIET))["2026-02-20"]
    assert (unclosed.closed, unclosed.frozen and unclosed.frozen.figures["negative_count"]) == (None, 1)
    # Nothing changes a frozen day.
    await _say(world, BUSY, "later", at, created_at=clock.now, updated_at=clock.now)
    clock.advance(days=3)
    await _work(world, clock)
    assert (await _days(world, BUSY))["2026-02-20"] == day


async def test_a_close_that_cannot_be_read_is_not_overwritten(world: SqliteStore, clock: Watch) -> None:
    await _say(world, BUSY, "one", START - timedelta(hours=2))
    broken = {"pk": BUSY, "id": "DAY:20260220", "entity_type": "HistoryDay", "closed": 7}
    await world.create(CATALOG.name, broken)
    clock.advance(hours=6)
    await _work(world, clock)
    clock.advance(days=33)
    await _work(world, clock)
    stored = await world.read(CATALOG.name, BUSY, "DAY:20260220")
    assert stored is not None
    assert stored["closed"] == 7


async def test_hooks_get_the_mentions_of_a_tool_and_day_before_it_is_closed(world: SqliteStore, clock: Watch) -> None:
    await _say(world, BUSY, "one", START - timedelta(hours=2))
    await _say(world, BUSY, "two", START - timedelta(hours=1))
    await _say(world, OTHER, "one", START - timedelta(hours=2))
    gone = a_mention(QUIET, "gone", START - timedelta(hours=2)).changed(START, removed_at=START)
    await world.upsert(MENTIONS.name, gone.to_document())
    seen: list[tuple[str, date, list[str]]] = []

    async def hook(tool_id: str, day: date, mentions: Sequence[Document]) -> None:
        assert await _days(world, tool_id) == {}
        seen.append((tool_id, day, [mention["source_id"] for mention in mentions]))

    clock.advance(hours=6)
    closes = DailyCloses(world, Coverage(world), clock)
    closes.hooks.append(hook)
    await closes.work()
    assert sorted(seen) == sorted([(BUSY, YESTERDAY, ["one", "two"]), (OTHER, YESTERDAY, ["one"])])


async def test_a_merged_tool_keeps_its_closes_and_the_other_has_its_mentions(world: SqliteStore, clock: Watch) -> None:
    process = Process(world, clock)
    await process.analyse(BUSY, "one", Judgement(START - timedelta(hours=2), "positive"))
    clock.advance(hours=6)
    await _work(world, clock)
    closed = (await _days(world, BUSY))["2026-02-20"].closed
    await process.merge(BUSY, OTHER)
    await process.refresh()
    clock.now = START + timedelta(days=32, hours=6)
    await _work(world, clock)
    gone, into = (await _days(world, BUSY))["2026-02-20"], (await _days(world, OTHER))["2026-02-20"]
    assert gone.closed == closed
    assert [day.frozen.figures["total_mentions"] for day in (gone, into) if day.frozen] == [0, 1]
    await process.close()


async def test_every_frozen_day_is_what_its_mentions_say(world: SqliteStore, clock: Watch) -> None:
    for day in range(40):
        for number in range(day % 4):
            fields = {"event_id": f"story-{(day + number) % 5}", "publisher_id": f"{number}.example"}
            at = START + timedelta(days=day, hours=number)
            await _say(world, BUSY, f"{day}-{number}", at, ("positive", "negative", "unscored")[number], **fields)
    for _ in range(75):
        await _work(world, clock)
        kept = {each.source_id: each for each in await mentions_of(world, BUSY)}
        for name, stored in (await _days(world, BUSY)).items():
            if stored.frozen is not None and stored.frozen.frozen_at == clock.now:
                count = Count()
                for mention in kept.values():
                    if mention.published_at.date().isoformat() == name:
                        count.add(CountedMention.of(mention.to_document()))
                assert dict(stored.frozen.figures) == {**count.figures(), "coverage": None}
        clock.advance(days=1)
    days = await _days(world, BUSY)
    assert len([day for day in days.values() if day.frozen]) == 30
