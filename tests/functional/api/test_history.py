"""The history of tools over HTTP, while days go by."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from services import container
from services.container import Container
from services.mentions.due import mark_dirty
from services.store.containers import CATALOG, MENTIONS
from tests.builders import MemoryQueues, Watch
from tests.functional.api.conftest import call
from tests.functional.figures.world import a_mention, a_tool

START = datetime(2026, 2, 21, 12, 0, tzinfo=UTC)
TOOL, OTHER = (a_tool(number, START - timedelta(days=3), primary_name=f"Tool {number}") for number in range(2))
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> Watch:
    return Watch(START)


@pytest.fixture
async def app(environment: pytest.MonkeyPatch, clock: Watch) -> AsyncIterator[Container]:
    built = await container.build(os.environ, clock, queues=MemoryQueues())
    container.adopt(built)
    for tool in (TOOL, OTHER):
        await built.store.create(CATALOG.name, tool.to_document())
        await built.tools.claim(tool.primary_name, tool)
    yield built
    await container.close()
    await built.close()


async def _say(
    app: Container, tool: Any, source_id: str, at: datetime, sentiment: Any = "positive", **more: Any
) -> None:
    fields = {"created_at": app.clock(), "updated_at": app.clock(), **more}
    mention = a_mention(tool.tool_id, source_id, at, sentiment, **fields)
    await app.store.upsert(MENTIONS.name, mention.to_document())
    await mark_dirty(app.store, {tool.tool_id: [at]}, app.clock())


async def _history(query: str = "", tool: Any = TOOL) -> Any:
    answer = await call("get_tool_history", query, tool=tool.tool_id)
    assert answer.status == 200, answer.body
    return answer.json


async def test_a_close_can_be_cited_and_the_present_figures_stand_beside_it(app: Container, clock: Watch) -> None:
    await _say(app, TOOL, "one", START, "positive")
    clock.advance(days=1)
    await app.figures.daily_closes.work()

    async def day() -> Any:
        return (await call("get_tool_history_day", tool=TOOL.tool_id, day="2026-02-21")).json

    cited = await day()
    assert (cited["closed"]["figures"]["total_mentions"], cited["differing"]) == (1, [])
    assert cited["closed"]["id"] == f"close:{TOOL.tool_id}:2026-02-21"
    assert cited["closed"]["closed_at"] == "2026-02-22T12:00:00Z"
    said = {name: value for name, value in cited["closed"].items() if name != "sha256"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == cited["closed"]["sha256"]
    await _say(app, TOOL, "late", START, "negative")
    later = await day()
    assert later["closed"] == cited["closed"]
    assert (later["present"]["total_mentions"], later["present"]["state"]) == (2, "live")
    assert {"total_mentions", "negative_count", "average_sentiment", "stories"} <= set(later["differing"])


async def test_a_day_without_mentions_or_before_its_close_has_nothing_to_cite(app: Container, clock: Watch) -> None:
    for day in ("2026-02-21", "2026-02-20"):
        found = (await call("get_tool_history_day", tool=TOOL.primary_name, day=day)).json
        assert (found["closed"], found["differing"], found["present"]["total_mentions"]) == (None, [], 0)
    long_ago = (await call("get_tool_history_day", tool=TOOL.primary_name, day="2020-02-21")).json
    assert (long_ago["present"]["state"], long_ago["present"]["total_mentions"]) == ("unknown", None)
    first = await call("get_tool_history_day", tool=TOOL.primary_name, day="0001-01-01")
    assert (first.status, first.json["present"]["state"]) == (200, "unknown")
    days = await call("get_tool_history", "from=0001-01-01&to=0001-01-08", tool=TOOL.primary_name)
    assert (days.status, len(days.json["items"]), days.json["change"]) == (200, 7, None)
    for day in ("2026-02-22", "yesterday", "20260220"):
        answer = await call("get_tool_history_day", tool=TOOL.tool_id, day=day)
        assert (answer.status, answer.json["field"]) == (400, "day")
    assert (await call("get_tool_history_day", tool="nobody", day="2026-02-21")).status == 404


async def test_a_merged_tool_is_cited_by_its_id(app: Container, clock: Watch) -> None:
    await _say(app, TOOL, "one", START)
    clock.advance(days=1)
    await app.figures.daily_closes.work()
    tool = await app.tools.get(TOOL.tool_id)
    merged = tool.changed(clock.now, status="MERGED", merged_into=OTHER.tool_id)
    await app.store.replace(CATALOG.name, merged.to_document(), tool.stored_etag or "")
    found = (await call("get_tool_history_day", tool=TOOL.tool_id, day="2026-02-21")).json
    assert (found["tool_id"], found["merged_into"]) == (TOOL.tool_id, OTHER.tool_id)
    assert found["closed"]["figures"]["total_mentions"] == 1
    assert (await _history())["total"]["total_mentions"] == 0, "of the tool that it was merged into"


async def test_several_tools_are_answered_at_once_in_the_order_of_the_request(app: Container) -> None:
    await _say(app, TOOL, "one", START, "positive")
    await _say(app, OTHER, "one", START, "negative")
    await _say(app, OTHER, "two", START - DAY, "negative")
    body = (await call("list_histories", f"tools={OTHER.tool_id},tool%200,TOOL%201&days=2")).json
    assert [(each["tool"], each["tool_id"]) for each in body["items"]] == [
        ("Tool 1", OTHER.tool_id),
        ("Tool 0", TOOL.tool_id),
    ]
    assert [[point["total_mentions"] for point in each["points"]] for each in body["items"]] == [[1, 1], [0, 1]]
    assert (body["from"], body["to"], body["step"]) == ("2026-02-20T00:00:00Z", "2026-02-22T00:00:00Z", "day")
    alone = await _history("days=2", OTHER)
    assert {name: body["items"][0][name] for name in ("points", "total", "change")} == {
        "points": alone["items"],
        "total": alone["total"],
        "change": alone["change"],
    }


async def test_the_change_compares_the_same_time_before(app: Container, clock: Watch) -> None:
    for number in range(6):
        await _say(app, TOOL, f"before-{number}", START - 7 * DAY - timedelta(hours=number), "negative")
    await _say(app, TOOL, "before, later in the day", START - 7 * DAY + timedelta(hours=1), "negative")
    for number in range(9):
        await _say(app, TOOL, f"now-{number}", START - timedelta(hours=number), "positive")
    change = (await _history())["change"]
    assert (change["from"], change["to"]) == ("2026-02-15T00:00:00Z", "2026-02-21T12:01:00Z")
    assert (change["previous_from"], change["previous_to"]) == ("2026-02-08T00:00:00Z", "2026-02-14T12:01:00Z")
    assert change["total_mentions"] == {"present": 9, "previous": 6, "absolute": 3, "relative": 0.5}
    assert change["positive_count"] == {"present": 9, "previous": 0, "absolute": 9, "relative": None}
    assert change["average_sentiment"] == {"present": 0.75, "previous": -0.5, "absolute": 1.25, "relative": None}
