"""A feed that has moved finds its way back to its own URL."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from models.feed import MAX_ERRORS
from services.feeds.form import feed_change, new_feed
from services.feeds.registry import FeedRegistry
from services.fetch.outcome import FetchStatus
from tests.functional.articles.world import Item, Page, World, item, rss

OLD, NEW = "https://a.example/feed", "https://new.example/feed"
ITEMS = [item(1), item(2)]


BROKEN = {
    "hanging": Page(status=FetchStatus.TIMEOUT),
    "a web page": Page(b"<html><body>Sorry</body></html>"),
}


def says_it_moved(items: Iterable[Item], to: str = NEW) -> bytes:
    moved = b"<channel><itunes:new-feed-url>%s</itunes:new-feed-url>" % to.encode()
    namespace = b"<rss xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'"
    return rss(items).replace(b"<rss", namespace).replace(b"<channel>", moved)


def moved_page(items: Iterable[Item]) -> Page:
    """The feed, behind a permanent redirect to its new URL."""
    return Page(rss(items), fields={"moved_to": NEW})


async def change(world: World, **fields: object) -> None:
    await FeedRegistry(world.store, world.clock).change("a", feed_change(fields))


@pytest.mark.parametrize("what", BROKEN)
async def test_a_wrong_new_url_does_not_end_a_feed(world: World, what: str) -> None:
    await world.add_feed("a")
    world.shelf.pages[NEW] = BROKEN[what]
    for number in range(3):
        world.shelf.pages[OLD] = Page(says_it_moved([*ITEMS, item(10 + number)]))
        await world.poll("a")
    feed = await world.feed("a")
    assert (feed.redirect_url, feed.consecutive_errors, feed.total_articles_fetched) == (None, 0, 5)
    assert feed.parse_warnings == {"move_refused": 1}


async def test_a_feed_moves_once_there_is_a_feed_at_its_new_url(world: World) -> None:
    await world.add_feed("a")
    world.shelf.pages[OLD] = Page(says_it_moved(ITEMS), etag='"1"')
    world.shelf.pages[NEW] = Page(rss([*ITEMS, item(3)]), etag='"1"')
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.redirect_url, feed.parse_warnings) == (NEW, {})
    world.shelf.pages[OLD] = Page(status=FetchStatus.NOT_FOUND)
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.redirect_url, feed.total_articles_fetched, feed.consecutive_errors) == (NEW, 3, 0)


@pytest.mark.parametrize("further", [OLD, "https://c.example/"])
async def test_a_feed_does_not_follow_a_chain_or_a_circle_of_moves(world: World, further: str) -> None:
    await world.add_feed("a")
    world.shelf.pages[OLD], world.shelf.pages[NEW] = Page(says_it_moved(ITEMS)), Page(says_it_moved(ITEMS, further))
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.redirect_url, feed.parse_warnings) == (None, {"move_refused": 1})


async def test_the_url_of_another_feed_is_no_move(world: World) -> None:
    other = new_feed({"url": NEW, "source_name": "other", "feed_id": "other"}, world.clock())
    await FeedRegistry(world.store, world.clock).add(other)
    world.shelf.pages[NEW] = Page(rss(ITEMS))
    await world.add_feed("a")
    world.shelf.pages[OLD] = Page(says_it_moved(ITEMS))
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.enabled, feed.redirect_url, feed.parse_warnings) == (True, None, {"move_refused": 1})


async def moved(world: World) -> None:
    """A feed that has moved, and whose new URL does not answer any more."""
    await world.add_feed("a")
    world.shelf.pages[OLD] = moved_page(ITEMS)
    world.shelf.pages[NEW] = Page(rss(ITEMS))
    await world.poll("a")
    await world.poll("a")
    assert (await world.feed("a")).fetch_url == NEW
    world.shelf.pages[NEW] = Page(status=FetchStatus.TIMEOUT)
    world.shelf.pages[OLD] = Page(rss([*ITEMS, item(3)]))


@pytest.mark.parametrize("fields", [{"url": OLD}, {"enabled": True}])
async def test_a_feed_that_moved_comes_back_when_a_person_asks_for_it(world: World, fields: dict[str, object]) -> None:
    await moved(world)
    if "enabled" in fields:
        world.shelf.pages[OLD] = Page(status=FetchStatus.TIMEOUT)
        for _ in range(MAX_ERRORS):
            await world.poll("a")
        assert not (await world.feed("a")).enabled
        world.shelf.pages[OLD] = Page(rss([*ITEMS, item(3)]))
    await change(world, **fields)
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.enabled, feed.redirect_url, feed.total_articles_fetched) == (True, None, 3)
    assert world.shelf.asked[-1].url == OLD


async def test_the_feed_of_a_page_stays_where_it_is_when_its_page_is_tried(world: World) -> None:
    page = b"<html><head><link rel='alternate' type='application/rss+xml' href='/rss.xml'></head><body>x</body></html>"
    await world.add_feed("a")
    world.shelf.pages[OLD] = Page(page)
    named = "https://a.example/rss.xml"
    world.shelf.pages[named] = Page(status=FetchStatus.FETCHED, body=rss(ITEMS))
    await world.poll("a")
    works, fails = world.shelf.pages[named], Page(status=FetchStatus.TIMEOUT)
    world.shelf.pages[named] = fails
    for _ in range(5):
        await world.poll("a")
    feed = await world.feed("a")
    assert (feed.consecutive_errors, feed.redirect_url, feed.last_error_fingerprint) == (5, named, "timeout")
    world.shelf.pages[named] = works
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.consecutive_errors, feed.redirect_url) == (0, named)
    await change(world, url=OLD)
    await world.poll("a")
    assert ((await world.feed("a")).redirect_url, (await world.feed("a")).consecutive_errors) == (named, 0)
