"""Whether anything has changed since a figure was computed: told by counts, not by clocks."""

from __future__ import annotations

from datetime import timedelta

from models.cache import SentimentCacheEntry
from services.figures.evidence import Evidence
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.figures.conftest import NOW
from tests.functional.figures.meanwhile import Meanwhile
from tests.functional.figures.world import Judgement, Process, a_tool

TOOL = a_tool(0, NOW - timedelta(days=40))


async def _figure(process: Process) -> SentimentCacheEntry:
    await process.store.upsert(CATALOG.name, TOOL.to_document())
    await process.analyse(TOOL.tool_id, "one", Judgement(NOW - timedelta(minutes=5), "positive"))
    return (await process.cache.reader.read(TOOL.tool_id, "HOUR_1")).entry


async def test_a_recount_in_the_second_of_the_entry_is_a_change(
    store: SqliteStore, watch: Watch, process: Process
) -> None:
    entry = await _figure(process)
    assert (await process.cache.evidence.window_facts(entry, None))["changed_since"] is False
    await process.analyse(TOOL.tool_id, "two", Judgement(NOW - timedelta(minutes=5), "negative"))
    await process.cache.recount.recount_tool(TOOL.tool_id, watch.now)
    assert (await process.cache.evidence.window_facts(entry, None))["changed_since"] is True
    await process.cache.generations.raise_(TOOL.tool_id)
    after = (await process.cache.reader.read(TOOL.tool_id, "HOUR_1")).entry
    assert after.total_mentions == 2
    assert (await process.cache.evidence.window_facts(after, None))["changed_since"] is False


async def test_a_recount_by_a_slower_clock_is_a_change(store: SqliteStore, watch: Watch, process: Process) -> None:
    entry = await _figure(process)
    await process.analyse(TOOL.tool_id, "two", Judgement(NOW - timedelta(minutes=5), "negative"))
    await process.cache.recount.recount_tool(TOOL.tool_id, watch.now - timedelta(seconds=20))
    assert (await process.cache.evidence.window_facts(entry, None))["changed_since"] is True


async def test_a_recount_while_evidence_is_read_is_a_change(store: SqliteStore, watch: Watch, process: Process) -> None:
    entry = await _figure(process)
    watch.advance(seconds=5)
    await process.analyse(TOOL.tool_id, "two", Judgement(NOW - timedelta(minutes=5), "negative"))
    late = Meanwhile(
        store, "query", CATALOG.name, 1, lambda: process.cache.recount.recount_tool(TOOL.tool_id, watch.now)
    )
    assert (await Evidence(late).window_facts(entry, None))["changed_since"] is True
    assert late.happened
