"""A process that dies anywhere in a refresh, a miss, a rebuild or an invalidation leaves nothing wrong behind."""

import itertools
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from models.cache import PERIODS
from models.tool import Tool
from services.figures.recount import Recount
from services.mentions.due import dirty_hours_of, mark_dirty
from services.store.containers import CATALOG, MENTIONS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.figures.conftest import NOW
from tests.functional.figures.world import (
    Judgement,
    Process,
    a_mention,
    a_tool,
    check_entry,
    check_tables,
    check_unmarked_hours,
)

MADE = NOW - timedelta(days=40)


async def _one_more_world(store: SqliteStore, process: Process, number: int) -> Tool:
    """A tool of its own with one hour counted, one changed since, one removed, and one new."""
    tool = a_tool(number, MADE)
    await store.upsert(CATALOG.name, tool.to_document())
    for hours, sentiment in ((1, "positive"), (2, "negative"), (3, "neutral"), (5, "unscored")):
        judgement = Judgement(NOW - timedelta(hours=hours), sentiment)  # type: ignore[arg-type]
        await process.analyse(tool.tool_id, f"article-{hours}", judgement)
    await process.cache.refresh.refresh_tools([tool.tool_id])
    await process.analyse(tool.tool_id, "article-2", Judgement(NOW - timedelta(hours=2), "positive"))
    await process.analyse(tool.tool_id, "article-3", Judgement(NOW - timedelta(hours=3), None))
    await process.analyse(tool.tool_id, "article-4", Judgement(NOW - timedelta(hours=4), "negative"))
    await process.analyse(tool.tool_id, "article-5", Judgement(NOW - timedelta(hours=5), "positive", "2"))
    await process.analyse(tool.tool_id, "article-6", Judgement(NOW - timedelta(hours=4), "unscored", "2"))
    return tool


WORK: dict[str, Callable[[Process, Tool], Awaitable[Any]]] = {
    "refresh": lambda process, tool: process.cache.refresh.refresh_tools([tool.tool_id]),
    "miss": lambda process, tool: process.cache.reader.read(tool.tool_id, "DAY_7"),
    "drop": lambda process, tool: process.cache.generations.raise_(tool.tool_id),
}
FEWEST_OPERATIONS = {"refresh": 8, "miss": 8, "drop": 2}


@pytest.mark.parametrize(("what", "when"), [("refresh", "halfway"), ("miss", "after"), ("drop", "after")])
async def test_after_a_crash_at_any_operation_the_next_refresh_makes_figures_right(
    store: SqliteStore, watch: Watch, what: str, when: Any, process: Process
) -> None:
    for k in itertools.count(1):
        tool = await _one_more_world(store, process, k)
        if what == "miss":
            await process.cache.generations.raise_(tool.tool_id)
        dying = Process(DyingStore(store, k, when), watch)
        try:
            await WORK[what](dying, tool)
        except Died:
            died = True
        else:
            died = False
        await dying.close()
        await check_unmarked_hours(store, tool.tool_id)
        await process.cache.refresh.refresh_tools([tool.tool_id])
        await check_tables(store, tool.tool_id, NOW)
        for period in PERIODS:
            served = await process.cache.reader.read(tool.tool_id, period)
            await check_entry(store, served.entry, NOW)
        if not died:
            break
    assert k > FEWEST_OPERATIONS[what]


DIRTY_HOURS = 120


@pytest.mark.parametrize(("everything", "when"), [(True, "after"), (False, "before")])
async def test_a_crash_between_the_batches_of_many_dirty_hours_leaves_right_counts_or_dirty_hours(
    store: SqliteStore, watch: Watch, everything: bool, when: Any, process: Process
) -> None:
    """A batch has room for 99 operations, so that these take two."""
    moments = [NOW - timedelta(hours=back) for back in range(DIRTY_HOURS)]
    dirty_left: list[int] = []
    for k in itertools.count(1):
        tool = a_tool(k, MADE)
        await store.create(CATALOG.name, tool.to_document())
        mentions = [a_mention(tool.tool_id, f"article-{n}", moment).to_document() for n, moment in enumerate(moments)]
        await store.write_many(MENTIONS.name, mentions)
        await mark_dirty(store, tool.tool_id, moments, NOW)
        dying = DyingStore(store, k, when)
        recount = Recount(dying)
        try:
            await (recount.rebuild_tool if everything else recount.recount_tool)(tool.tool_id, NOW)
        except Died:
            await check_unmarked_hours(store, tool.tool_id)
            dirty_left.append(len(await dirty_hours_of(store, tool.tool_id)))
        await process.cache.recount.recount_tool(tool.tool_id, NOW)
        await check_tables(store, tool.tool_id, NOW)
        if not dying.is_dead:
            break
    assert DIRTY_HOURS in dirty_left
    assert any(0 < left < DIRTY_HOURS for left in dirty_left)
