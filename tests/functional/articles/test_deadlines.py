"""An invocation whose time is nearly over leaves feeds that it has not begun to store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from models.errors import Unavailable
from services import deadline
from services.articles.entries import WRITING_AT_ONCE
from services.feeds.claims import IngestMessage
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.world import World, item


class _Slow(CountingStore):
    """Stores of one feed take a second. `most` is how many feeds were stored at once."""

    now = most = 0

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        if container == "locators":
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(1.0)
            self.now -= 1
        return await super().create_many(container, documents)


async def claimed(world: World) -> IngestMessage:
    """Six feeds with an entry each, in one message."""
    for number in range(6):
        await world.add_feed(f"f{number}", [item(number)])
    (message,) = await world.new_worker().claims.claim_every(world.clock.now)
    return message


async def test_feeds_that_have_no_turn_before_the_deadline_are_sent_again_untouched(world: World) -> None:
    message, store = await claimed(world), _Slow(world.store)
    worker = world.new_worker(store)
    with deadline.within(1.3):
        outcome = await worker.ingestion.ingest(message)
    assert store.most == WRITING_AT_ONCE == 4
    assert len(outcome.article_ids) == 4
    assert len(outcome.left) == 2
    for feed_id in outcome.left:
        feed = await world.feed(feed_id)
        assert (feed.last_fetch_time, feed.lease) == (None, None)
    (sent,) = [IngestMessage.from_message(text) for text in worker.queues.sent["ingest-feeds"]]
    assert (sent.run_id, {each.feed_id for each in sent.feeds}) == (message.run_id, set(outcome.left))
    await world.new_worker().ingestion.ingest(sent)
    assert len(await world.articles()) == 6


async def test_a_feed_whose_lease_is_stored_waits_for_the_next_delivery(world: World) -> None:
    """Only a later delivery of the same message may take the lease over."""
    message = await claimed(world)
    with deadline.within(1.3), pytest.raises(Unavailable):
        await world.new_worker(_Slow(world.store)).ingestion.ingest(message, 2)
    await world.new_worker().ingestion.ingest(message, 3)
    assert len(await world.articles()) == 6
