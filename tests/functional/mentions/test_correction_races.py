"""Whatever another worker does between two store calls of a correction, and wherever a worker dies, mentions and
figures are what the verdicts say."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from models.errors import ToolpulseError
from models.tool import Tool
from services.ports import Query, Where
from services.store.containers import RUNS
from services.work.driver import WORKFLOWS_STAGE
from services.work.runs import LEASE
from tests.builders import overdue_keys
from tests.failing_stores import Crash, mortal
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.mentions.test_races import Newsroom, interrupted
from tests.functional.mentions.world import Worker, World

MAX_CALLS = 80
Act = Callable[[Worker, Tool, str], Awaitable[Any]]


async def newsroom(world: World, verdict: str | None = None) -> Newsroom:
    """A tool and an analysed article for each number, which may have a verdict."""
    news = Newsroom(world)
    await news.fill(analysed=False, count=MAX_CALLS)
    await world.delivered(news.articles)
    for tool, article in zip(news.tools, news.articles, strict=True):
        if verdict is not None:
            await world.worker.correct(tool, article, verdict)
    return news


async def corrected(worker: Worker, tool: Tool, article: str) -> None:
    await worker.correct(tool, article, "negative")


async def removed(worker: Worker, tool: Tool, article: str) -> None:
    await worker.correct(tool, article, "not_this_tool")


async def undone(worker: Worker, tool: Tool, article: str) -> None:
    await worker.undo(tool, article)


async def message(worker: Worker, tool: Tool, article: str) -> None:
    await worker.writer.write([article])


async def reanalysis(worker: Worker, tool: Tool, article: str) -> None:
    await worker.workflows.advance((await worker.changes.reanalyze(tool.tool_id)).run_id)


CORRECTIONS = [
    (None, corrected, "negative"),
    pytest.param(None, removed, None, marks=pytest.mark.soak),
    pytest.param("negative", undone, "positive", marks=pytest.mark.soak),
    pytest.param("not_this_tool", undone, "positive", marks=pytest.mark.soak),
    pytest.param("not_this_tool", corrected, "negative", marks=pytest.mark.soak),
]
OTHERS = [message, pytest.param(reanalysis, marks=pytest.mark.soak)]


@pytest.mark.parametrize("is_interrupted", ["analysis", "correction"])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(("before", "correct", "left"), CORRECTIONS)
async def test_an_analysis_never_overwrites_a_correction_that_is_made_meanwhile(
    world: World, before: str | None, correct: Act, left: str | None, other: Act, is_interrupted: str
) -> None:
    """Nor one that it comes in between. Where the analysis is interrupted, the analyzer is another one, so that the
    analysis has something to write."""
    news = await newsroom(world, before)
    outer, inner = (other, correct) if is_interrupted == "analysis" else (correct, other)
    if is_interrupted == "analysis":
        world.analyzer.version = "2"

    async def work(worker: Worker, number: int) -> None:
        await outer(worker, news.tools[number], news.articles[number])

    async def act(number: int) -> None:
        await inner(world.worker, news.tools[number], news.articles[number])
        if is_interrupted == "analysis":
            assert await news.sentiment(number) == left, "when the call returns"

    async for number in interrupted(world, work, act, MAX_CALLS):
        assert await news.sentiment(number) == left, number
        await world.is_counted(news.tools[number])


@pytest.mark.soak
async def test_a_correction_that_is_undone_before_it_was_applied_is_applied_by_nobody(world: World) -> None:
    """Undoing it finds nothing to write, so that no ETag of the mention changes."""
    news = await newsroom(world)
    for tool, article in zip(news.tools, news.articles, strict=True):
        with contextlib.suppress(Crash):
            await world.new_worker(mortal(world.store, 3)).correct(tool, article, "negative")
        assert (await world.worker.corrections.get(tool.tool_id, article)).is_active

    async def analyse(worker: Worker, number: int) -> None:
        await worker.writer.write([news.articles[number]])

    async def undo(number: int) -> None:
        await world.worker.undo(news.tools[number], news.articles[number])

    async for number in interrupted(world, analyse, undo, MAX_CALLS):
        assert await news.sentiment(number) == "positive", number
        await world.is_counted(news.tools[number])


@pytest.mark.soak
async def test_of_two_corrections_at_once_one_follows_the_other_and_both_are_in_the_history(world: World) -> None:
    news = await newsroom(world)

    async def one(worker: Worker, number: int) -> None:
        await worker.correct(news.tools[number], news.articles[number], "negative", "Ada")

    async def other(number: int) -> None:
        await world.worker.correct(news.tools[number], news.articles[number], "neutral", "Grace")

    async for number in interrupted(world, one, other, MAX_CALLS):
        found = await world.worker.corrections.get(news.tools[number].tool_id, news.articles[number])
        assert {found.author, *(each.author for each in found.history)} == {"Ada", "Grace"}
        assert len(found.history) == 1
        assert await news.sentiment(number) == found.label
        tool = await world.worker.catalog.get(news.tools[number].tool_id)
        assert sum(each.reviewed for each in tool.reviews.values()) == 1
        await world.is_counted(tool)


@pytest.mark.soak
@pytest.mark.parametrize(("headline", "left"), [("is bad", "negative"), ("is good", "neutral")])
async def test_an_edit_meanwhile_outdates_a_sentiment_only_if_the_words_about_the_tool_change(
    world: World, headline: str, left: str
) -> None:
    news = await newsroom(world)

    async def correct(worker: Worker, number: int) -> None:
        await worker.correct(news.tools[number], news.articles[number], "neutral")

    async def edit(number: int) -> None:
        await world.edit(news.articles[number], f"Quorvia{number}x {headline}")
        await world.delivered([news.articles[number]])

    async for number in interrupted(world, correct, edit, MAX_CALLS):
        made = await world.worker.corrections.find(news.tools[number].tool_id, news.articles[number])
        if made is None:  # refused, since the article was edited
            left_now = "negative" if headline == "is bad" else "positive"
        else:
            judged_before = (await world.read(news.articles[number])).canonical.revision != made.revision
            left_now = left if judged_before else "neutral"
        assert await news.sentiment(number) == left_now, number
        await world.is_counted(news.tools[number])


@pytest.mark.soak
@pytest.mark.parametrize("is_interrupted", ["correction", "merge"])
@pytest.mark.parametrize(("verdict", "left"), [("negative", "negative"), ("not_this_tool", None)])
async def test_a_correction_and_a_merge_at_once_leave_the_correction_with_the_target(
    world: World, verdict: str, left: str | None, is_interrupted: str
) -> None:
    news = await newsroom(world)
    targets = [await world.tool(f"Tarnwick{number}y") for number in range(MAX_CALLS)]

    async def correct(worker: Worker, number: int) -> None:
        with contextlib.suppress(ToolpulseError):
            await worker.correct(news.tools[number], news.articles[number], verdict)

    async def merge(worker: Worker, number: int) -> None:
        run = await worker.changes.merge(news.tools[number].tool_id, targets[number].tool_id)
        while await worker.workflows.advance(run.run_id) is None:
            pass

    outer, inner = (correct, merge) if is_interrupted == "correction" else (merge, correct)
    async for number in interrupted(world, outer, partial(inner, world.worker), MAX_CALLS):
        made = await world.worker.corrections.find(targets[number].tool_id, news.articles[number])
        assert await world.worker.corrections.of_merged(news.tools[number].tool_id) == []
        assert await news.sentiment(number, targets[number]) == ("positive" if made is None else left), number
        for tool in (news.tools[number], targets[number]):
            await world.is_counted(tool)


@pytest.mark.soak
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("before", "correct", "left"), CORRECTIONS)
async def test_a_correction_that_dies_at_any_operation_is_finished_by_clean_up_without_being_asked_again(
    world: World, before: str | None, correct: Act, left: str | None, when: When
) -> None:
    for k in itertools.count(1):
        tool = await world.tool(f"Quorvia{k}x")
        article = await world.article(k, f"Quorvia{k}x is good")
        await world.delivered([article])
        if before is not None:
            await world.worker.correct(tool, article, before)
        await world.is_counted(tool)
        for document in (await world.store.query(RUNS.name, Query(limit=1000))).items:
            await world.store.delete(RUNS.name, document["run_id"], document["id"])
        dying = DyingStore(world.store, k, when)
        with contextlib.suppress(Died):
            await correct(world.new_worker(dying), tool, article)
        world.watch.advance(seconds=LEASE.total_seconds() + 60)
        for run_id in await overdue_keys(world.store, WORKFLOWS_STAGE, world.watch):
            assert await world.worker.workflows.advance(run_id) is not None
        runs = (await world.store.query(RUNS.name, Query((Where("entity_type", "eq", "JobRun"),)))).items
        if not runs:
            assert dying.is_dead, "it died before it had promised anything"
            continue
        assert [each["status"] for each in runs] == ["SUCCEEDED"]
        mentions = await world.mentions(tool)
        assert (mentions[article].sentiment if mentions else None) == left, k
        found = await world.worker.corrections.get(tool.tool_id, article)
        assert len(found.history) == (before is not None and found.is_active)
        await world.is_counted(tool)
        if not dying.is_dead:
            assert k > 15
            return


@pytest.mark.soak
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_merge_that_dies_anywhere_leaves_every_correction_with_the_target_once(
    world: World, when: When
) -> None:
    numbers = itertools.count(1)
    for k in itertools.count(1):
        tool, target = await world.tool(f"Quorvia{k}x"), await world.tool(f"Tarnwick{k}y")
        articles = [await world.article(next(numbers), f"Quorvia{k}x and Tarnwick{k}y are good") for _ in range(3)]
        await world.delivered(articles)
        await world.worker.correct(tool, articles[0], "negative")
        await world.worker.correct(tool, articles[1], "not_this_tool", "Ada")
        await world.worker.correct(target, articles[1], "neutral", "Grace")
        await world.is_counted(tool)
        run = await world.worker.changes.merge(tool.tool_id, target.tool_id)
        dying = DyingStore(world.store, k, when)
        with contextlib.suppress(Died):
            await world.new_worker(dying).workflows.advance(run.run_id)
        await world.worker.workflows.advance(run.run_id, 2)
        found = {key: each.sentiment for key, each in (await world.mentions(target)).items()}
        assert found == {articles[0]: "negative", articles[1]: "neutral", articles[2]: "positive"}, k
        own = await world.worker.corrections.get(target.tool_id, articles[1])
        assert [each.author for each in own.history] == ["Ada"]
        assert await world.worker.corrections.of_merged(tool.tool_id) == []
        after = await world.worker.catalog.get(target.tool_id)
        assert sum(each.reviewed for each in after.reviews.values()) == 2
        for each in (tool, target):
            await world.is_counted(each)
        if not dying.is_dead:
            assert k > 20
            return
