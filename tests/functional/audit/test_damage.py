"""A sound store has no differences; each kind of damage is found, and repaired where it is derived."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from models.article import LISTED_SOURCES
from models.timeline import StoryTable
from models.tool import Tool
from services.store.containers import ARTICLES, CATALOG, FEEDS, LOCATORS, MENTIONS, RUNS, SENTIMENT_CACHE
from tests.functional.audit.world import AuditWorld, is_article
from tests.functional.figures.world import everything

Damage = Callable[[AuditWorld, list[Tool]], Awaitable[Any]]


async def test_a_store_as_the_services_leave_it_has_no_differences(world: AuditWorld) -> None:
    await world.filled()
    assert await world.differences() == []
    assert world.paused == 0


async def an_unanalysed_article(world: AuditWorld, tools: list[Tool]) -> None:
    article = await world.one(ARTICLES.name, is_article)
    fields = {name: value for name, value in article.items() if name not in ("sentiment", "score", "polarity")}
    await world.store.upsert(ARTICLES.name, {**fields, "status": "pending"})


async def an_edit_that_was_not_announced(world: AuditWorld, tools: list[Tool]) -> None:
    await world.damage(ARTICLES.name, is_article, analyzed_revision="earlier")


async def a_lost_mention(world: AuditWorld, tools: list[Tool]) -> None:
    await world.lose(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)


async def a_mention_too_many(world: AuditWorld, tools: list[Tool]) -> None:
    mention = await world.one(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)
    other = await world.one(MENTIONS.name, lambda each: each["tool_id"] == tools[1].tool_id)
    await world.store.create(MENTIONS.name, {**mention, "id": other["id"], "source_id": other["id"]})


async def a_mention_of_a_deleted_article(world: AuditWorld, tools: list[Tool]) -> None:
    mention = await world.one(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)
    await world.mentions.worker.articles.delete(mention["id"])


async def an_article_that_is_gone(world: AuditWorld, tools: list[Tool]) -> None:
    mention = await world.one(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id)
    for document in await _partition(world, mention["id"]):
        await world.store.delete(ARTICLES.name, mention["id"], document["id"])


async def a_wrong_hour_in_the_timeline(world: AuditWorld, tools: list[Tool]) -> None:
    timeline = await world.store.read(CATALOG.name, tools[0].tool_id, "TIMELINE")
    assert timeline is not None
    day = max(timeline["hours"])
    numbers = timeline["hours"][day].split(",")
    numbers[0], numbers[4] = "9", "9"
    await world.store.upsert(CATALOG.name, {**timeline, "hours": {**timeline["hours"], day: ",".join(numbers)}})


async def a_wrong_sum_of_a_day(world: AuditWorld, tools: list[Tool]) -> None:
    timeline = await world.store.read(CATALOG.name, tools[0].tool_id, "TIMELINE")
    assert timeline is not None
    day = max(timeline["hours"])
    wrong = "77," + timeline["hours"][day].partition(",")[2]
    await world.store.upsert(CATALOG.name, {**timeline, "hours": {**timeline["hours"], day: wrong}})


async def a_lost_timeline(world: AuditWorld, tools: list[Tool]) -> None:
    await world.store.delete(CATALOG.name, tools[0].tool_id, "TIMELINE")


async def a_wrong_minute(world: AuditWorld, tools: list[Tool]) -> None:
    hour = await world.one(CATALOG.name, lambda each: each["id"].startswith("HOUR:"))
    await world.store.upsert(CATALOG.name, {**hour, "minutes": {"07": [5, 0, 0, 0]}})


async def a_lost_hour(world: AuditWorld, tools: list[Tool]) -> None:
    await world.lose(CATALOG.name, lambda each: each["id"].startswith("HOUR:"))


async def unscored_mentions_that_are_not_counted(world: AuditWorld, tools: list[Tool]) -> None:
    unscored = {"sentiment": None, "score": None, "polarity": None, "unscored_reason": "LANGUAGE"}
    await world.damage(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id, **unscored)


async def another_analyzer_in_the_timeline(world: AuditWorld, tools: list[Tool]) -> None:
    timeline = await world.store.read(CATALOG.name, tools[0].tool_id, "TIMELINE")
    assert timeline is not None
    (days,) = timeline["analyzers"].values()
    await world.store.upsert(CATALOG.name, {**timeline, "analyzers": {"words/0": days}})


async def another_analyzer_in_an_hour(world: AuditWorld, tools: list[Tool]) -> None:
    hour = await world.one(CATALOG.name, lambda each: each["id"].startswith("HOUR:"))
    (minutes,) = hour["analyzers"].values()
    await world.store.upsert(CATALOG.name, {**hour, "analyzers": {"words/0": minutes}})


async def another_analyzer_in_the_windows(world: AuditWorld, tools: list[Tool]) -> None:
    windows = await world.store.read(CATALOG.name, tools[0].tool_id, "WINDOWS")
    assert windows is not None
    (judged,) = windows["analyzers"].values()
    await world.store.upsert(CATALOG.name, {**windows, "analyzers": {"words/0": judged}})


async def another_analyzer_in_an_entry(world: AuditWorld, tools: list[Tool]) -> None:
    entry = f"{tools[0].tool_id}:HOUR_24"
    await world.damage(SENTIMENT_CACHE.name, lambda each: each["id"] == entry, analyzers=["words/0"])


async def wrong_windows(world: AuditWorld, tools: list[Tool]) -> None:
    windows = await world.store.read(CATALOG.name, tools[0].tool_id, "WINDOWS")
    assert windows is not None
    await world.store.upsert(CATALOG.name, {**windows, "hours": {**windows["hours"], "DAY_7": [40, 0, 0, 0]}})


async def a_story_that_is_not_counted(world: AuditWorld, tools: list[Tool]) -> None:
    event = {"event_id": "story:20260221:00000000000000000000000000000001"}
    await world.damage(MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id, **event)


async def a_wrong_publisher_in_an_hour(world: AuditWorld, tools: list[Tool]) -> None:
    hour = await world.one(CATALOG.name, lambda each: each["id"].startswith("HOUR:"))
    await world.store.upsert(CATALOG.name, {**hour, "rows": {"reuters.com": next(iter(hour["rows"].values()))}})


async def wrong_sums_over_stories(world: AuditWorld, tools: list[Tool]) -> None:
    windows = await world.store.read(CATALOG.name, tools[0].tool_id, "WINDOWS")
    assert windows is not None
    wrong = {**windows["breadth"], "sums": ["9,0,9,0,9,0,0,0"] * 3}
    await world.store.upsert(CATALOG.name, {**windows, "breadth": wrong})


async def a_story_that_is_nowhere(world: AuditWorld, tools: list[Tool]) -> None:
    hour = await world.one(CATALOG.name, lambda each: each["id"].startswith("HOUR:"))
    table = StoryTable(
        tool_id=tools[0].tool_id,
        bucket=1,
        stories={"5f0c9d3e2b1a4801": {hour["hour"]: (1, 5000)}},
        created_at=tools[0].created_at,
        updated_at=tools[0].created_at,
    )
    await world.store.upsert(CATALOG.name, table.to_document())


async def a_wrong_number_of_stories_in_an_entry(world: AuditWorld, tools: list[Tool]) -> None:
    entry = f"{tools[0].tool_id}:HOUR_24"
    await world.damage(SENTIMENT_CACHE.name, lambda each: each["id"] == entry, stories=77)


async def a_wrong_entry(world: AuditWorld, tools: list[Tool]) -> None:
    wrong = {"total_mentions": 90, "positive_count": 90, "negative_count": 0, "neutral_count": 0}
    shares = {"positive_percentage": 100.0, "negative_percentage": 0.0, "neutral_percentage": 0.0}
    entry = f"{tools[0].tool_id}:HOUR_24"
    await world.damage(SENTIMENT_CACHE.name, lambda each: each["id"] == entry, **wrong, **shares)


async def a_wrong_total(world: AuditWorld, tools: list[Tool]) -> None:
    await world.damage(FEEDS.name, lambda each: each["id"] == "feed", total_articles_fetched=50)


async def wrong_figures_of_a_run(world: AuditWorld, tools: list[Tool]) -> None:
    run = await world.one(RUNS.name, lambda each: (each.get("metrics") or {}).get("articles_stored"))
    metrics = {**run["metrics"], "articles_stored": 1}
    await world.store.upsert(RUNS.name, {**run, "metrics": metrics})


async def wrong_figures_of_an_attempt(world: AuditWorld, tools: list[Tool]) -> None:
    run = await world.one(RUNS.name, lambda each: each.get("attempts"))
    await world.store.upsert(
        RUNS.name, {**run, "attempts": [{**each, "articles_stored": 1} for each in run["attempts"]]}
    )


async def _partition(world: AuditWorld, source_id: str) -> list[dict[str, Any]]:
    from services.ports import Query

    return (await world.store.query(ARTICLES.name, Query(partition=source_id))).items


async def a_verdict_that_was_not_applied(world: AuditWorld, tools: list[Tool]) -> None:
    await _corrected(world, tools[0], "negative")
    own = {"sentiment": "positive", "score": 0.9, "polarity": 0.5}
    missing = dict.fromkeys(("verdict", "corrected", "analyzer_judgement"))
    await world.damage(MENTIONS.name, lambda each: each.get("verdict") is not None, **own, **missing)


async def a_removed_mention_that_counts(world: AuditWorld, tools: list[Tool]) -> None:
    article = await _corrected(world, tools[0], "not_this_tool")
    mention = await world.one(
        MENTIONS.name, lambda each: each["tool_id"] == tools[0].tool_id and not each.get("removed_at")
    )
    await world.store.upsert(MENTIONS.name, {**mention, "id": article, "source_id": article})
    await world.damage(ARTICLES.name, lambda each: each["source_id"] == article, detected_tool_ids=[tools[0].tool_id])


async def a_verdict_that_was_undone_and_still_applies(world: AuditWorld, tools: list[Tool]) -> None:
    await _corrected(world, tools[0], "negative")
    undone = {"undone_at": "2026-02-21T20:00:00Z", "undone_by": "Ada"}
    await world.damage(CATALOG.name, lambda each: each["id"].startswith("CORRECTION:"), **undone)


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


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (an_unanalysed_article, "analysis_not_due"),
        (an_edit_that_was_not_announced, "analysis_not_due"),
        (a_lost_mention, "mention_missing"),
        (a_mention_too_many, "mention_not_detected"),
        (a_mention_of_a_deleted_article, "mention_of_deleted_article"),
        (a_verdict_that_was_not_applied, "correction_not_applied"),
        (a_removed_mention_that_counts, "correction_not_applied"),
        (a_verdict_that_was_undone_and_still_applies, "correction_not_applied"),
        (a_wrong_hour_in_the_timeline, "hour_differs"),
        (a_wrong_sum_of_a_day, "hour_differs"),
        (a_lost_timeline, "hour_differs"),
        (a_wrong_minute, "hour_differs"),
        (a_lost_hour, "hour_differs"),
        (another_analyzer_in_the_timeline, "hour_differs"),
        (another_analyzer_in_an_hour, "hour_differs"),
        (another_analyzer_in_the_windows, "windows_differ"),
        (another_analyzer_in_an_entry, "entry_differs"),
        (wrong_windows, "windows_differ"),
        (a_story_that_is_not_counted, "hour_differs"),
        (a_wrong_publisher_in_an_hour, "hour_differs"),
        (wrong_sums_over_stories, "windows_differ"),
        (a_story_that_is_nowhere, "windows_differ"),
        (a_wrong_number_of_stories_in_an_entry, "entry_differs"),
        (a_wrong_entry, "entry_differs"),
        (a_wrong_total, "feed_total_differs"),
        (wrong_figures_of_a_run, "run_figures_differ"),
        (wrong_figures_of_an_attempt, "run_figures_differ"),
    ],
)
async def test_damage_of_what_is_derived_is_found_and_repaired(world: AuditWorld, damage: Damage, kind: str) -> None:
    tools = await world.filled()
    await damage(world, tools)
    assert kind in await world.kinds()
    await world.differences(repair=True)
    await world.work()
    assert await world.differences() == []
    for tool in tools:
        assert await world.served(tool) == await world.counting(tool)


async def test_unscored_mentions_that_are_not_counted_are_found_and_counted(world: AuditWorld) -> None:
    tools = await world.filled()
    await unscored_mentions_that_are_not_counted(world, tools)
    assert await world.kinds() == ["hour_differs"]
    await world.differences(repair=True)
    await world.work()
    assert await world.differences() == []
    entry = (await world.figures.reader.read(tools[0].tool_id, "HOUR_24")).aggregate.entry
    assert entry.unscored_mentions == 1
    assert entry.total_mentions == await world.counting(tools[0]) - 1


async def test_counts_of_an_earlier_version_are_no_difference_until_the_next_refresh_has_replaced_them(
    world: AuditWorld,
) -> None:
    tools = await world.filled()
    for container in (CATALOG.name, SENTIMENT_CACHE.name):
        for document in await everything(world.store, container):
            if "analyzers" in document:
                older = {name: value for name, value in document.items() if name != "analyzers"}
                await world.store.upsert(container, older)
    assert await world.differences() == []
    await world.work()
    assert await world.differences() == []
    entry = (await world.figures.reader.read(tools[0].tool_id, "HOUR_24")).aggregate.entry
    assert entry.analyzers == (world.figures.analyzer(),)


async def test_the_counts_of_a_tool_are_rebuilt_once_for_all_of_its_hours(world: AuditWorld) -> None:
    tools = await world.filled()
    await a_lost_hour(world, tools)
    timeline = await world.one(CATALOG.name, lambda each: each["id"] == "TIMELINE")
    await world.store.upsert(CATALOG.name, {**timeline, "hours": {}})
    hours = [each for each in await world.differences(repair=True) if each.subject == timeline["pk"]]
    assert len(hours) > 1
    after = await world.store.read(CATALOG.name, timeline["pk"], "TIMELINE")
    assert after is not None
    assert after["ingestion_count"] == timeline["ingestion_count"] + 1


async def a_lost_observation(world: AuditWorld, tools: list[Tool]) -> None:
    await world.lose(ARTICLES.name, lambda each: each["id"].startswith("obs:"))


async def a_changed_observation(world: AuditWorld, tools: list[Tool]) -> None:
    await world.damage(ARTICLES.name, lambda each: each["id"].startswith("obs:"), revision="other")


async def a_lost_article(world: AuditWorld, tools: list[Tool]) -> None:
    await world.lose(ARTICLES.name, is_article)


async def an_unlisted_source(world: AuditWorld, tools: list[Tool]) -> None:
    first = await world.one(ARTICLES.name, lambda each: each["id"].startswith("obs:"))
    day = first["id"].rpartition(":")[2]
    await world.store.create(ARTICLES.name, {**first, "id": f"obs:feed-9:{day}", "source": "feed-9"})


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
        (a_lost_observation, "observation_missing"),
        (a_changed_observation, "attribution_differs"),
        (a_lost_article, "article_missing"),
        (an_unlisted_source, "source_not_listed"),
        (a_lost_canonical_reading, "attribution_differs"),
        (an_unreadable_article, "unreadable"),
        (an_article_that_is_gone, "run_figures_differ"),
    ],
)
async def test_damage_of_articles_and_observations_is_found_and_never_made_up(
    world: AuditWorld, damage: Damage, kind: str
) -> None:
    tools = await world.filled()
    await damage(world, tools)
    articles = (await world.one(ARTICLES.name, is_article))["_etag"]
    assert kind in await world.kinds()
    await world.differences(repair=True)
    if kind != "run_figures_differ":
        assert kind in await world.kinds()
        assert (await world.one(ARTICLES.name, is_article))["_etag"] == articles


async def test_the_mention_of_an_article_that_is_gone_is_removed(world: AuditWorld) -> None:
    tools = await world.filled()
    before = await world.served(tools[0])
    await an_article_that_is_gone(world, tools)
    assert "mention_without_article" in await world.kinds()
    await world.differences(repair=True)
    await world.work()
    assert await world.kinds() == []
    assert await world.served(tools[0]) == before - 1


async def test_an_alias_without_an_article_is_listed_and_harmless(world: AuditWorld) -> None:
    await world.filled()
    alias = await world.one(LOCATORS.name, lambda each: each["id"].startswith("loc:"))
    await world.store.upsert(LOCATORS.name, {**alias, "source_id": f"dedup:{'f' * 32}"})
    assert await world.kinds() == []
    world.clock.forward(hours=1)
    assert await world.kinds(repair=True) == ["dangling_alias"]
    assert await world.kinds() == ["dangling_alias"]


async def test_an_article_with_more_sources_than_it_lists_has_no_differences(world: AuditWorld) -> None:
    await world.filled(feeds=LISTED_SOURCES + 3, entries=2)
    for number in (3, LISTED_SOURCES + 1):
        *own, shared = world.items(number, 2)
        world.publish(number, [*own, replace(shared, text="Hexwharf is a good story, and was edited")])
        await world.ingestion.poll(f"feed-{number}")
    await world.work()
    assert await world.differences() == []
    article = await world.one(ARTICLES.name, lambda each: each.get("has_further_sources"))
    await world.lose(ARTICLES.name, lambda each: each["id"].startswith(f"obs:{article['sources'][5]}:"))
    assert "observation_missing" in await world.kinds()
