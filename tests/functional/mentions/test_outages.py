"""While the service of the analyzer is away, articles wait at no cost; they are scored soon after it answers again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from models.errors import Contended, Unavailable
from services.mentions.analyzers.azure_language import AzureLanguageAnalyzer
from services.mentions.due import ANALYSIS_STAGE
from services.work.announcing import Announcer, Sweeper
from tests.functional.mentions.world import World
from tests.unit.mentions.language_server import fault, language_server

ARTICLES = 100
TICK = 30


class Flow:
    """Two workers that get the messages in turn. A message whose worker raises Unavailable comes again, five times."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.workers = [world.new_worker() for _ in range(2)]
        self.sweeper = Sweeper(world.store, world.queues, Announcer(world.queues), world.watch)
        self.again: list[tuple[Sequence[str], int]] = []

    async def tick(self, *new: Sequence[str]) -> None:
        """Half a minute: delivers new messages and those that come again, then sweeps until no message is left."""
        waiting, self.again = [*self.again, *((keys, 1) for keys in new)], []
        await self.sweeper.sweep(ANALYSIS_STAGE)
        while waiting := waiting + [(keys, 1) for keys in self._sent()]:
            for number, (keys, delivery) in enumerate(waiting):
                try:
                    await self.workers[number % 2].analysis.handle(keys, delivery)
                except Unavailable:
                    self.again += [(keys, delivery + 1)] if delivery < 5 else []
            waiting = []
        self.world.watch.advance(seconds=TICK)

    def _sent(self) -> list[list[str]]:
        return [ANALYSIS_STAGE.keys_of(each) for each in self.world.queues.sent.pop(ANALYSIS_STAGE.queue, [])]

    async def analysed(self, source_ids: Sequence[str]) -> int:
        return [(await self.world.read(each)).status for each in source_ids].count("analyzed")


@pytest.mark.parametrize("minutes", [1, 10, 60])
async def test_an_outage_asks_little_counts_no_try_and_ends_at_once(world: World, minutes: int) -> None:
    async with language_server() as server:
        analyzer = AzureLanguageAnalyzer(server.url, key="key", retries=0)
        world.analyzer = analyzer  # type: ignore[assignment]
        flow, articles, asked = Flow(world), list[str](), list[int]()
        server.faults = [fault(503) for _ in range(1000)]
        for minute in range(minutes):
            until = ARTICLES * (minute + 1) // minutes
            new = [await world.article(number, "Quorvia is good") for number in range(len(articles), until)]
            articles += new
            before = len(server.requests)
            await flow.tick(new[::2], new[1::2])
            await flow.tick()
            asked.append(len(server.requests) - before)
        assert max(asked) <= 2, "two requests a minute, of both workers together"
        waiting = [await world.read(each) for each in articles]
        reason = "Azure AI Language answered 503"
        assert {(each.status, each.analysis_attempts, each.last_error_fingerprint) for each in waiting} == {
            ("pending", 0, reason)
        }
        services = flow.workers[0].services
        check = (await services.operations.health.report()).checks["analysis"]
        assert (check.status, check.facts["paused_since"], check.facts["pause_reason"]) == (
            "degraded",
            waiting[0].to_document()["analysis_due_since"],
            reason,
        )

        server.faults.clear()
        flow = Flow(world)  # workers that have not seen the outage
        for _ in range(120 // TICK):
            await flow.tick()
        assert await flow.analysed(articles) == ARTICLES
        assert (await world.read(articles[0])).last_error_fingerprint is None
        assert (await services.figures.backlog.read()).is_empty
        await analyzer.close()


async def test_a_text_for_which_the_service_fails_does_not_hold_up_the_others_for_ever(world: World) -> None:
    flow = Flow(world)
    world.analyzer.is_down = True
    articles = [await world.article(number, "Quorvia is good") for number in range(ARTICLES)]
    await flow.tick(articles)
    world.analyzer.is_down = False
    world.analyzer.down_for = "cursed"
    await world.edit(articles[0], "cursed Quorvia")
    for _ in range(40):
        await flow.tick()
    assert await flow.analysed(articles) == len(articles) - 1


async def test_articles_that_keep_changing_are_no_outage(world: World) -> None:
    one = await world.article(1, "Quorvia is good")
    world.analyzer.outage = Contended("1 articles keeps changing")
    world.analyzer.is_down = True
    with pytest.raises(Contended):
        await world.worker.analysis.handle([one])
    world.analyzer.is_down = False
    assert (await world.worker.analysis.handle([one])).done == 1
