"""Entries whose dates drift, whose articles have expired, or that return unchanged."""

from datetime import timedelta

import pytest

from models.feed import FeedSeen
from tests.builders import existing
from tests.functional.articles.world import START, World, item


async def test_dates_that_drift_change_nothing(world: World) -> None:
    await world.add_feed("a", [item(1)])
    await world.poll("a")
    before = await world.articles(), await world.observations(), await world.store.count("locators")
    for hours in (0, 30):
        world.publish("a", [item(1, published=START + timedelta(hours=hours))])
        world.clock.forward(hours=hours)
        assert await world.poll("a") == []
    assert before == (await world.articles(), await world.observations(), await world.store.count("locators"))


@pytest.mark.parametrize("days", [8, 31])
async def test_an_entry_that_its_feed_still_lists_does_not_come_back_after_its_article_expired(
    world: World, days: int
) -> None:
    await world.add_feed("a", [item(1)])
    await world.poll("a")
    for _ in range(days):
        world.clock.forward(days=1)
        world.publish("a", [item(1), item(900 + _)])
        await world.poll("a", world.new_worker())
    feed = await world.feed("a")
    assert feed.total_articles_fetched == 1 + days
    world.publish("a", [item(1, text="An edit of an old one.")])
    edited = await world.poll("a", world.new_worker())
    assert len(edited) == (1 if days < 30 else 0)
    assert (await world.feed("a")).total_articles_fetched == 1 + days


@pytest.mark.parametrize(
    ("days", "text", "is_renewed"), [(14, "Same.", False), (16, "Same.", True), (16, "New.", False)]
)
async def test_an_entry_that_returns_unchanged_keeps_its_alias(
    world: World, days: int, text: str, is_renewed: bool
) -> None:
    await world.add_feed("a", [item(1, text="Same.")])
    await world.poll("a")
    (before,) = await world.locators("LocatorAlias")
    world.clock.forward(days=days)
    # Without the hashes of the feed's `seen` document, only the alias knows the entry.
    await world.store.upsert("feeds", {"id": FeedSeen.ID, "feed_id": "a"})
    world.publish("a", [item(1, text=text), item(2)])
    await world.poll("a", world.new_worker())
    after = await existing(world.store, "locators", before["id"], before["id"])
    assert after["created_at"] == before["created_at"]
    assert (after["ttl_timestamp"] >= before["ttl_timestamp"] + days * 86_400) is is_renewed
