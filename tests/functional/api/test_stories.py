"""Stories over the HTTP functions: lists by filter, one story, and where the articles of a story are that is gone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from services.container import Container
from tests.builders import Watch
from tests.functional.api.conftest import call
from tests.functional.stories.world import LEAD, OTHER, OUTAGE, OUTAGE_TOO, RELEASE, World

ADA = {"author": "Ada", "reason": "another event"}


@pytest.fixture
async def world(app: Container, watch: Watch) -> World:
    return World(app.store, watch)


async def grouped(world: World) -> list[str]:
    """Three articles about an outage, of which the last repeats the first, and two about other events."""
    found = [
        await world.analysed(90, OUTAGE, LEAD + " It was a bad day."),
        await world.analysed(80, OUTAGE_TOO, "It was good."),
        await world.analysed(70, RELEASE),
        await world.analysed(50, OTHER),
        await world.analysed(40, OUTAGE, LEAD + " It was a bad day."),
    ]
    await world.group()
    await world.is_right()
    return found


async def event_of(world: World, source_id: str) -> str:
    event = (await world.read(source_id)).event_id
    assert event is not None
    return event


async def listed(query: str = "", name: str = "list_stories", **route: str) -> list[dict[str, Any]]:
    answer = await call(name, query, **route)
    assert answer.status == 200, answer.body
    items: list[dict[str, Any]] = answer.json["items"]
    return items


async def test_a_story_has_its_articles_with_their_reasons_publishers_and_what_it_says_of_tools(world: World) -> None:
    tool = await world.tool("Hexwharf")
    articles = await grouped(world)
    event = await event_of(world, articles[0])
    answer = await call("get_story", event_id=event)
    story = answer.json
    assert answer.status == 200
    assert (story["event_id"], story["headline"], story["state"]) == (event, OUTAGE, "open")
    assert (story["article_count"], story["near_duplicate_count"], story["topics"]) == (3, 1, ["OUTAGE"])
    first, second, copy = story["members"]
    assert [each["source_id"] for each in story["members"]] == [articles[0], articles[1], articles[4]]
    assert (first["reason"], first["near_duplicate_of"]) == (None, None)
    assert (second["reason"]["rule"], second["reason"]["with_article"]) == ("same_event", articles[0])
    assert (copy["near_duplicate_of"], copy["near_duplicate_reason"]["with_article"]) == (articles[0], articles[0])
    assert first["tool_ids"] == [tool.tool_id]
    (said,) = story["tools"]
    assert (said["tool"], said["tool_id"], said["articles"]) == ("Hexwharf", tool.tool_id, 3)
    counts = {name: said[name] for name in ("total_mentions", "negative_count", "unscored_mentions")}
    assert counts["total_mentions"] + counts["unscored_mentions"] == 3
    assert sum(each["articles"] for each in story["publishers"]) == 3
    assert (await call("get_article", article_id=articles[1])).json["event_id"] == event


async def test_a_story_of_one_article_is_served_by_its_id_and_in_no_list(world: World) -> None:
    articles = await grouped(world)
    story = (await call("get_story", event_id=await event_of(world, articles[2]))).json
    assert (story["article_count"], [each["source_id"] for each in story["members"]]) == (1, [articles[2]])
    assert (story["headline"], story["tools"], story["state"]) == (RELEASE, [], "open")
    assert [each["article_count"] for each in await listed()] == [3]


async def test_stories_are_listed_by_each_filter(world: World) -> None:
    tool = await world.tool("Hexwharf")
    await world.tool("Pebblegrid")
    articles = await grouped(world)
    event = await event_of(world, articles[0])
    last = (world.watch() - timedelta(minutes=40)).strftime("%Y-%m-%dT%H:%M:%SZ")
    later = (world.watch() - timedelta(minutes=39)).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = [
        *("", "tool=hexwharf", f"tool={tool.tool_id}", "source=tiingo", "language=en", "state=open", "min_articles=3"),
        *(f"since={last}", f"until={later}", "text=OUTAGE+deployments", "text=tuesday"),
    ]
    for query in found:
        assert [each["event_id"] for each in await listed(query)] == [event], query
    missed = [
        *("tool=pebblegrid", "source=reuters", "language=de", "state=closed", "min_articles=4", "publisher=nobody"),
        *(f"since={later}", f"until={last}", "text=compiler"),
    ]
    for query in missed:
        assert await listed(query) == [], query
    assert [each["event_id"] for each in await listed(name="list_tool_stories", tool="Hexwharf")] == [event]
    assert await listed(name="list_tool_stories", tool="Pebblegrid") == []


async def test_a_story_that_is_gone_is_not_found_and_says_where_its_articles_are(world: World) -> None:
    await world.tool("Hexwharf")
    articles = await grouped(world)
    event = await event_of(world, articles[3])
    await world.edit(articles[3], OUTAGE)
    await world.delivered([articles[3]])
    await world.group()
    now = await event_of(world, articles[3])
    assert now == await event_of(world, articles[0]) != event
    answer = await call("get_story", event_id=event)
    assert (answer.status, now in answer.json["detail"]) == (404, True)
    assert [each["event_id"] for each in await listed()] == [now]
    for unknown in (f"story:20200101:{'0' * 32}", "story:x", "nonsense", "dedup:" + "0" * 32):
        assert (await call("get_story", event_id=unknown)).status == 404
    assert (await call("list_tool_stories", tool="nobody")).status == 404
