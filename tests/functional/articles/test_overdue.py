"""Messages that were lost after a write are sent again, within limits."""

from datetime import datetime

import pytest

from models.errors import ChangedMeanwhile
from services.articles.overdue import MOST_RESENDS
from services.feeds.budget import Budget
from services.feeds.schedule import Policy
from services.operations.upkeep import Upkeep
from services.ports import QueueDepth
from services.topology import ANALYZE_ARTICLES, INGEST_FEEDS, QUEUES
from tests.functional.articles.test_floods import flooded, quarantine, quarantined_batch
from tests.functional.articles.world import World, item


class Depths:
    """Queues that only have depths."""

    def __init__(self) -> None:
        self.messages: dict[str, int] = {}

    async def send(self, name: str, messages: object, *, delay_seconds: float = 0) -> None:
        """Sends nothing."""

    async def depths(self, names: object) -> list[QueueDepth]:
        return [QueueDepth(name, self.messages.get(name, 0), 0) for name in QUEUES]

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        return []

    async def redrive(self, name: str, limit: int) -> int:
        return 0

    async def close(self) -> None:
        """Nothing to release."""


async def _none(now: datetime) -> list[str]:
    return []


def upkeep_of(world: World, queues: Depths | None = None) -> Upkeep:
    """The upkeep of an app that only ingests."""
    budget = Budget(world.store, Policy(), world.clock)
    return Upkeep(
        queues or Depths(),
        world.store,
        world.clock,
        world.worker.overdue,
        _none,
        _none,
        world.worker.announce,
        budget,
    )


async def test_articles_that_stay_pending_are_sent_again_once_an_hour_and_not_for_ever(world: World) -> None:
    queues = Depths()
    upkeep = upkeep_of(world, queues)
    await world.add_feed("a", [item(1), item(2)])
    sent = set((await world.poll("a")).article_ids)
    assert (await upkeep.run()).articles == ()
    world.clock.forward(minutes=6)
    assert set((await upkeep.run()).articles) == sent
    rounds = 0
    for _ in range(40 * 12):
        world.clock.forward(minutes=5)
        rounds += bool((await upkeep.run()).articles)
    assert rounds == MOST_RESENDS - 1


async def test_nothing_is_sent_again_while_messages_wait(world: World) -> None:
    queues = Depths()
    await world.add_feed("a", [item(1)])
    await world.poll("a")
    world.clock.forward(hours=1)
    queues.messages[ANALYZE_ARTICLES] = 1
    assert (await upkeep_of(world, queues).run()).articles == ()


async def test_a_released_batch_whose_message_was_lost_is_queued_again(world: World) -> None:
    queues = Depths()
    upkeep = upkeep_of(world, queues)
    quarantined = await flooded(world)
    lost = (await quarantine(world).review(quarantined.quarantine_id, "CLEARED_RETRY_APPROVED")).batch
    assert lost is not None
    world.clock.forward(minutes=6)
    queues.messages[INGEST_FEEDS] = 1
    assert (await upkeep.run()).batches == ()
    queues.messages[INGEST_FEEDS] = 0
    assert (await upkeep.run()).batches == (lost,)
    await world.worker.ingestion.ingest(lost)
    assert (await upkeep.run()).batches == ()


async def test_a_released_batch_whose_message_was_given_up_is_queued_again_but_not_at_once(world: World) -> None:
    """Its feed waits for a fetch whose message was lost: for longer than the deliveries of a message last."""
    upkeep = upkeep_of(world)
    quarantined = await flooded(world)
    approved = (await quarantine(world).review(quarantined.quarantine_id, "CLEARED_RETRY_APPROVED")).batch
    assert approved is not None
    await world.claimed("a")
    for delivery in range(1, 6):
        with pytest.raises(ChangedMeanwhile):
            await world.worker.ingestion.ingest(approved, delivery)
        world.clock.forward(seconds=30)
    sent = []
    for _ in range(6):
        world.clock.forward(minutes=4)
        sent.append((await upkeep.run()).batches)
    assert sent == [(), (), (), (approved,), (), ()]
    await world.worker.ingestion.ingest(approved)
    assert (await upkeep.run()).batches == ()
    assert (await quarantined_batch(world)).released_at is not None


async def test_runs_whose_message_was_lost_are_closed(world: World) -> None:
    await world.add_feed("a")
    (lost,) = await world.claimed("a")
    world.clock.forward(minutes=10)
    upkeep = upkeep_of(world)
    await upkeep.run()
    assert [each["status"] for each in await world.runs()] == ["QUEUED"]
    world.clock.forward(minutes=6)
    await upkeep.run()
    (run,) = await world.runs()
    assert (run["run_id"], run["status"]) == (lost.run_id, "FAILED")
