"""The refresh of some tools: what it writes, and what it leaves alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from models.cache import PERIODS
from models.tool import Tool
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.articles.counting import CountingStore
from tests.functional.figures.world import (
    NOW,
    Judgement,
    Process,
    check_entry,
    entries_in,
    everything,
    some_tools,
    stored_entry,
)


async def test_unchanged_entries_are_left_alone_until_the_next_refresh_would_find_them_stale(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    (tool,) = await some_tools(store, 1)
    await process.analyse(tool.tool_id, "article", Judgement(NOW - timedelta(hours=3), "positive"))
    refresh = process.cache.refresh
    for minutes, written in ((0, 4), (0, 0), (5, 0), (8, 0), (1, 4), (13, 0)):
        watch.advance(minutes=minutes)
        assert (await refresh.refresh_tools([tool.tool_id])).written == written
    await process.analyse(tool.tool_id, "another", Judgement(NOW - timedelta(hours=26), "positive"))
    assert (await refresh.refresh_tools([tool.tool_id])).written == 4


async def test_entries_of_a_tool_with_dirty_hours_are_written_again_also_by_a_slower_clock(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    """Its count seems older than they are."""
    (tool,) = await some_tools(store, 1)
    await process.cache.refresh.refresh_tools([tool.tool_id])
    watch.advance(minutes=-1)
    assert (await process.cache.refresh.refresh_tools([tool.tool_id])).written == 0
    await process.analyse(tool.tool_id, "article", Judgement(NOW - timedelta(minutes=1), "positive"))
    assert (await process.cache.refresh.refresh_tools([tool.tool_id])).written == 4


async def test_entries_of_tools_that_are_gone_or_merged_are_deleted_and_generations_kept(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    kept, merged, gone = await some_tools(store, 3)
    for tool in (kept, merged, gone):
        await process.cache.generations.raise_(tool.tool_id)
    await process.cache.refresh.tick()
    assert len(await entries_in(store)) == 12
    await process.analyse(merged.tool_id, "article", Judgement(NOW - timedelta(hours=3), None))
    after = merged.changed(NOW, status="MERGED", merged_into=kept.tool_id)
    await store.upsert(CATALOG.name, after.to_document())
    await store.delete(CATALOG.name, gone.tool_id, Tool.ID)
    watch.advance(minutes=15)
    await process.cache.refresh.tick()
    assert {each["tool_id"] for each in await entries_in(store)} == {kept.tool_id}
    for tool in (merged, gone):
        assert await process.cache.generations.current(tool.tool_id) == 1
    # The hours of its mentions were marked dirty: they are recounted though the tool has no entries any more.
    assert await store.read(CATALOG.name, merged.tool_id, "TIMELINE") is not None


async def test_with_nothing_new_a_batch_takes_seven_operations(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    tools = await some_tools(store, 50)
    for tool in tools[:3]:
        for number in range(5):
            judgement = Judgement(NOW - timedelta(minutes=61 * number), "positive")
            await process.analyse(tool.tool_id, f"article-{number}", judgement)
    tool_ids = [tool.tool_id for tool in tools]
    await process.cache.refresh.refresh_tools(tool_ids)
    watch.advance(minutes=15)
    counting = CountingStore(store)
    refreshed = await Process(counting, watch).cache.refresh.refresh_tools(tool_ids)
    # Dirty hours, young entries, generations, windows, coverage, one write of the entries, and windows once more.
    assert (counting.operations, counting.writes, refreshed.written) == (7, 1, 200)


async def test_mentions_leave_the_windows_as_time_passes_though_only_the_windows_are_read(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    (tool,) = await some_tools(store, 1)
    for number, minutes in enumerate((3, 18, 59, 60 * 24 - 1, 60 * 24 * 7 - 20, 60 * 24 * 30 - 40)):
        await process.analyse(
            tool.tool_id, f"article-{number}", Judgement(NOW - timedelta(minutes=minutes), "positive")
        )
    await process.cache.refresh.refresh_tools([tool.tool_id])
    read: list[str] = []
    for minutes in (14, 15, 15, 15, 15, 60, 15):
        same_hour = watch.now.minute + minutes < 60
        watch.advance(minutes=minutes)
        reading = Reading(store, read)
        await Process(reading, watch).cache.refresh.refresh_tools([tool.tool_id])
        assert ("SUMS" in read) != same_hour
        read.clear()
        for period in PERIODS:
            entry = await stored_entry(store, tool.tool_id, period)
            assert entry is not None
            assert entry.period_end_ts == int(watch.now.timestamp()) // 60 * 60 + 60
            await check_entry(store, entry, watch.now)


class Reading(CountingStore):
    """Notes the ids of all documents that are read by key."""

    def __init__(self, store: SqliteStore, ids: list[str]) -> None:
        super().__init__(store)
        self._ids = ids

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        if name == "read_many":
            self._ids += [key for _, key in arguments[1]]
        return await super()._do(name, *arguments, **options)


async def test_refreshing_an_unknown_tool_writes_nothing(store: SqliteStore, process: Process) -> None:
    refreshed = await process.cache.refresh.refresh_tools(["nobody"])
    assert (refreshed.done, refreshed.failed, refreshed.written) == ([], {}, 0)
    assert await everything(store, CATALOG.name) == []
