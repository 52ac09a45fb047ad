"""What a read answers from: memory, the store, or a computation, and what it tells about it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta

import pytest

from models.cache import PERIODS, Period, SentimentCacheEntry
from models.tool import Tool
from services.figures.metadata import summed
from services.figures.reader import Aggregate
from services.store.containers import CATALOG, SENTIMENT_CACHE
from services.store.sqlite import SqliteStore
from services.topology import REFRESH_TOOLS
from tests.builders import MemoryQueues, Watch
from tests.functional.articles.counting import CountingStore
from tests.functional.figures.world import NOW, Judgement, Meanwhile, Process, a_tool, check_entry, stored_entry

TOOL = a_tool(0, NOW - timedelta(days=40), aliases=("C#",))


@pytest.fixture
async def tool(store: SqliteStore, watch: Watch) -> Tool:
    process = Process(store, watch)
    await store.create(CATALOG.name, TOOL.to_document())
    for name in TOOL.names:
        await process.catalog.claim(name, TOOL)
    await process.analyse(TOOL.tool_id, "article-1", Judgement(NOW - timedelta(hours=2), "positive"))
    await process.analyse(TOOL.tool_id, "article-2", Judgement(NOW - timedelta(hours=30), "negative"))
    return TOOL


async def test_a_miss_computes_saves_all_four_and_the_next_read_is_a_hit(
    store: SqliteStore, watch: Watch, tool: Tool, process: Process
) -> None:
    missed = await process.cache.reader.read(tool.primary_name, "HOUR_24")
    assert (missed.state, missed.entry.age_seconds(watch.now)) == ("MISS", 0)
    watch.advance(minutes=5)
    totals = {}
    for period in PERIODS:
        hit = await process.cache.reader.read("c#", period)
        assert (hit.state, hit.entry.age_seconds(watch.now)) == ("HIT", 300)
        totals[period] = hit.entry.total_mentions
    assert totals == {"HOUR_1": 0, "HOUR_24": 1, "DAY_7": 2, "DAY_30": 2}
    body = json.loads(missed.body)
    assert body["tool"] == "tool 0"
    assert (body["is_stale"], body["coverage"], body["positive_percentage"]) == (False, None, 100.0)


async def test_no_older_generation_is_served_by_the_process_that_raised_it_nor_by_others_once_it_is_known_everywhere(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    async def sleep(seconds: float) -> None:
        assert seconds == 2.0
        watch.advance(seconds=seconds)

    here, elsewhere = (Process(store, watch, memory_seconds=2.0, sleep=sleep) for _ in range(2))
    for process in (here, elsewhere):
        await process.cache.reader.read(tool.tool_id, "DAY_7")
    await here.cache.generations.raise_(tool.tool_id)
    at_once = await here.cache.reader.read(tool.tool_id, "DAY_7")
    assert (at_once.state, at_once.entry.generation) == ("MISS", 1)
    assert (await elsewhere.cache.reader.read(tool.tool_id, "DAY_7")).entry.generation == 0
    await here.cache.generations.known_everywhere()
    assert (await elsewhere.cache.reader.read(tool.tool_id, "DAY_7")).entry.generation == 1
    for process in (here, elsewhere):
        await process.close()


async def test_concurrent_misses_compute_once(store: SqliteStore, watch: Watch, tool: Tool) -> None:
    counting = CountingStore(store)
    process = Process(counting, watch)
    periods: list[Period] = [*PERIODS] * 8
    served = await asyncio.gather(*(process.cache.reader.read(tool.tool_id, period) for period in periods))
    assert {each.state for each in served} == {"MISS"}
    assert {each.entry.last_updated_ts for each in served} == {int(NOW.timestamp())}
    entries = [await stored_entry(store, tool.tool_id, period) for period in PERIODS]
    assert all(entry is not None for entry in entries)
    # Each reader asks for the tool and twice for the entry; one computes: its 11 writes and looks come once.
    assert counting.writes <= 8
    await process.close()


async def test_a_cancelled_reader_does_not_cancel_the_others(
    store: SqliteStore, watch: Watch, tool: Tool, process: Process
) -> None:
    first = asyncio.ensure_future(process.cache.reader.read(tool.tool_id, "DAY_7"))
    second = asyncio.ensure_future(process.cache.reader.read(tool.tool_id, "DAY_7"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).entry.total_mentions == 2


async def test_a_stale_entry_is_served_at_once_and_its_tool_is_announced(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    queues = MemoryQueues()
    here, elsewhere = (Process(store, watch, memory_seconds=2.0, queues=queues) for _ in range(2))
    await here.cache.refresh.refresh_tools([tool.tool_id])
    watch.advance(minutes=30)
    fresh = await here.cache.reader.read(tool.tool_id, "DAY_7")
    assert (fresh.state, json.loads(fresh.body)["is_stale"]) == ("HIT", False)
    watch.advance(seconds=1)
    announced = []
    for seconds in (0, 1, 28, 1, 29):
        watch.advance(seconds=seconds)
        for process in (here, elsewhere):
            served = await process.cache.reader.read(tool.tool_id, "DAY_7")
            assert served.state == "STALE"
            assert json.loads(served.body)["is_stale"] is True
            announced.append(len(queues.sent[REFRESH_TOOLS]))
    assert announced == list(range(1, 11))
    await here.cache.refresh.refresh_tools([tool.tool_id])
    again = await here.cache.reader.read(tool.tool_id, "DAY_7")
    assert (again.state, json.loads(again.body)["is_stale"]) == ("HIT", False)
    for process in (here, elsewhere):
        await process.close()


async def test_the_last_hour_is_computed_again_once_a_mention_has_left_it(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    process = Process(store, watch, memory_seconds=3600.0)
    for source, minutes in (("article-3", 20), ("article-4", 10)):
        await process.analyse(tool.tool_id, source, Judgement(NOW - timedelta(minutes=minutes), "neutral"))
    await process.cache.refresh.refresh_tools([tool.tool_id])
    read = []
    for _ in range(52):
        hour, day = [(await process.cache.reader.read(tool.tool_id, period)) for period in ("HOUR_1", "HOUR_24")]
        assert day.state in ("HIT", "STALE")
        if hour.state != "STALE":
            await check_entry(store, hour.entry, watch.now)
            read.append((hour.state, hour.entry.total_mentions))
        watch.advance(minutes=1)
    assert [*dict.fromkeys(read)] == [("HIT", 2), ("MISS", 1), ("HIT", 1), ("MISS", 0), ("HIT", 0)]
    assert read.count(("MISS", 1)) == read.count(("MISS", 0)) == 1
    await process.close()


async def test_an_entry_that_cannot_be_read_is_a_miss(
    store: SqliteStore, watch: Watch, tool: Tool, process: Process
) -> None:
    await process.cache.refresh.refresh_tools([tool.tool_id])
    entry = await stored_entry(store, tool.tool_id, "DAY_7")
    assert entry is not None
    await store.upsert(SENTIMENT_CACHE.name, {**entry.to_document(), "total_mentions": 99})
    served = await process.cache.reader.read(tool.tool_id, "DAY_7")
    assert (served.state, served.entry.total_mentions) == ("MISS", 2)


async def test_many_tools_are_read_at_once_and_missing_entries_computed(
    store: SqliteStore, watch: Watch, tool: Tool, process: Process
) -> None:
    other = a_tool(1, NOW - timedelta(days=1))
    await store.create(CATALOG.name, other.to_document())
    await process.cache.refresh.refresh_tools([tool.tool_id])
    served = (await process.cache.reader.read_all([tool, other], "DAY_7")).items
    assert [(each.state, each.name) for each in served] == [("HIT", "tool 0"), ("MISS", "tool 1")]
    await process.cache.counters.writer.flush()
    counted = summed(await process.cache.counters.hours())
    assert (counted["cache_hits_24h"], counted["cache_misses_24h"]) == (1, 1)


async def test_a_list_leaves_out_a_tool_that_was_merged_after_the_tools_were_listed(
    store: SqliteStore, tool: Tool, process: Process
) -> None:
    other = a_tool(1, NOW - timedelta(days=1))
    merged = tool.changed(NOW, status="MERGED", merged_into=other.tool_id)
    await store.create(CATALOG.name, other.to_document())
    await store.upsert(CATALOG.name, merged.to_document())
    listed = await process.cache.reader.read_all([tool, other], "DAY_7")
    assert ([each.name for each in listed.items], listed.unreadable) == (["tool 1"], ())
    assert (await process.cache.reader.read_all([tool], "DAY_7")).items == []


LAST_CHECK = ("read", SENTIMENT_CACHE.name, 1)
"""A computation reads the generation once more when its entries are saved."""


async def test_a_computation_begins_again_when_another_process_raises_the_generation(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    elsewhere = Process(store, watch)
    meanwhile = Meanwhile(
        store, "batch_many", SENTIMENT_CACHE.name, 1, lambda: elsewhere.cache.generations.raise_(tool.tool_id)
    )
    process = Process(meanwhile, watch, memory_seconds=2.0)
    served = await process.cache.reader.read(tool.tool_id, "DAY_7")
    assert (meanwhile.happened, served.state, served.entry.generation) == (True, "MISS", 1)
    assert {entry and entry.generation for entry in await _stored(store, tool)} == {1}
    for each in (process, elsewhere):
        await each.close()


async def _stored(store: SqliteStore, tool: Tool) -> list[SentimentCacheEntry | None]:
    return [await stored_entry(store, tool.tool_id, period) for period in PERIODS]


async def test_a_stale_entry_is_not_served_if_the_generation_was_raised_as_it_was_read(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    class Raising(MemoryQueues):
        async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
            await process.cache.generations.raise_(tool.tool_id)

    process = Process(store, watch, queues=Raising())
    await process.cache.refresh.refresh_tools([tool.tool_id])
    watch.advance(minutes=31)
    served = await process.cache.reader.read(tool.tool_id, "DAY_7")
    assert (served.state, served.entry.generation) == ("MISS", 1)
    await process.close()


async def test_a_reader_that_joins_a_computation_gets_no_entry_older_than_an_invalidation_that_it_knows(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    """It has made sure of its generation already when somebody else raises it, and then says so to a caller here."""
    elsewhere = Process(store, watch)
    told: list[asyncio.Task[Aggregate]] = []

    async def raised_and_told() -> None:
        await elsewhere.cache.generations.raise_(tool.tool_id)
        told.append(asyncio.ensure_future(process.cache.reader.read(tool.tool_id, "DAY_7")))
        for _ in range(100):
            await asyncio.sleep(0)
        assert process.cache.generations.known(tool.tool_id) == 1

    meanwhile = Meanwhile(store, *LAST_CHECK, raised_and_told)
    process = Process(meanwhile, watch)
    first = await process.cache.reader.read(tool.tool_id, "DAY_7")
    assert [first.entry.generation, (await told[0]).entry.generation] == [1, 1]
    for each in (process, elsewhere):
        await each.close()


async def test_of_many_tools_none_is_served_whose_generation_was_raised_meanwhile(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    other = a_tool(1, NOW - timedelta(days=1))
    await store.create(CATALOG.name, other.to_document())
    await Process(store, watch).cache.refresh.refresh_tools([tool.tool_id])
    meanwhile = Meanwhile(store, *LAST_CHECK, lambda: process.cache.generations.raise_(tool.tool_id))
    process = Process(meanwhile, watch)
    served = (await process.cache.reader.read_all([tool, other], "DAY_7")).items
    assert [(each.state, each.entry.generation) for each in served] == [("MISS", 1), ("HIT", 0)]
    await process.close()


async def test_a_new_name_is_served_at_once_by_the_process_that_gave_it_and_soon_by_the_others(
    store: SqliteStore, watch: Watch, tool: Tool
) -> None:
    writes = [0]
    here = Process(store, watch, memory_seconds=2.0, last_write=lambda: writes[0])
    elsewhere = Process(store, watch, memory_seconds=2.0)
    for process in (here, elsewhere):
        await process.cache.reader.read("C#", "DAY_7")
    await here.catalog.change(tool.tool_id, {"primary_name": "Renamed"})
    writes[0] += 1
    assert (await here.cache.reader.read("C#", "HOUR_24")).name == "Renamed"
    watch.advance(seconds=1)
    named = []
    for _ in range(4):
        named.append((await elsewhere.cache.reader.read("C#", "HOUR_24")).name)
        watch.advance(seconds=1)
    assert named == ["tool 0", "tool 0", "Renamed", "Renamed"], "twice the seconds, less that of the first read"
    for process in (here, elsewhere):
        await process.close()


async def test_a_tool_that_another_process_has_just_merged_is_the_one_that_it_was_merged_into(
    store: SqliteStore, watch: Watch, tool: Tool, process: Process
) -> None:
    elsewhere = Process(store, watch, memory_seconds=2.0)
    target = a_tool(1, NOW - timedelta(days=1))
    await store.create(CATALOG.name, target.to_document())
    await elsewhere.cache.reader.read(tool.tool_id, "DAY_7")
    stored = await process.catalog.get(tool.tool_id)
    await store.upsert(CATALOG.name, stored.changed(NOW, status="MERGED", merged_into=target.tool_id).to_document())
    await process.analyse(tool.tool_id, "article-1", Judgement(NOW - timedelta(hours=2), None))
    await process.cache.generations.raise_(tool.tool_id)
    assert (await elsewhere.cache.reader.read(tool.tool_id, "HOUR_24")).name == "tool 1"
    await elsewhere.close()
