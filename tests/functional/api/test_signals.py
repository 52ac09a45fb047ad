"""Signals over the HTTP functions, from the messages of the queue function `generate_ideas`."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import azure.functions as func
import pytest

from models.values import format_time
from services.container import Container
from tests.builders import Watch
from tests.functional.api.conftest import FUNCTIONS, call
from tests.functional.signals.world import SAID, World
from tests.functional.stories.world import OUTAGE


class Call:
    """The context of a function call."""

    invocation_id = "call-1"


@pytest.fixture
async def world(app: Container, watch: Watch) -> World:
    return World(app.store, watch)


async def deliver(world: World) -> None:
    """Calls the function with each message, as the Functions host does."""
    for event_ids in world.messages():
        body = json.dumps({"event": "processing.generate_ideas", "event_ids": event_ids, "trigger_reason": "x"})
        await FUNCTIONS["generate_ideas"](func.QueueMessage(id="1", body=body.encode()), Call())


async def story_of(world: World, *outlets: str) -> list[str]:
    found = [await world.told(90 - n, outlet, "bad") for n, outlet in enumerate(outlets)]
    await world.group()
    await deliver(world)
    return found


async def listed(query: str = "", name: str = "list_signals", **route: str) -> list[dict[str, Any]]:
    answer = await call(name, query, **route)
    assert answer.status == 200, answer.body
    items: list[dict[str, Any]] = answer.json["items"]
    return items


async def test_a_signal_is_served_with_its_reason_evidence_story_and_tool(world: World) -> None:
    tool = await world.tool("Hexwharf")
    await world.tool("Pebblegrid")
    articles = await story_of(world, "alpha", "beta", "gamma")
    (signal,) = await listed(name="list_tool_signals", tool="hexwharf")
    event = await world.event_of(articles[0])
    assert (signal["kind"], signal["tool"], signal["tool_id"]) == ("NEW", "Hexwharf", tool.tool_id)
    assert (signal["event_id"], signal["headline"]) == (event, f"{OUTAGE}, bad")
    assert signal["reason"].startswith("A new story: 3 articles by 3 publishers since ")
    assert signal["before"] == {"articles": 0, "publishers": 0, "average_sentiment": None}
    assert signal["after"] == {"articles": 3, "publishers": 3, "average_sentiment": -SAID}
    assert (set(signal["articles"]), signal["withdrawn_at"]) == (set(articles), None)
    assert await listed(name="list_tool_signals", tool="Pebblegrid") == []
    assert await listed() == [signal]
    assert (await call("get_story", event_id=signal["event_id"])).status == 200


async def test_signals_are_listed_by_kind_time_and_state(world: World) -> None:
    await world.tool("Hexwharf")
    articles = await story_of(world, "alpha", "beta")
    (signal,) = await listed()
    after = format_time(world.watch() - timedelta(minutes=88)).replace("+", "%2B")
    for query in ("kind=NEW", "state=active", "state=all", f"since={signal['timestamp']}", f"until={after}"):
        assert await listed(query) == [signal], query
    for query in ("kind=GROWING", "state=withdrawn", f"since={after}", f"until={signal['timestamp']}"):
        assert await listed(query) == [], query
    await world.worker.delete(articles[0])
    await world.group()
    await deliver(world)
    assert await listed() == []
    (withdrawn,) = await listed("state=withdrawn")
    assert (withdrawn["signal_id"], withdrawn["headline"]) == (signal["signal_id"], None)
    assert withdrawn["withdrawn_at"] is not None


async def test_the_signals_of_no_tool_are_not_found(app: Container) -> None:
    assert (await call("list_tool_signals", tool="nobody")).status == 404
