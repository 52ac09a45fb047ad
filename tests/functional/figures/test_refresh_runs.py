"""The runs of the refresh: how they fan out, how they end, and what is known of them afterwards."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from models.cache import CacheMetadata, LastRefresh
from models.errors import Unavailable
from models.run import Attempt, JobRun
from services import deadline
from services.figures.metadata import last_refreshes, summed
from services.figures.refresh import LATE, Refresh
from services.mentions.due import RefreshMessage
from services.ports import Query, Where
from services.store.containers import CATALOG, MENTIONS, RUNS, SENTIMENT_CACHE
from services.store.sqlite import SqliteStore
from services.topology import REFRESH_TOOLS
from tests.builders import MemoryQueues, Watch, existing
from tests.failing_stores import hesitant
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.dying import DyingStore
from tests.functional.figures.world import (
    NOW,
    Judgement,
    Process,
    Said,
    a_tool,
    entries_in,
    some_tools,
    stored_entry,
)


async def _runs(store: SqliteStore) -> list[JobRun]:
    page = await store.query(RUNS.name, Query((Where("id", "eq", "RUN"),), order="by_start", limit=100))
    return [JobRun.from_document(document) for document in page.items]


async def _attempts(store: SqliteStore, run_id: str) -> list[Attempt]:
    """By batch and number."""
    page = await store.query(RUNS.name, Query((Where("entity_type", "eq", "Attempt"),), partition=run_id, limit=100))
    found = [Attempt.from_document(document) for document in page.items]
    return sorted(found, key=lambda each: (each.subject, each.attempt_no))


async def _tried(store: SqliteStore, run_id: str) -> list[tuple[str, int, str, str | None]]:
    attempts = await _attempts(store, run_id)
    return [(each.subject, each.attempt_no, each.status, each.error_type) for each in attempts]


async def _metadata(store: SqliteStore) -> CacheMetadata:
    metadata, _ = await last_refreshes(store)
    assert metadata is not None
    return metadata


async def _last(store: SqliteStore) -> LastRefresh:
    _, last = await last_refreshes(store)
    assert last is not None
    return last


async def test_up_to_fifty_new_tools_are_refreshed_without_messages(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    await process.cache.refresh.tick()
    assert (await _metadata(store)).total_entries == 0, "there are no tools"
    await store.write_many(CATALOG.name, [a_tool(number, NOW).to_document() for number in range(50)])
    begun = await process.cache.refresh.tick()
    assert begun.messages == []
    assert len(await entries_in(store)) == 200
    run = (await _runs(store))[-1]
    assert (run.run_id, run.status, run.progress) == (begun.run_id, "SUCCEEDED", 50)
    metadata = await _metadata(store)
    assert (metadata.total_entries, metadata.tools_refreshed_count) == (200, 50)
    assert metadata.last_refresh_run_id == run.run_id
    last = await _last(store)
    assert (last.run_id, last.status, last.ended_at) == (run.run_id, "SUCCEEDED", watch.now)
    assert (last.failed_tools, last.failed_tools_count, last.errors) == ({}, 0, ())


async def test_many_tools_are_refreshed_by_messages_and_the_last_batch_closes_the_run_also_when_messages_arrive_twice(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    tools = await some_tools(store, 120)
    begun = await process.cache.refresh.tick("call")
    messages = [RefreshMessage.from_message(message) for message in begun.messages]
    assert [len(message.tool_ids) for message in messages] == [50, 50, 20]
    watch.advance(seconds=5)
    for message, delivery in ((messages[2], 1), (messages[0], 1), (messages[0], 2)):
        await process.cache.refresh.work(message, delivery)
        assert (await _runs(store))[0].status == "RUNNING"
    await process.cache.refresh.work(messages[1])
    (run,) = await _runs(store)
    assert (run.status, run.progress, run.batches) == ("SUCCEEDED", 120, 3)
    assert run.metrics == {"entries_written": 480, "tools_failed": 0}
    assert (run.invocation_id, run.subject, run.parameters) == ("call", "sentiment_cache", {"tools": 120})
    attempts = await _attempts(store, begun.run_id)
    assert (attempts[0].task_name, attempts[0].subject, attempts[0].progress) == ("refresh_tools", "batch:0001", 50)
    assert sorted(each for one in attempts for each in one.tool_ids) == sorted(tool.tool_id for tool in tools)
    metadata = await _metadata(store)
    assert (metadata.total_entries, metadata.tools_refreshed_count) == (480, 120)
    assert metadata.last_refresh_duration_ms == 5000
    counting = CountingStore(store)
    await Process(counting, watch).cache.refresh.work(messages[1])
    assert counting.operations == 1, "the run has finished"


async def test_a_run_whose_batches_do_not_end_is_closed_by_the_next_tick(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    await some_tools(store, 120)
    begun = await process.cache.refresh.tick()
    for message in begun.messages:
        await process.cache.refresh.work(RefreshMessage.from_message(message))
    succeeded_at = int(watch.now.timestamp())
    watch.advance(minutes=15)
    begun = await process.cache.refresh.tick()
    await process.cache.refresh.work(RefreshMessage.from_message(begun.messages[0]))
    partial_at = watch.now
    watch.advance(minutes=15)
    await process.cache.refresh.tick()
    _, first, second = await _runs(store)
    assert (first.status, second.status) == ("PARTIAL", "RUNNING")
    batches = len(begun.messages)
    assert first.errors == (f"{batches - 1} of {batches} batches did not end in time",)
    assert (await _metadata(store)).last_refresh_ts == succeeded_at, "a partial refresh is not a successful one"
    last = await _last(store)
    assert (last.run_id, last.status, last.ended_at, last.errors) == (
        first.run_id, "PARTIAL", partial_at, first.errors,
    )  # fmt: skip
    watch.advance(minutes=15)
    await process.cache.refresh.tick()
    assert (await _runs(store))[2].status == "FAILED"
    assert (await _metadata(store)).last_refresh_ts == succeeded_at
    last = await _last(store)
    assert (last.run_id, last.status, last.ended_at) == (second.run_id, "FAILED", watch.now)


async def test_every_tool_has_its_own_place_between_two_ticks_and_no_entry_becomes_stale(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    """Some tools have news between their places. A worker that stands still for a while is made up for."""
    tools = await some_tools(store, 30)
    oldest, places = 0.0, dict[str, list[int]]()
    for tick in range(6):
        began = watch.now
        begun = await process.cache.refresh.tick()
        assert (begun.delays == []) == (tick == 0), "nothing is stored yet"
        for delay, text in zip(begun.delays, begun.messages, strict=True):
            watch.now = began + timedelta(seconds=delay)
            message = RefreshMessage.from_message(text)
            if tick == 3 and delay > 600:
                continue
            for each in await entries_in(store):
                oldest = max(oldest, watch.now.timestamp() - each["last_updated_ts"])
            await process.cache.refresh.work(message)
            for tool_id in message.tool_ids if tick not in (0, 4) else ():
                places.setdefault(tool_id, []).append(delay)
            news = tools[(tick + delay) % len(tools)].tool_id
            await process.analyse(news, f"article-{tick}-{delay}", Judgement(NOW - timedelta(hours=2), "positive"))
            await process.cache.refresh.work(RefreshMessage((news,)))
        (run,) = [each for each in await _runs(store) if each.run_id == begun.run_id]
        assert run.status == ("RUNNING" if tick == 3 else "SUCCEEDED")
        assert not begun.delays or max(begun.delays) <= 13 * 60
        watch.now = began + timedelta(minutes=15)
    assert all(len(set(delays)) == 1 for delays in places.values())
    assert max(map(len, places.values())) > 3
    assert 15 * 60 <= oldest <= 30 * 60


async def test_a_person_waits_for_no_tool_s_place(store: SqliteStore, process: Process) -> None:
    await some_tools(store, 120)
    await process.refresh()
    begun = await process.cache.refresh.begin()
    assert (begun.delays, len(begun.messages)) == ([0, 0, 0], 3)


async def test_a_message_of_a_run_that_is_gone_does_nothing(store: SqliteStore, process: Process) -> None:
    (tool,) = await some_tools(store, 1)
    assert isinstance(process.cache.refresh, Refresh)
    await process.cache.refresh.work(RefreshMessage((tool.tool_id,), "nobody", "0001"))
    assert await entries_in(store) == []


async def test_one_bad_tool_stops_no_other_and_is_counted(store: SqliteStore, process: Process, watch: Watch) -> None:
    """The last tool cannot be read at all, and is not among the active ones."""
    tools = await some_tools(store, 5)
    await store.upsert(CATALOG.name, {**tools.pop().to_document(), "aliases": "none"})
    for tool in tools:
        await process.analyse(tool.tool_id, "article", Judgement(NOW - timedelta(hours=2), "positive"))
    spoilt = await existing(store, MENTIONS.name, tools[1].tool_id, "article")
    await store.upsert(MENTIONS.name, {**spoilt, "polarity": "high"})
    broken = {"id": f"{tools[2].tool_id}:generation", "tool_id": tools[2].tool_id, "generation": "high"}
    await store.upsert(SENTIMENT_CACHE.name, broken)
    await process.refresh()
    (run,) = await _runs(store)
    assert (run.status, run.progress) == ("PARTIAL", 2)
    reasons = dict(error.split(": ", 1) for error in run.errors)
    assert sorted(reasons) == [tools[n].tool_id for n in (1, 2)]
    assert all(reason.startswith("UnreadableDocument: ") for reason in reasons.values())
    assert await store.read(SENTIMENT_CACHE.name, "metadata", "metadata") is None, "no refresh has succeeded yet"
    last = await _last(store)
    assert (last.status, last.failed_tools, last.failed_tools_count) == ("PARTIAL", reasons, 2)
    await process.cache.counters.writer.flush()
    assert summed(await process.cache.counters.hours())["error_count_24h"] == 2
    assert (await _attempts(store, run.run_id))[0].tool_ids == (tools[0].tool_id, tools[3].tool_id)
    entry = await stored_entry(store, tools[3].tool_id, "HOUR_24")
    assert entry is not None
    assert entry.total_mentions == 1


async def test_tools_that_have_no_turn_before_the_deadline_are_announced_again(
    store: SqliteStore, watch: Watch
) -> None:
    queues = MemoryQueues()
    process = Process(store, watch, queues=queues)
    dirty, _ = await some_tools(store, 2)
    await process.refresh()
    watch.advance(minutes=5)
    await process.analyse(dirty.tool_id, "article", Judgement(NOW - timedelta(hours=2), "positive"))
    again = RefreshMessage((dirty.tool_id,))
    (of_run,) = (await process.cache.refresh.begin()).messages
    for message in (again, RefreshMessage.from_message(of_run)):
        with deadline.within(0.0):
            await process.cache.refresh.work(message)
        assert queues.sent.pop(REFRESH_TOOLS, []) == [again.to_message()]
    run = (await _runs(store))[-1]
    assert (run.status, run.progress, run.errors) == ("PARTIAL", 1, (f"{dirty.tool_id}: {LATE}",))
    await process.cache.refresh.work(again)
    entry = await stored_entry(store, dirty.tool_id, "HOUR_24")
    assert entry is not None
    assert entry.total_mentions == 1
    await process.close()


async def test_two_deliveries_of_a_batch_at_once_count_once(store: SqliteStore, watch: Watch, process: Process) -> None:
    await some_tools(store, 60)
    for seed in range(3):
        begun = await process.cache.refresh.begin()
        messages = [RefreshMessage.from_message(message) for message in (*begun.messages, begun.messages[0])]
        workers = [Process(hesitant(store, seed * 3 + number), watch) for number in range(3)]
        await asyncio.gather(
            *(each.cache.refresh.work(message) for each, message in zip(workers, messages, strict=True))
        )
        (run,) = [run for run in await _runs(store) if run.run_id == begun.run_id]
        assert (run.status, run.progress) == ("SUCCEEDED", 60)
        tried = await _tried(store, begun.run_id)
        assert [each[2] for each in tried].count("SUCCEEDED") == 2
        assert (await _metadata(store)).tools_refreshed_count == 60
        watch.advance(minutes=15)
        for each in workers:
            await each.close()


class AwayWithoutTools(DyingStore):
    """Cannot read which hours are dirty."""

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        if (name, arguments[0]) == ("query", CATALOG.name):
            raise Unavailable("the store did not answer")
        return await super()._do(name, *arguments, **options)


async def test_a_batch_that_fails_is_tried_again_by_the_next_delivery(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    await some_tools(store, 60)
    begun = await process.cache.refresh.tick()
    first, second = [RefreshMessage.from_message(message) for message in begun.messages]
    failing = Process(AwayWithoutTools(store), watch)
    with pytest.raises(Unavailable):
        await failing.cache.refresh.work(first)
    for delivery, message in enumerate((second, first), 1):
        await process.cache.refresh.work(message, delivery)
    assert await _tried(store, begun.run_id) == [
        ("batch:0001", 1, "FAILED", "Unavailable"),
        ("batch:0001", 2, "SUCCEEDED", None),
        ("batch:0002", 1, "SUCCEEDED", None),
    ]
    assert (await _runs(store))[0].status == "SUCCEEDED"


async def test_a_batch_that_fails_as_a_whole_counts_as_an_error_of_each_of_its_tools(
    store: SqliteStore, watch: Watch
) -> None:
    tools = await some_tools(store, 3)
    failing = Process(CountingStore(store, fail_writes_from=1), watch)
    with pytest.raises(Unavailable):
        await failing.cache.refresh.refresh_tools([tool.tool_id for tool in tools])
    well = Process(store, watch)
    well.cache.counters.writer.register(failing.cache.counters._take)
    await well.cache.counters.writer.flush()
    assert summed(await well.cache.counters.hours())["error_count_24h"] == 3
    for each in (failing, well):
        await each.close()


async def test_the_metadata_count_the_mentions_of_a_week_and_list_tools_that_are_mostly_unscored(
    store: SqliteStore, process: Process
) -> None:
    tool, other = await some_tools(store, 2)
    for number in range(11):
        said: Said = "unscored" if number else "positive"
        await process.analyse(tool.tool_id, f"article-{number}", Judgement(NOW - timedelta(days=6), said))
    await process.analyse(other.tool_id, "article-1", Judgement(NOW - timedelta(days=6), "unscored"))
    await process.analyse(other.tool_id, "old", Judgement(NOW - timedelta(days=8), "negative"))
    await process.refresh()
    metadata = await _metadata(store)
    assert metadata.mentions_7d == {"positive": 1, "negative": 0, "neutral": 0, "unscored": 11}
    assert (metadata.mostly_unscored_tools, metadata.mostly_unscored_count) == ((tool.tool_id,), 1)
