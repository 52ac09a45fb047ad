"""The refresh: what it writes and leaves alone, how it fans out, and how its runs end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.cache import PERIODS, CacheCounters, CacheMetadata
from models.run import JobRun, done_id
from models.tool import Tool
from services.feeds.coverage import Coverage
from services.figures.entries import Entries, Generations
from services.figures.messages import RefreshMessage
from services.figures.refresh_runs import RefreshRuns
from services.ports import Document, Query, Where
from services.store.containers import CATALOG, MENTIONS, RUNS, SENTIMENT_CACHE
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.articles.counting import CountingStore
from tests.functional.figures.conftest import NOW
from tests.functional.figures.world import Process, Said, a_tool, check_entry, everything, stored_entry

MADE = NOW - timedelta(days=40)


@pytest.fixture
async def process(store: SqliteStore, watch: Watch) -> Process:
    return Process(store, watch)


async def _tools(store: SqliteStore, count: int) -> list[Tool]:
    tools = [a_tool(number, MADE) for number in range(count)]
    await store.write_many(CATALOG.name, [tool.to_document() for tool in tools])
    return tools


async def _entries(store: SqliteStore) -> list[Document]:
    return [each for each in await everything(store, SENTIMENT_CACHE.name) if "period" in each]


async def _runs(store: SqliteStore) -> list[JobRun]:
    page = await store.query(RUNS.name, Query((Where("id", "eq", "RUN"),), order="by_start", limit=100))
    return [JobRun.from_document(document) for document in page.items]


async def _metadata(store: SqliteStore) -> CacheMetadata:
    document = await store.read(SENTIMENT_CACHE.name, "metadata", "metadata")
    assert document is not None
    return CacheMetadata.from_document(document)


async def test_few_tools_are_refreshed_at_once(store: SqliteStore, process: Process, watch: Watch) -> None:
    await _tools(store, 50)
    begun = await process.cache.refresh_runs.tick()
    assert begun.messages == []
    assert len(await _entries(store)) == 200
    (run,) = await _runs(store)
    assert (run.run_id, run.status, run.progress) == (begun.run_id, "SUCCEEDED", 50)
    metadata = await _metadata(store)
    assert (metadata.total_entries, metadata.tools_refreshed_count) == (200, 50)
    assert (metadata.last_refresh_status, metadata.last_refresh_run_id) == ("SUCCEEDED", run.run_id)
    await process.close()


async def test_no_tools_are_a_refresh_too(store: SqliteStore, process: Process) -> None:
    await process.cache.refresh_runs.tick()
    assert (await _metadata(store)).total_entries == 0
    await process.close()


async def test_many_tools_are_fanned_out_and_the_last_batch_closes_the_run_whatever_comes_twice(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    await _tools(store, 120)
    begun = await process.cache.refresh_runs.tick()
    messages = [RefreshMessage.from_message(message) for message in begun.messages]
    assert [len(message.tool_ids) for message in messages] == [50, 50, 20]
    watch.advance(seconds=5)
    for message in (messages[2], messages[0], messages[0]):
        await process.cache.refresh_runs.work(message)
        assert (await _runs(store))[0].status == "RUNNING"
    await process.cache.refresh_runs.work(messages[1])
    (run,) = await _runs(store)
    assert (run.status, run.progress, run.batches) == ("SUCCEEDED", 120, 3)
    metadata = await _metadata(store)
    assert (metadata.total_entries, metadata.tools_refreshed_count) == (480, 120)
    assert metadata.last_refresh_duration_ms == 5000
    counting = CountingStore(store)
    await Process(counting, watch).cache.refresh_runs.work(messages[1])
    assert counting.operations == 1, "the run has finished"
    await process.close()


async def test_a_run_whose_batches_do_not_come_is_closed_by_the_next_tick(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    await _tools(store, 120)
    begun = await process.cache.refresh_runs.tick()
    await process.cache.refresh_runs.work(RefreshMessage.from_message(begun.messages[0]))
    done_at = int(watch.now.timestamp())
    watch.advance(minutes=15)
    await process.cache.refresh_runs.tick()
    first, second = await _runs(store)
    assert (first.status, second.status) == ("PARTIAL", "RUNNING")
    assert first.errors == ("2 of 3 batches did not end in time",)
    metadata = await _metadata(store)
    assert (metadata.last_refresh_status, metadata.last_refresh_ts) == ("PARTIAL", done_at)
    watch.advance(minutes=15)
    await process.cache.refresh_runs.tick()
    assert (await _runs(store))[1].status == "FAILED"
    assert (await _metadata(store)).last_refresh_ts == done_at
    await process.close()


async def test_one_bad_tool_stops_no_other_and_is_counted(store: SqliteStore, process: Process, watch: Watch) -> None:
    tools = await _tools(store, 4)
    for tool in tools:
        await process.settle(tool.tool_id, "article", Said(NOW - timedelta(hours=2), "positive"))
    spoilt = await store.read(MENTIONS.name, tools[1].tool_id, "article")
    assert spoilt is not None
    await store.upsert(MENTIONS.name, {**spoilt, "polarity": "high"})
    await store.upsert(CATALOG.name, {"id": "TIMELINE", "pk": tools[2].tool_id, "hours": "none"})
    await process.cache.refresh_runs.tick()
    (run,) = await _runs(store)
    assert (run.status, run.progress) == ("PARTIAL", 2)
    assert run.errors == tuple(f"{tools[n].tool_id}: not refreshed" for n in (1, 2))
    metadata = await _metadata(store)
    assert (metadata.error_count_24h, metadata.last_refresh_status) == (2, "PARTIAL")
    assert metadata.tools_refreshed == (tools[0].tool_id, tools[3].tool_id)
    entry = await stored_entry(store, tools[3].tool_id, "HOUR_24")
    assert entry is not None
    assert entry.total_mentions == 1
    await process.close()


async def test_a_tool_that_cannot_be_read_at_all_stops_no_other(store: SqliteStore, process: Process) -> None:
    tools = await _tools(store, 4)
    key, unreadable = Generations.key(tools[0].tool_id), {"generation": "high"}
    await store.upsert(SENTIMENT_CACHE.name, {"tool_id": key[0], "id": key[1], **unreadable})
    await store.upsert(CATALOG.name, {**tools[1].to_document(), "aliases": "none"})
    await process.cache.refresh_runs.tick()
    (run,) = await _runs(store)
    assert (run.status, run.progress, run.errors) == ("PARTIAL", 2, (f"{tools[0].tool_id}: not refreshed",))
    assert len(await _entries(store)) == 8
    await process.close()


async def _break(store: SqliteStore, container: str, partition: str, name: str, **wrong: Any) -> None:
    document = await store.read(container, partition, name)
    assert document is not None
    await store.upsert(container, {**document, **wrong})


async def test_a_run_that_cannot_be_read_stops_neither_its_own_messages_nor_the_refreshes_after_it(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    await _tools(store, 51)
    broken, well = await process.cache.refresh_runs.tick(), await process.cache.refresh_runs.tick()
    await _break(store, RUNS.name, broken.run_id, JobRun.ID, progress="far")
    for message in broken.messages:
        await process.cache.refresh_runs.work(RefreshMessage.from_message(message))
    assert len(await _entries(store)) == 204
    watch.advance(minutes=15)
    await process.refresh()
    await store.delete(RUNS.name, broken.run_id, JobRun.ID)
    assert {run.run_id: run.status for run in await _runs(store)}[well.run_id] == "FAILED", "it was overdue, and closed"
    assert (await _metadata(store)).last_refresh_status == "SUCCEEDED"


async def test_a_batch_that_cannot_be_read_counts_as_one_that_never_ended(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    await _tools(store, 51)
    begun = await process.cache.refresh_runs.tick()
    first, second = [RefreshMessage.from_message(message) for message in begun.messages]
    await process.cache.refresh_runs.work(first)
    await _break(store, RUNS.name, begun.run_id, done_id(str(first.batch)), subjects_done="all")
    await process.cache.refresh_runs.work(second)
    watch.advance(minutes=15)
    await process.refresh()
    (run,) = [run for run in await _runs(store) if run.run_id == begun.run_id]
    assert (run.status, run.errors) == ("PARTIAL", ("1 of 2 batches did not end in time",))


async def test_metadata_and_counters_that_cannot_be_read_are_no_more_than_that(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    await _tools(store, 1)
    await process.refresh()
    process.cache.counters.errors(3)
    await process.refresh()
    await _break(store, SENTIMENT_CACHE.name, "metadata", "metadata", total_entries="many")
    counters = CacheCounters.at(watch.now)
    await _break(store, SENTIMENT_CACHE.name, counters.partition, counters.id, cache_hits="many")
    watch.advance(hours=1)
    process.cache.counters.errors(2)
    await process.refresh()
    metadata = await _metadata(store)
    assert (metadata.total_entries, metadata.error_count_24h, metadata.updated_at) == (4, 2, watch.now)


async def test_unchanged_entries_are_left_alone_until_the_next_refresh_would_find_them_stale(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    (tool,) = await _tools(store, 1)
    await process.settle(tool.tool_id, "article", Said(NOW - timedelta(hours=3), "positive"))
    refresh = process.cache.refresh
    for minutes, written in ((0, 4), (0, 0), (5, 0), (8, 0), (1, 4), (13, 0)):
        watch.advance(minutes=minutes)
        assert (await refresh.refresh_tools([tool.tool_id])).written == written
    await process.settle(tool.tool_id, "another", Said(NOW - timedelta(hours=26), "positive"))
    assert (await refresh.refresh_tools([tool.tool_id])).written == 4
    await process.close()


async def test_entries_whose_coverage_has_changed_are_written_again(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    (tool,) = await _tools(store, 1)
    assert (await process.cache.refresh.refresh_tools([tool.tool_id])).written == 4
    watch.advance(minutes=2)
    assert (await process.cache.refresh.refresh_tools([tool.tool_id])).written == 0
    await Coverage(store).note(watch.now)
    watch.advance(minutes=2)
    assert (await process.cache.refresh.refresh_tools([tool.tool_id])).written == 4
    await process.close()


async def test_what_was_marked_is_written_again_though_this_clock_is_behind_the_one_of_the_entries(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    """Its count seems older than they are."""
    (tool,) = await _tools(store, 1)
    await process.cache.refresh.refresh_tools([tool.tool_id])
    watch.advance(minutes=-2)
    assert (await process.cache.refresh.refresh_tools([tool.tool_id])).written == 0
    await process.settle(tool.tool_id, "article", Said(NOW - timedelta(minutes=1), "positive"))
    assert (await process.cache.refresh.refresh_tools([tool.tool_id])).written == 4
    await process.close()


async def test_nothing_is_written_of_a_tool_that_failed_after_it_had_been_gathered(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    """Others were at it meanwhile, so that it was gathered a second time, and could not be."""
    cache = process.cache
    (tool,) = await _tools(store, 1)
    gathered = await cache.recount.windows_of([tool.tool_id], NOW)
    gathered.failed[tool.tool_id] = ValueError("no timeline")
    entries = Entries(store, cache.recount, cache.generations, Coverage(store), watch)
    assert await entries.of(gathered, {tool.tool_id: 0}) == {}
    await process.close()


async def test_an_entry_of_a_past_generation_is_written_again(store: SqliteStore, process: Process) -> None:
    (tool,) = await _tools(store, 1)
    await process.cache.refresh.refresh_tools([tool.tool_id])
    await process.cache.generations.raise_(tool.tool_id)
    assert (await process.cache.refresh.refresh_tools([tool.tool_id])).written == 4
    assert (await process.cache.reader.read(tool.tool_id, "DAY_7")).state == "HIT"
    await process.close()


async def test_entries_of_tools_that_are_gone_or_merged_are_deleted_and_generations_kept(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    kept, merged, gone = await _tools(store, 3)
    for tool in (kept, merged, gone):
        await process.cache.generations.raise_(tool.tool_id)
    await process.cache.refresh_runs.tick()
    assert len(await _entries(store)) == 12
    await process.settle(merged.tool_id, "article", Said(NOW - timedelta(hours=3), None))
    after = merged.changed(NOW, status="MERGED", merged_into=kept.tool_id)
    await store.upsert(CATALOG.name, after.to_document())
    await store.delete(CATALOG.name, gone.tool_id, Tool.ID)
    watch.advance(minutes=15)
    await process.cache.refresh_runs.tick()
    assert {each["tool_id"] for each in await _entries(store)} == {kept.tool_id}
    for tool in (merged, gone):
        assert await process.cache.generations.current(tool.tool_id) == 1
    # Its mentions were marked as they moved: that is counted though it has no entries any more.
    assert await store.read(CATALOG.name, merged.tool_id, "TIMELINE") is not None
    await process.close()


async def test_with_nothing_new_a_batch_takes_a_handful_of_looks_whatever_was_said(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    tools = await _tools(store, 50)
    for tool in tools[:3]:
        for number in range(5):
            said = Said(NOW - timedelta(minutes=61 * number), "positive")
            await process.settle(tool.tool_id, f"article-{number}", said)
    tool_ids = [tool.tool_id for tool in tools]
    await process.cache.refresh.refresh_tools(tool_ids)
    watch.advance(minutes=15)
    counting = CountingStore(store)
    refreshed = await Process(counting, watch).cache.refresh.refresh_tools(tool_ids)
    # Marks, young entries, generations, windows, coverage, and one write of the entries.
    assert (counting.operations, counting.writes, refreshed.written) == (6, 1, 200)
    await process.close()


async def test_what_was_said_leaves_the_windows_as_time_passes_though_no_table_but_the_windows_is_read(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    (tool,) = await _tools(store, 1)
    for number, minutes in enumerate((3, 18, 59, 60 * 24 - 1, 60 * 24 * 7 - 20, 60 * 24 * 30 - 40)):
        await process.settle(tool.tool_id, f"article-{number}", Said(NOW - timedelta(minutes=minutes), "positive"))
    await process.cache.refresh.refresh_tools([tool.tool_id])
    read: list[str] = []
    for minutes in (14, 15, 15, 15, 15, 60, 15):
        same_hour = watch.now.minute + minutes < 60
        watch.advance(minutes=minutes)
        reading = Reading(store, read)
        await Process(reading, watch).cache.refresh.refresh_tools([tool.tool_id])
        assert ("TIMELINE" in read) != same_hour
        read.clear()
        for period in PERIODS:
            entry = await stored_entry(store, tool.tool_id, period)
            assert entry is not None
            assert entry.period_end_ts == int(watch.now.timestamp()) // 60 * 60
            await check_entry(store, entry, watch.now)
    await process.close()


class Reading(CountingStore):
    """Notes the ids of all documents that are read by key."""

    def __init__(self, store: SqliteStore, ids: list[str]) -> None:
        super().__init__(store)
        self._ids = ids

    async def _do(self, name: str, *arguments: Any, half: tuple[Any, ...] | None = None) -> Any:
        if name == "read_many":
            self._ids += [key for _, key in arguments[1]]
        return await super()._do(name, *arguments, half=half)


async def test_a_tool_that_nobody_knows_leaves_nothing_behind(store: SqliteStore, process: Process) -> None:
    refreshed = await process.cache.refresh.refresh_tools(["nobody"])
    assert (refreshed.done, refreshed.failed, refreshed.written) == ([], {}, 0)
    assert await everything(store, CATALOG.name) == []
    await process.close()


async def test_a_stale_tools_message_refreshes_it_without_a_run(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    (tool,) = await _tools(store, 1)
    await process.cache.refresh_runs.work(RefreshMessage((tool.tool_id, "nobody")))
    assert len(await _entries(store)) == len(PERIODS)
    assert await _runs(store) == []
    await process.close()


async def test_a_message_of_a_run_that_is_no_more_does_nothing(store: SqliteStore, process: Process) -> None:
    (tool,) = await _tools(store, 1)
    assert isinstance(process.cache.refresh_runs, RefreshRuns)
    await process.cache.refresh_runs.work(RefreshMessage((tool.tool_id,), "nobody", "0001"))
    assert await _entries(store) == []
    await process.close()
