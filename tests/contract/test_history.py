"""The daily close and the history behave alike on both stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from models.history import HistoryDay, HistoryProgress
from services.figures.coverage import Coverage
from services.figures.daily_close import DailyCloses
from services.figures.history import History
from services.figures.recount import Recount
from services.figures.span import day_start, span_of
from services.ports import Query, Store, query_all
from services.store.containers import CATALOG, MENTIONS
from tests.contract.conftest import SettableClock
from tests.functional.figures.world import a_mention, a_tool

DAY = timedelta(days=1)


async def test_days_are_closed_once_by_several_workers_then_frozen_and_served(
    store: Store, another: Callable[[], Store], clock: SettableClock
) -> None:
    start = clock.now = day_start(clock.now.date()) + timedelta(hours=7)
    tools = [a_tool(number, start - DAY) for number in range(5)]
    for tool in tools:
        await store.create(CATALOG.name, tool.to_document())
        for number in range(3):
            at = start - DAY - timedelta(hours=3 * number)
            fields: dict[str, Any] = {"event_id": "one", "created_at": start, "updated_at": start}
            mention = a_mention(tool.tool_id, f"article-{number}", at, **fields)
            await store.create(MENTIONS.name, mention.to_document())
    workers = [DailyCloses(each, Coverage(each), clock, tools_at_once=2) for each in (store, another(), another())]
    for _ in range(3):
        await asyncio.gather(*(worker.work() for worker in workers))
    yesterday, before = (start - DAY).date().isoformat(), (start - 2 * DAY).date().isoformat()

    async def days(tool_id: str) -> list[HistoryDay | None]:
        found = await store.read_many(CATALOG.name, [(tool_id, HistoryDay.id_of(day)) for day in (before, yesterday)])
        return [None if each is None else HistoryDay.from_document(each) for each in found]

    closed = {tool.tool_id: await days(tool.tool_id) for tool in tools}
    for of_tool in closed.values():
        assert [day and day.closed and day.closed.figures["total_mentions"] for day in of_tool] == [None, 3]
    late = a_mention(tools[0].tool_id, "late", start - DAY, "negative", created_at=start, updated_at=start)
    await store.create(MENTIONS.name, late.to_document())
    history = History(store, Recount(store), Coverage(store), clock)
    first = await history.canonical(tools[0].tool_id, span_of({"from": yesterday}, None, "day", clock.now))
    assert [(point.figures["total_mentions"], point.state) for point in first.points] == [(4, "live"), (0, "live")]
    clock.now += 32 * DAY
    while (await workers[0].work()).tools:
        pass
    for tool in tools:
        (_, after), (_, was) = await days(tool.tool_id), closed[tool.tool_id]
        assert after is not None
        assert was is not None
        assert after.closed == was.closed
    clock.now += 20 * DAY
    for mention_id in await _mentions(store, tools[0].tool_id):
        await store.delete(MENTIONS.name, tools[0].tool_id, mention_id)
    span = span_of({"from": before, "to": (start + DAY).date().isoformat()}, None, "day", clock.now)
    old = await history.canonical(tools[0].tool_id, span)
    assert [(point.figures["total_mentions"], point.state) for point in old.points] == [
        (0, "frozen"),
        (4, "frozen"),
        (0, "frozen"),
    ]
    progress = await store.read(CATALOG.name, HistoryProgress.PARTITION, HistoryProgress.ID)
    assert progress is not None
    assert progress["frozen_until"] == start.date().isoformat()


async def _mentions(store: Store, tool_id: str) -> list[str]:
    return [each["id"] for each in await query_all(store, MENTIONS.name, Query(partition=tool_id))]
