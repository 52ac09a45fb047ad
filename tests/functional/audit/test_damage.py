"""A sound store has no differences; each kind of damage is found."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from models.tool import Tool
from services.store.containers import ARTICLES, CATALOG, MENTIONS, SENTIMENT_CACHE
from tests.builders import existing
from tests.functional.audit.world import AuditWorld, is_article

Damage = Callable[[AuditWorld, list[Tool]], Awaitable[Any]]


async def test_a_store_as_the_services_leave_it_has_no_differences(world: AuditWorld) -> None:
    await world.filled()
    assert await world.differences() == []
    assert world.paused == 0


async def an_unanalysed_article(world: AuditWorld, tools: list[Tool]) -> None:
    article = await world.one(ARTICLES.name, is_article)
    fields = {name: value for name, value in article.items() if name not in ("sentiment", "score", "polarity")}
    await world.store.upsert(ARTICLES.name, {**fields, "status": "pending"})


async def a_lost_mention(world: AuditWorld, tools: list[Tool]) -> None:
    await world.lose(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)


async def a_mention_of_a_deleted_article(world: AuditWorld, tools: list[Tool]) -> None:
    mention = await world.one(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)
    await world.mentions.worker.articles.delete(mention["id"])


async def a_wrong_hour_in_the_timeline(world: AuditWorld, tools: list[Tool]) -> None:
    timeline = await existing(world.store, CATALOG.name, tools[0].tool_id, "TIMELINE")
    day = max(timeline["hours"])
    hours = timeline["hours"][day].split(";")
    hours[0] = "9,0,0,0,0"
    await world.store.upsert(CATALOG.name, {**timeline, "hours": {**timeline["hours"], day: ";".join(hours)}})


async def a_wrong_minute(world: AuditWorld, tools: list[Tool]) -> None:
    day = await world.one(CATALOG.name, lambda each: each["id"].startswith("COUNTS:"))
    hour = min(json.loads(day["hours"]))
    rows = {"embedded/1": {"a.example": {"feed": [[7, "", 5, 0, 0, 0, 0, 0]]}}}
    await world.store.upsert(CATALOG.name, {**day, "hours": json.dumps({hour: rows})})


async def a_wrong_number_of_stories_in_an_entry(world: AuditWorld, tools: list[Tool]) -> None:
    entry = f"{tools[0].tool_id}:HOUR_24"
    await world.damage(SENTIMENT_CACHE.name, lambda each: each["id"] == entry, stories=77)


async def a_verdict_that_was_not_applied(world: AuditWorld, tools: list[Tool]) -> None:
    await _corrected(world, tools[0], "negative")
    own = {"sentiment": "positive", "score": 0.9, "polarity": 0.5}
    missing = dict.fromkeys(("verdict", "corrected", "analyzer_judgement"))
    await world.damage(MENTIONS.name, lambda each: each.get("verdict") is not None, **own, **missing)


async def _corrected(world: AuditWorld, tool: Tool, verdict: str) -> str:
    """Corrects one mention of the tool, and returns its article."""
    mention = await world.one(MENTIONS.name, lambda each: each["tool_id"] == tool.tool_id)
    await world.mentions.worker.correct(tool, mention["id"], verdict)
    await world.work()
    return str(mention["id"])


@pytest.mark.parametrize("verdict", ["right", "not_this_tool", "negative", "neutral"])
async def test_a_corrected_mention_is_no_difference(world: AuditWorld, verdict: str) -> None:
    tools = await world.filled()
    article = await _corrected(world, tools[0], verdict)
    assert await world.differences() == []
    assert await world.served(tools[0]) == await world.counting(tools[0])
    await world.mentions.worker.undo(tools[0], article)
    await world.work()
    assert await world.differences() == await world.differences(tool_id=tools[0].tool_id) == []


async def a_lost_observation(world: AuditWorld, tools: list[Tool]) -> None:
    await world.lose(ARTICLES.name, lambda each: each["id"].startswith("obs:"))


async def a_changed_observation(world: AuditWorld, tools: list[Tool]) -> None:
    await world.damage(ARTICLES.name, lambda each: each["id"].startswith("obs:"), revision="other")


async def a_lost_article(world: AuditWorld, tools: list[Tool]) -> None:
    await world.lose(ARTICLES.name, is_article)


async def a_lost_canonical_reading(world: AuditWorld, tools: list[Tool]) -> None:
    article = await world.one(ARTICLES.name, is_article)
    reading = {**article["canonical"], "revision": "other"}
    changed = {"canonical": reading, "analyzed_revision": "other"}
    await world.store.upsert(ARTICLES.name, {**article, **changed})


async def an_unreadable_article(world: AuditWorld, tools: list[Tool]) -> None:
    await world.damage(ARTICLES.name, is_article, status="nonsense")


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (an_unanalysed_article, "analysis_not_due"),
        (a_lost_mention, "mention_missing"),
        (a_mention_of_a_deleted_article, "mention_unfounded"),
        (a_verdict_that_was_not_applied, "correction_not_applied"),
        (a_wrong_hour_in_the_timeline, "hour_differs"),
        (a_wrong_minute, "hour_differs"),
        (a_wrong_number_of_stories_in_an_entry, "entry_differs"),
        (a_lost_observation, "observation_missing"),
        (a_changed_observation, "attribution_differs"),
        (a_lost_article, "article_missing"),
        (a_lost_canonical_reading, "attribution_differs"),
        (an_unreadable_article, "unreadable"),
    ],
)
async def test_damage_is_found(world: AuditWorld, damage: Damage, kind: str) -> None:
    tools = await world.filled()
    await damage(world, tools)
    assert kind in await world.kinds()
