"""Feeds that the app disabled return by themselves; others do not. And what else a feed's document tells over time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.feed import MAX_ERRORS
from services.feeds.form import feed_change
from services.feeds.registry import FeedRegistry
from services.fetch.outcome import FetchStatus
from tests.functional.articles.world import Page, World, item, rss

URL = "https://a.example/feed"
DAY = timedelta(days=1)


async def ticks(world: World, days: float, every_minutes: float = 60.0) -> None:
    for _ in range(int(days * 24 * 60 / every_minutes)):
        world.clock.forward(minutes=every_minutes)
        for message in await world.worker.claims.claim_due(world.clock.now):
            await world.worker.ingestion.ingest(message.run_id)


async def disabled(world: World, status: FetchStatus = FetchStatus.SERVER_ERROR) -> None:
    await world.add_feed("a", [item(1)])
    await world.poll("a")
    world.shelf.pages[URL] = Page(status=status)
    for _ in range(MAX_ERRORS if status is FetchStatus.SERVER_ERROR else 1):
        await world.poll("a")
    assert not (await world.feed("a")).enabled


@pytest.mark.parametrize("status", [FetchStatus.SERVER_ERROR, FetchStatus.NOT_FOUND])
async def test_a_feed_returns_once_it_answers_and_its_history_goes_on(world: World, status: FetchStatus) -> None:
    await disabled(world, status)
    feed = await world.feed("a")
    assert (feed.disabled_by, feed.verdict) == ("app", "gone" if status is FetchStatus.NOT_FOUND else "disabled")
    assert feed.verdict_since == feed.disabled_at
    asked = len(world.shelf.asked)
    await ticks(world, 0.9)
    within_a_day = 0 if status is FetchStatus.NOT_FOUND else 14
    assert len(world.shelf.asked) - asked == within_a_day
    await ticks(world, 4)
    feed = await world.feed("a")
    probes = 2 if status is FetchStatus.NOT_FOUND else within_a_day + 3
    assert (feed.probes, len(world.shelf.asked) - asked, feed.verdict_since) == (probes, probes, feed.disabled_at)
    world.shelf.pages[URL] = Page(rss([item(1), item(2)]))
    await ticks(world, 5)
    feed = await world.feed("a")
    assert (feed.enabled, feed.verdict, feed.probe_at, feed.total_articles_fetched) == (True, "ok", None, 2)


async def test_a_person_who_disables_a_feed_during_its_probe_wins(world: World) -> None:
    await disabled(world)
    world.shelf.pages[URL] = Page(rss([item(1), item(2)]))
    shelf, registry = world.shelf, FeedRegistry(world.store, world.clock)
    fetch = shelf.fetch

    async def slow(request: object) -> object:
        await registry.change("a", feed_change({"enabled": False}))
        return await fetch(request)  # type: ignore[arg-type]

    shelf.fetch = slow  # type: ignore[method-assign, assignment]
    await ticks(world, 2)
    feed = await world.feed("a")
    assert (feed.enabled, feed.disabled_by, feed.probe_at, feed.verdict) == (False, "person", None, "disabled")


async def test_what_is_rarely_due_is_looked_for_at_the_next_tick_if_its_host_was_busy(world: World) -> None:
    ahead: dict[str, Any] = {"last_fetch_time": world.clock.now + 2 * DAY, "next_fetch_time": world.clock.now + 3 * DAY}
    await world.add_feed("busy", [item(1)])
    await world.add_feed("ahead", feed_url="https://busy.example/ahead", **ahead)
    (run_id,) = await world.claimed("busy")
    assert await world.worker.claims.claim_due(world.clock.now) == []
    await world.worker.ingest(run_id)
    world.clock.forward(minutes=1)
    (run,) = await world.worker.claims.claim_due(world.clock.now)
    assert list(run.claimed) == ["ahead"]


# What a feed's document tells over months


async def test_a_daily_feed_that_falls_silent_is_noticed_by_its_own_rhythm(world: World) -> None:
    await world.add_feed("a")
    for number in range(40):
        entries = [item(each, published=world.clock.now - (number - each) * DAY) for each in range(number + 1)]
        world.publish("a", entries[-20:])
        await ticks(world, 1, every_minutes=180)
    feed = await world.feed("a")
    assert (feed.verdict, len(feed.longest_gaps)) == ("ok", 33)
    newest = feed.newest_article_at
    await ticks(world, 1.5, every_minutes=180)
    assert (await world.feed("a")).verdict == "ok"
    await ticks(world, 1.5, every_minutes=180)
    feed = await world.feed("a")
    assert (feed.verdict, feed.verdict_since) == ("silent", newest)


async def test_a_challenge_page_is_a_block_and_no_web_page(world: World) -> None:
    await world.add_feed("a")
    world.shelf.pages[URL] = Page(b"<html><head><title>Just a moment...</title></head></html>")
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.verdict, feed.last_error_fingerprint) == ("blocked", "blocked:cloudflare")
