"""A feed whose ids all change is quarantined until a person releases or drops the batch."""

from datetime import timedelta

from models.quarantine import QuarantineItem
from models.run import FETCH_FEED
from services.articles.entries import PORTION
from services.articles.feed_attempts import begun, save
from services.articles.quarantine import Quarantine, delete_dropped, released_batch
from services.fetch.outcome import FetchRequest, FetchResult
from tests.builders import existing
from tests.functional.articles.world import START, Item, World, item

MANY = 30
KNOWN = [item(number) for number in range(MANY)]


def moved(number: int, **changes: object) -> Item:
    """The same page under a new system: another guid, another date."""
    return item(number, guid=f"https://new.example/{number}", published=START + timedelta(minutes=1), **changes)


FLOOD = [moved(number) for number in range(MANY)]
OF_ANOTHER_DAY = [item(number, guid=f"new-{number}", published=START + timedelta(days=1)) for number in range(MANY)]
"""The pages under new ids and of another day, so that they become articles of their own."""


async def quarantined_batch(world: World) -> QuarantineItem:
    (document,) = [each for each in await world.all("quarantine") if each["entity_type"] == "QuarantineItem"]
    return QuarantineItem.from_document(document)


async def flooded(world: World, flood: list[Item] = FLOOD) -> QuarantineItem:
    await world.add_feed("a", KNOWN)
    await world.poll("a")
    world.clock.forward(days=1)
    world.publish("a", flood)
    await world.poll("a")
    return await quarantined_batch(world)


def quarantine(world: World) -> Quarantine:
    return Quarantine(world.store, world.worker.engine, world.clock)


async def test_a_flood_is_quarantined_and_changes_nothing_else(world: World) -> None:
    batch_item = await flooded(world, OF_ANOTHER_DAY)
    assert (batch_item.item_count, batch_item.reason_code, batch_item.subject) == (MANY, "FLOOD", "a")
    feed = await world.feed("a")
    assert (feed.total_articles_fetched, feed.quarantine_id, feed.fetch_count) == (MANY, batch_item.quarantine_id, 2)
    assert len(await world.articles()) == MANY


async def test_a_flood_is_quarantined_once_however_often_it_comes(world: World) -> None:
    await flooded(world)
    for number in range(3):
        world.publish("a", [*FLOOD, item(500 + number)])
        await world.poll("a", world.new_worker())
    assert (await quarantined_batch(world)).item_count == MANY
    assert (await world.feed("a")).total_articles_fetched == MANY + 3


async def test_a_flood_in_several_portions_is_one_batch(world: World) -> None:
    many = 2 * PORTION + 1
    await world.add_feed("a", [item(number) for number in range(many)])
    await world.poll("a")
    world.publish(
        "a", [item(number, guid=f"new-{number}", published=START + timedelta(days=1)) for number in range(many)]
    )
    await world.poll("a")
    batch_item = await quarantined_batch(world)
    assert batch_item.item_count == many
    assert len(await world.articles()) == many
    feed = await world.feed("a")
    assert (feed.quarantine_id, feed.total_articles_fetched) == (batch_item.quarantine_id, many)


async def test_a_released_batch_is_ingested_and_counted_once(world: World) -> None:
    quarantined = await flooded(world, OF_ANOTHER_DAY)
    reviewed = await quarantine(world).review(quarantined.quarantine_id, "new_articles", "Ann", "a new CMS")
    assert reviewed.run_id is not None
    batch = reviewed.run_id
    assert len(await world.worker.ingest(batch)) == MANY
    # Delivered again, and released again.
    assert await world.new_worker().ingest(batch, 2) == []
    again = await quarantine(world).review(quarantined.quarantine_id, "new_articles", "Ann", "a new CMS")
    assert again.run_id is None, "it is ingested"
    feed = await world.feed("a")
    assert (feed.total_articles_fetched, feed.quarantine_id) == (2 * MANY, None)
    assert feed.avg_articles_per_fetch == MANY
    (only,) = await world.all("quarantine")
    assert QuarantineItem.from_document(only).released_at is not None
    await world.poll("a", world.new_worker())
    assert len(await world.articles()) == 2 * MANY


async def test_a_dropped_batch_is_not_ingested_and_its_parts_are_deleted(world: World) -> None:
    quarantined = await flooded(world)
    dropped = await quarantine(world).review(quarantined.quarantine_id, "drop", "Ann", "spam")
    assert dropped.run_id is None
    assert await released_batch(world.store, quarantined.quarantine_id) is None
    await delete_dropped(world.store)
    assert [each["entity_type"] for each in await world.all("quarantine")] == ["QuarantineItem"]
    world.publish("a", [*FLOOD, item(700)])
    await world.poll("a", world.new_worker())
    assert len(await world.articles()) == MANY + 1


async def test_a_fetch_that_ends_after_its_feeds_batch_was_dropped_does_not_name_it_again(world: World) -> None:
    quarantined = await flooded(world)
    (fetching,) = await world.claimed("a")
    document = await existing(world.store, "feeds", "a", "feed")
    one = begun(document, await world.worker.engine.get(fetching), FETCH_FEED, world.clock.now)
    await quarantine(world).review(quarantined.quarantine_id, "drop", "Ann", "spam")
    assert await save(world.store, one, one.feed.changed(world.clock.now, fetch_count=7))
    feed = await world.feed("a")
    assert (feed.quarantine_id, feed.fetch_count) == (None, 7)


async def test_a_fetch_during_which_a_batch_of_its_feed_was_ingested_is_not_saved(world: World) -> None:
    quarantined = await flooded(world, OF_ANOTHER_DAY)
    batch = (await quarantine(world).review(quarantined.quarantine_id, "new_articles", "Ann", "a new CMS")).run_id or ""

    class Slow:
        async def fetch(self, request: FetchRequest) -> FetchResult:
            await world.worker.ingestion.ingest(batch)
            return await world.shelf.fetch(request)

    before = await world.feed("a")
    await world.poll("a", world.new_worker(shelf=Slow()))
    feed = await world.feed("a")
    assert (feed.fetch_count, feed.total_articles_fetched) == (before.fetch_count, 2 * MANY)
    await world.poll("a")
    assert (await world.feed("a")).fetch_count == before.fetch_count + 1
