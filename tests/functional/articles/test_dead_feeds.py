"""Nine of ten feeds die in different ways, and 35 days later health says so; so it does when all are dead."""

from __future__ import annotations

from datetime import timedelta

from models.feed import VERDICTS
from services.feeds.registry import FeedRegistry
from services.fetch.outcome import FetchStatus
from services.operations.checks import Check
from services.operations.feed_health import NO_SUCCESS_FOR, count_feeds, judge_feeds, last_success
from tests.functional.articles.world import Page, World, item

DAY = timedelta(days=1)


async def health(world: World) -> Check:
    now = world.clock.now
    feeds = await count_feeds(world.store, (), now - NO_SUCCESS_FOR)
    return judge_feeds(feeds, await last_success(world.store), (), (), now)


async def days(world: World, count: int) -> None:
    for _ in range(count * 4):
        world.clock.forward(hours=6)
        world.publish("well", [item(0, published=world.clock.now, link=f"https://n.example/{world.clock.now}")])
        for message in await world.worker.claims.claim_due(world.clock.now):
            await world.worker.ingestion.ingest(message.run_id)


def broken(world: World, name: str, page: Page) -> None:
    world.shelf.pages[f"https://{name}.example/feed"] = page


async def test_nine_of_ten_feeds_that_are_dead_for_35_days_degrade_and_ten_are_unhealthy(world: World) -> None:
    ways = {
        "gone": Page(status=FetchStatus.GONE),
        "missing": Page(status=FetchStatus.NOT_FOUND),
        "hangs": Page(status=FetchStatus.SERVER_ERROR),
        "forbids": Page(status=FetchStatus.UNAUTHORIZED, fields={"status_code": 403}),
        "sold": Page(b"<html><body>For sale</body></html>"),
        "loops": Page(status=FetchStatus.REDIRECT_LOOP),
        "large": Page(status=FetchStatus.TOO_LARGE),
        "garbage": Page(b"\\x00\\x01"),
    }
    for name in (*ways, "empty", "well"):
        await world.add_feed(name, [item(len(name))])
    await days(world, 3)
    assert (await health(world)).status == "healthy"
    for name, page in ways.items():
        broken(world, name, page)
    world.publish("empty", [])
    await days(world, 35)
    check = await health(world)
    assert check.status == "degraded"
    assert check.detail.startswith("9 of 10 feeds are ill (2 gone, 1 empty, 6 disabled)")
    assert check.facts["count"] == 2
    feeds = await FeedRegistry(world.store, world.clock).every()
    listed = sorted(feeds, key=lambda each: VERDICTS.index(each.verdict or "ok"))
    assert [each.feed_id for each in listed][-1] == "well"
    assert all(each.verdict_since and world.clock.now - each.verdict_since > 30 * DAY for each in listed[:-1])
    broken(world, "empty", ways["hangs"])
    await days(world, 4)
    for name in ("well", "empty"):
        broken(world, name, ways["hangs"])
    for _ in range(8):
        world.clock.forward(hours=6)
        for message in await world.worker.claims.claim_due(world.clock.now):
            await world.worker.ingestion.ingest(message.run_id)
    check = await health(world)
    assert check.status == "unhealthy"
    assert check.detail.startswith("no feed could be fetched since")
