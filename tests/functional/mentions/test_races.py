"""Whatever another worker does between two store calls of an analysis, the mentions are right in the end."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, cast

import pytest

from models.errors import ToolpulseError
from models.tool import Tool
from services.ports import Store
from services.tools.catalog import tool_change
from tests.documents import reading
from tests.failing_stores import Crash, Interrupted
from tests.functional.mentions.world import Worker, World

MAX_CALLS = 40


async def interrupted(
    world: World,
    work: Callable[[Worker, int], Awaitable[Any]],
    act: Callable[[int], Awaitable[Any]],
    most_calls: int = MAX_CALLS,
) -> AsyncIterator[int]:
    """Does `work` once for each store call that it makes, with `act` before that call. Both get the call's number."""
    for number in range(most_calls):

        async def acted(number: int = number) -> None:
            await act(number)

        store = Interrupted(world.store, number, acted)
        with contextlib.suppress(ToolpulseError):
            await work(world.new_worker(cast("Store", store)), number)
        if not store.has_acted:
            assert number > 4, "there must be calls to interrupt"
            return
        yield number
    raise AssertionError("the work makes too many calls")


class Newsroom:
    """A tool and an article for each number."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tools: list[Tool] = []
        self.articles: list[str] = []

    async def fill(self, *, analysed: bool, count: int = MAX_CALLS, named: str = "Quorvia") -> None:
        for number in range(count):
            self.tools.append(await self.world.tool(f"Quorvia{number}x"))
            self.articles.append(await self.world.article(number + 1, f"{named}{number}x is good"))
        if analysed:
            await self.world.delivered(self.articles)
            for number, each in enumerate(self.articles):
                await self.world.edit(each, f"{named}{number}x is good again")

    async def made_bad(self, number: int) -> None:
        await self.world.edit(self.articles[number], f"Quorvia{number}x is bad")
        await self.world.delivered([self.articles[number]])

    async def deleted(self, number: int) -> None:
        await self.world.worker.delete(self.articles[number])

    async def recounted(self, number: int) -> None:
        await self.world.worker.recount.recount_tool(self.tools[number].tool_id, self.world.watch.now)

    async def analyse(self, worker: Worker, number: int) -> None:
        await worker.analysis.handle([self.articles[number]])

    async def sentiment(self, number: int, tool: Tool | None = None) -> str | None:
        mentions = await self.world.mentions(tool or self.tools[number])
        assert mentions.keys() <= {self.articles[number]}
        return mentions[self.articles[number]].sentiment if mentions else None


@pytest.mark.parametrize("analysed", [False, True])
@pytest.mark.parametrize(
    ("act", "left"), [(Newsroom.made_bad, "negative"), (Newsroom.deleted, None), (Newsroom.recounted, "positive")]
)
async def test_an_edit_a_deletion_and_a_recount_meanwhile_are_what_is_left(
    world: World, act: Callable[[Newsroom, int], Awaitable[None]], left: str | None, analysed: bool
) -> None:
    news = Newsroom(world)
    await news.fill(analysed=analysed)
    async for number in interrupted(world, news.analyse, partial(act, news)):
        assert await news.sentiment(number) == left
        article = await world.read(news.articles[number])
        assert article.analysis_due_since is None
        assert article.deleted_at is not None or article.sentiment == left
        await world.is_counted(news.tools[number])


@pytest.mark.parametrize("analysed", [False, True])
@pytest.mark.parametrize("writes", range(4))
async def test_a_worker_that_dies_leaves_no_outdated_mention_over_a_newer_one(
    world: World, analysed: bool, writes: int
) -> None:
    news = Newsroom(world)
    await news.fill(analysed=analysed)
    for number in range(12):

        async def edit(number: int = number) -> None:
            await news.made_bad(number)

        store = Interrupted(world.store, number, edit, writes)
        with contextlib.suppress(Crash):
            await news.analyse(world.new_worker(cast("Store", store)), number)
        if store.has_acted:
            assert await news.sentiment(number) == "negative", number


async def test_an_edit_that_is_taken_back_meanwhile_wins_though_its_mention_was_right_already(world: World) -> None:
    """The other worker has no mention to write, so that the ETag of none changes."""
    quorvia = await world.tool("Quorvia")
    one = await world.article(1, "Quorvia is good")
    await world.delivered([one])
    good = (await world.read(one)).canonical

    async def back(number: int) -> None:
        article = await world.read(one)
        changed = article.changed(world.watch.now, canonical=good, analysis_due_since=world.watch.now)
        await world.store.replace("articles", changed.to_document(), article.stored_etag or "")
        await world.delivered([one])

    async def rescore(worker: Worker, number: int) -> None:
        bad = reading(headline="Quorvia is bad", revision=f"bad-{number}")
        article = await world.read(one)
        changed = article.changed(world.watch.now, canonical=bad, analysis_due_since=world.watch.now)
        await world.store.replace("articles", changed.to_document(), article.stored_etag or "")
        await worker.writer.write([one], only=frozenset({quorvia.tool_id}))

    async for number in interrupted(world, rescore, back):
        assert {key: each.sentiment for key, each in (await world.mentions(quorvia)).items()} == {one: "positive"}, (
            number
        )
        await world.is_counted(quorvia)


@pytest.mark.parametrize(
    ("of_one_tool", "analysed", "is_analysed_meanwhile"),
    [(False, False, False), (False, True, False), (True, False, False), (True, True, False), (False, False, True)],
)
async def test_a_merge_meanwhile_moves_the_mention(
    world: World, of_one_tool: bool, analysed: bool, is_analysed_meanwhile: bool
) -> None:
    """Also where only the mentions of the merged tool are to be written, as a backfill does; and where another worker
    analyses the article after the merge, so that it is no longer due when this worker has written its mention."""
    news = Newsroom(world)
    await news.fill(analysed=analysed)

    async def analyse(worker: Worker, number: int) -> None:
        if is_analysed_meanwhile:
            await news.analyse(worker, number)
        else:
            only = frozenset({news.tools[number].tool_id}) if of_one_tool else None
            await worker.writer.write([news.articles[number]], only)

    target = await world.tool("Tarnwick")

    async def merge(number: int) -> None:
        await world.run(await world.worker.changes.merge(f"Quorvia{number}x", "Tarnwick"))
        if is_analysed_meanwhile:
            await world.delivered([news.articles[number]])

    async for number in interrupted(world, analyse, merge):
        assert await news.sentiment(number) is None
        assert news.articles[number] in await world.mentions(target)
        await world.is_counted(news.tools[number])
        await world.is_counted(target)


@pytest.mark.parametrize("analysed", [False, True])
async def test_an_alias_that_is_added_and_applied_meanwhile_is_found(world: World, analysed: bool) -> None:
    """Also if the worker has asked for the detector before, and reads the article afterwards."""
    news = Newsroom(world)
    await news.fill(analysed=analysed, named="Tarnwick")

    async def alias(number: int) -> None:
        change = tool_change({"aliases": [f"Tarnwick{number}x"]})
        _, run = await world.worker.changes.change_tool(news.tools[number].tool_id, change)
        assert run is not None
        await world.run(run)

    async for number in interrupted(world, news.analyse, alias):
        assert await news.sentiment(number) == "positive", number


async def test_an_edit_of_an_article_that_cannot_be_judged_stays_due(world: World) -> None:
    """Its message may be lost: then the stored article is all that says so."""
    quorvia = await world.tool("Quorvia")
    articles = [await world.article(number + 1, "Quorvia is cursed") for number in range(MAX_CALLS)]

    async def analyse(worker: Worker, number: int) -> None:
        await worker.analysis.handle([articles[number]])

    async for number in interrupted(world, analyse, lambda number: world.edit(articles[number], "Quorvia is good")):
        world.watch.advance(minutes=1)
        await world.delivered([articles[number]])
        assert (await world.mentions(quorvia))[articles[number]].sentiment == "positive", number


async def test_an_article_beside_one_that_another_worker_analyses_gets_its_mention(world: World) -> None:
    """Mentions of one tool are written in one batch, so that the conflict of one concerns all."""
    news = Newsroom(world)
    await news.fill(analysed=False)
    beside = [await world.article(600 + number, f"Quorvia{number}x is bad") for number in range(MAX_CALLS)]

    async def both(worker: Worker, number: int) -> None:
        await worker.analysis.handle([news.articles[number], beside[number]])

    async for number in interrupted(world, both, lambda number: world.delivered([news.articles[number]])):
        mentions = await world.mentions(news.tools[number])
        assert {key: each.sentiment for key, each in mentions.items()} == {
            news.articles[number]: "positive",
            beside[number]: "negative",
        }
        await world.is_counted(news.tools[number])
