"""The refresh of some tools: what it writes, and what it leaves alone."""

from __future__ import annotations

from datetime import timedelta

from models.tool import Tool
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.figures.world import (
    NOW,
    Judgement,
    Process,
    entries_in,
    everything,
    some_tools,
)


async def test_unchanged_entries_are_left_alone_until_the_next_refresh_would_find_them_stale(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    (tool,) = await some_tools(store, 1)
    await process.analyse(tool.tool_id, "article", Judgement(NOW - timedelta(hours=3), "positive"))
    refresh = process.cache.refresh
    for minutes, written in ((0, 4), (0, 0), (5, 0), (8, 0), (1, 4)):
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
    await process.refresh()
    assert len(await entries_in(store)) == 12
    await process.analyse(merged.tool_id, "article", Judgement(NOW - timedelta(hours=3), None))
    after = merged.changed(NOW, status="MERGED", merged_into=kept.tool_id)
    await store.upsert(CATALOG.name, after.to_document())
    await store.delete(CATALOG.name, gone.tool_id, Tool.ID)
    for _ in range(2):
        watch.advance(minutes=15)
        await process.refresh()
    assert {each["tool_id"] for each in await entries_in(store)} == {kept.tool_id}
    for tool in (merged, gone):
        assert await process.cache.generations.current(tool.tool_id) == 1
    # The hours of its mentions were marked dirty: they are recounted though the tool has no entries any more.
    assert (await process.cache.refresh.refresh_tools([merged.tool_id])).written == 0
    assert await store.read(CATALOG.name, merged.tool_id, "TIMELINE") is not None


async def test_refreshing_an_unknown_tool_writes_nothing(store: SqliteStore, process: Process) -> None:
    refreshed = await process.cache.refresh.refresh_tools(["nobody"])
    assert (refreshed.done, refreshed.failed, refreshed.written) == ([], {}, 0)
    assert await everything(store, CATALOG.name) == []
