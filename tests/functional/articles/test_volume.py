"""What one feed may cost: a budget for each poll, and a daily volume; what exceeds them is not lost."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import pytest

from services import deadline
from services.articles.entries import PER_POLL, PORTION
from services.articles.quarantine import Quarantine
from services.feeds.volume import MAX_PER_DAY as NEW_PER_DAY
from services.ports import Document
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.articles.world import Item, World, item


def entries(first: int, count: int) -> list[Item]:
    return [item(number) for number in range(first, first + count)]


async def last_attempt(world: World) -> Document:
    return max(await world.attempts(), key=lambda each: str(each["started_at"]))


async def batches(world: World) -> list[Document]:
    return [each for each in await world.all("quarantine") if each["entity_type"] == "QuarantineItem"]


async def test_a_large_document_is_ingested_by_several_polls_though_it_does_not_change(world: World) -> None:
    await world.add_feed("a")
    world.publish("a", entries(0, PER_POLL + 20), etag='"1"')
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.total_articles_fetched, feed.entries_skipped) == (PER_POLL, {"over_budget": 20})
    attempt = await last_attempt(world)
    assert (attempt["articles_found"], attempt["articles_new"], attempt["articles_skipped"]) == (5_020, 5_000, 20)
    assert feed.next_fetch_time == world.clock.now + timedelta(minutes=1)
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.total_articles_fetched, feed.entries_skipped) == (PER_POLL + 20, {})
    asked = len(world.shelf.asked)
    await world.poll("a")
    assert [each.etag for each in world.shelf.asked[asked:]] == ['"1"']


async def test_near_the_deadline_a_poll_ends_with_the_portion_that_it_has_begun(world: World) -> None:
    class Slow(CountingStore):
        """After the first portion the time of the invocation is nearly over."""

        seconds = 0.0

        async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
            if (name, arguments[0]) == ("create_many", "locators"):
                self.seconds = 90.0
            return await super()._do(name, *arguments, **options)

    store = Slow(world.store)
    await world.add_feed("a", entries(0, 2 * PORTION + 1))
    with deadline.within(100.0, clock=lambda: store.seconds):
        await world.poll("a", world.new_worker(store))
    feed = await world.feed("a")
    assert (feed.total_articles_fetched, feed.entries_skipped) == (333, {"over_budget": 668})
    await world.poll("a")
    assert (await world.feed("a")).total_articles_fetched == 2 * PORTION + 1


async def test_what_exceeds_the_daily_volume_is_quarantined_and_edits_are_not(world: World) -> None:
    await world.add_feed("a", entries(0, 3), daily_volume=float(NEW_PER_DAY - 3), last_fetch_time=world.clock.now)
    await world.poll("a")
    room = 10 + 14 * 2 + 2
    edited = [item(number, text="Edited.") for number in range(3)]
    world.publish("a", [*edited, *entries(100, 50 + room)])
    await world.poll("a")
    (batch,) = await batches(world)
    feed = await world.feed("a")
    stored = feed.total_articles_fetched - 3
    assert 0 < stored < 50
    assert (batch["reason_code"], batch["item_count"], batch["subject"]) == ("VOLUME", 50 + room - stored, "a")
    assert feed.quarantine_id == batch["quarantine_id"]
    assert (await last_attempt(world))["articles_held"] == batch["item_count"]
    texts = [each["text_for_analysis"] for each in await world.articles()]
    assert texts.count("Edited.") == 3


async def test_while_a_batch_awaits_its_review_nothing_more_of_the_feed_is_quarantined(world: World) -> None:
    spent = {"daily_volume": float(2 * NEW_PER_DAY), "last_fetch_time": world.clock.now}
    await world.add_feed("a", entries(0, 40), **spent)
    await world.poll("a")
    world.publish("a", entries(100, 30))
    await world.poll("a")
    (batch,) = await batches(world)
    feed = await world.feed("a")
    assert (batch["item_count"], feed.entries_skipped, feed.total_articles_fetched) == (40, {"awaits_review": 30}, 0)
    assert (await last_attempt(world))["articles_skipped"] == 30
    review = await Quarantine(world.store, world.worker.engine, world.clock).review(
        batch["quarantine_id"], "new_articles", "Ann", "a new CMS"
    )
    assert review.run_id is not None
    await world.worker.ingestion.ingest(review.run_id)
    assert (await world.feed("a")).total_articles_fetched == 40
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.entries_skipped, feed.total_articles_fetched, feed.quarantine_id) == ({}, 70, None)


async def test_a_dropped_batch_makes_way_for_what_was_left_because_of_it(world: World) -> None:
    spent = {"daily_volume": float(2 * NEW_PER_DAY), "last_fetch_time": world.clock.now}
    await world.add_feed("a", entries(0, 40), **spent)
    await world.poll("a")
    world.publish("a", entries(100, 30), etag='"1"')
    await world.poll("a")
    (batch,) = await batches(world)
    review = Quarantine(world.store, world.worker.engine, world.clock)
    await review.review(batch["quarantine_id"], "drop", "Ann", "spam")
    await world.poll("a")
    assert [each["item_count"] for each in await batches(world)] == [40, 30]


@pytest.mark.parametrize("k", [6, 13, 20, 27])
async def test_a_worker_that_dies_between_portions_leaves_nothing_out(world: World, k: int) -> None:
    many = PORTION + 1
    await world.add_feed("a", entries(0, many))
    with contextlib.suppress(Died):
        await world.poll("a", world.new_worker(DyingStore(world.store, k, "halfway")))
    world.clock.forward(minutes=11)
    await world.poll("a", world.new_worker())
    feed = await world.feed("a")
    assert (len(await world.articles()), feed.entries_skipped) == (many, {})
    assert feed.total_articles_fetched <= many
    assert await batches(world) == []
