"""Corrections have the same results on both stores, also with several workers at once."""

from __future__ import annotations

import asyncio

import pytest

from models.correction import AFTER_PREFIX, PREFIX
from models.errors import ChangedMeanwhile, Unavailable
from services.ports import Store
from services.runs.driver import CORRECT
from tests.contract.conftest import SettableClock
from tests.failing_stores import hesitant, unheard
from tests.functional.mentions.world import World


@pytest.fixture
def world(store: Store, clock: SettableClock) -> World:
    return World(store, clock)


async def test_a_mention_is_corrected_listed_and_undone_in_pages(world: World) -> None:
    tool = await world.tool("Quorvia")
    articles = [await world.article(number, "Quorvia is good") for number in (1, 2, 3)]
    await world.delivered(articles)
    for article, verdict in zip(articles, ("negative", "not_this_tool", "right"), strict=True):
        await world.worker.correct(tool, article, verdict)
    tool = await world.worker.catalog.get(tool.tool_id)
    first = await world.worker.corrections.page(tool, None, 2, None)
    second = await world.worker.corrections.page(tool, None, 2, first.next)
    assert [each.correction.source_id for each in (*first.items, *second.items)] == articles
    assert second.next is None
    lines = await world.worker.corrections.labels(2, None)
    rest = await world.worker.corrections.labels(2, lines.next)
    assert [each["label"] for each in (*lines.items, *rest.items)] == ["negative", "not_this_tool", "positive"]
    assert {key: each.sentiment for key, each in (await world.mentions(tool)).items()} == {
        articles[0]: "negative",
        articles[2]: "positive",
    }
    for article in articles:
        await world.worker.undo(tool, article)
    assert {each.sentiment for each in (await world.mentions(tool)).values()} == {"positive"}
    await world.is_counted(tool)


async def test_people_who_correct_at_once_follow_one_another(world: World) -> None:
    tool = await world.tool("Quorvia")
    article = await world.article(1, "Quorvia is good")
    await world.delivered([article])

    async def person(number: int) -> None:
        worker = world.new_worker(hesitant(world.store, number))
        verdict = ("negative", "neutral", "not_this_tool")[number % 3]
        for _ in range(5):
            try:
                await worker.correct(tool, article, verdict, f"Person {number}")
            except (ChangedMeanwhile, Unavailable):
                continue
            return

    await asyncio.gather(*(person(number) for number in range(5)))
    made = await world.worker.corrections.get(tool.tool_id, article)
    assert {made.author, *(each.author for each in made.history)} == {f"Person {number}" for number in range(5)}
    after = await world.worker.catalog.get(tool.tool_id)
    assert sum(each.reviewed for each in after.reviews.values()) == 1
    mentions = await world.mentions(tool)
    assert (mentions[article].sentiment if mentions else None) == made.label
    await world.is_counted(tool)


@pytest.mark.parametrize("writes", range(8))
async def test_a_correction_whose_answer_is_lost_is_made_once(world: World, writes: int) -> None:
    """By its run, which makes nothing new if the correction was written."""
    tool = await world.tool("Quorvia")
    article = await world.article(1, "Quorvia is good")
    await world.delivered([article])
    worker = world.new_worker(unheard(world.store, writes))
    try:
        await worker.correct(tool, article, "negative")
    except Unavailable:
        runs = (await world.store.query("runs", World.everything)).items
        for run in {each["run_id"] for each in runs if each.get("workflow_name") == CORRECT}:
            await world.worker.workflows.advance(run, 2)
    made = await world.worker.corrections.get(tool.tool_id, article)
    assert made.history == ()
    assert {each.sentiment for each in (await world.mentions(tool)).values()} == {"negative"}
    after = await world.worker.catalog.get(tool.tool_id)
    assert (after.corrections, sum(each.reviewed for each in after.reviews.values())) == (1, 1)
    await world.is_counted(tool)


async def test_a_merge_carries_many_corrections_over(world: World) -> None:
    tool, target = await world.tool("Quorvia"), await world.tool("Tarnwick")
    articles = [await world.article(number, "Quorvia is good") for number in range(1, 24)]
    await world.delivered(articles)
    for article in articles:
        await world.worker.correct(tool, article, "negative")
    run = await world.run(await world.worker.changes.merge(tool.tool_id, target.tool_id))
    assert (run.status, run.metrics["corrections"]) == ("SUCCEEDED", len(articles))
    after = await world.worker.catalog.get(target.tool_id)
    assert sum(each.reviewed for each in after.reviews.values()) == len(articles)
    assert {each.sentiment for each in (await world.mentions(target)).values()} == {"negative"}
    assert len(await world.mentions(target)) == len(articles)
    assert await world.worker.corrections.of_merged(tool.tool_id) == []
    assert PREFIX < f"{PREFIX}dedup:1" < AFTER_PREFIX
    for each in (tool, target):
        await world.is_counted(each)
