"""A feed that says it has moved: it moves only to a feed, and finds its way back."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from models.feed import MOST_ERRORS
from services.feeds.form import feed_change, new_feed
from services.feeds.registry import FeedRegistry
from services.fetch.outcome import FetchStatus
from tests.functional.articles.world import Item, Page, World, item, rss

OLD, NEW = "https://a.example/feed", "https://new.example/feed"
ITEMS = [item(1), item(2)]
BROKEN = {
    "gone": Page(status=FetchStatus.NOT_FOUND),
    "hanging": Page(status=FetchStatus.TIMEOUT),
    "a web page": Page(b"<html><body>Sorry</body></html>"),
    "empty": Page(b""),
}


def says_it_moved(items: Iterable[Item], to: str = NEW) -> bytes:
    moved = b"<channel><itunes:new-feed-url>%s</itunes:new-feed-url>" % to.encode()
    namespace = b"<rss xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'"
    return rss(items).replace(b"<rss", namespace).replace(b"<channel>", moved)


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


async def test_the_url_of_another_feed_is_no_move_unless_both_have_the_same_entries(world: World) -> None:
    other = new_feed({"url": NEW, "source_name": "other", "feed_id": "other"}, world.clock())
    await FeedRegistry(world.store, world.clock).add(other)
    world.shelf.pages[NEW] = Page(rss([item(50)]))
    await world.add_feed("a")
    world.shelf.pages[OLD] = Page(says_it_moved(ITEMS))
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.enabled, feed.redirect_url, feed.parse_warnings) == (True, None, {"move_refused": 1})
    world.shelf.pages[OLD] = Page(says_it_moved([*ITEMS, item(50)]))
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.enabled, feed.disabled_reason) == (
        False,
        "it has moved to a feed that is registered already, as other",
    )


async def moved(world: World) -> None:
    """A feed that has moved, and whose new URL does not answer any more."""
    await world.add_feed("a")
    world.shelf.pages[OLD] = Page(says_it_moved(ITEMS))
    world.shelf.pages[NEW] = Page(rss(ITEMS))
    await world.poll("a")
    await world.poll("a")
    assert (await world.feed("a")).fetch_url == NEW
    world.shelf.pages[NEW] = Page(status=FetchStatus.TIMEOUT)
    world.shelf.pages[OLD] = Page(rss([*ITEMS, item(3)]))


async def test_after_three_errors_a_feed_that_moved_is_tried_at_its_own_url(world: World) -> None:
    await moved(world)
    for _ in range(3):
        await world.poll("a")
    assert (await world.feed("a")).consecutive_errors == 3
    await world.poll("a")
    feed = await world.feed("a")
    assert (feed.consecutive_errors, feed.redirect_url, feed.total_articles_fetched) == (0, None, 3)


@pytest.mark.parametrize("fields", [{"url": OLD}, {"enabled": True}, {"url": OLD, "enabled": True}])
async def test_a_feed_that_moved_comes_back_when_a_person_asks_for_it(world: World, fields: dict[str, object]) -> None:
    await moved(world)
    if "enabled" in fields:
        world.shelf.pages[OLD] = Page(status=FetchStatus.TIMEOUT)
        for _ in range(MOST_ERRORS):
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


# Chains of moves


def chain(world: World, *urls: str, last: str | None = None) -> None:
    """Each URL names the next as its new one; the last one names `last`."""
    for url, following in zip(urls, (*urls[1:], last), strict=True):
        world.shelf.pages[url] = Page(says_it_moved(ITEMS, following) if following else rss(ITEMS))


async def polls(world: World, count: int) -> list[str]:
    """The URLs from which the feed is fetched after each poll."""
    found = []
    for number in range(count):
        for page in world.shelf.pages.values():
            page.body = page.body.replace(
                b"<title>News</title>", b"<title>News</title><generator>%d</generator>" % number
            )
        await world.poll("a")
        found.append((await world.feed("a")).fetch_url)
    return found


@pytest.mark.parametrize(
    ("urls", "last"),
    [
        ((OLD, NEW), OLD),
        ((OLD, NEW), NEW),
        ((OLD, NEW, "https://c.example/"), OLD),
        ((OLD, NEW, "https://c.example/"), NEW),
        ((OLD, *(f"https://{number}.example/" for number in range(9))), None),
        ((OLD, NEW), "http://127.0.0.1/feed"),
        ((OLD, NEW), "http://169.254.169.254/latest"),
    ],
)
async def test_moves_that_lead_back_or_nowhere_leave_the_feed_where_it_is(
    world: World, urls: tuple[str, ...], last: str | None
) -> None:
    await world.add_feed("a")
    chain(world, *urls, last=last)
    if last is not None and not last.startswith("https"):
        world.shelf.pages[last] = Page(status=FetchStatus.REFUSED_ADDRESS)
    expected = NEW if last == NEW and len(urls) == 2 else OLD
    assert await polls(world, 6) == [expected] * 6
    feed = await world.feed("a")
    assert (feed.consecutive_errors, feed.total_articles_fetched) == (0, 2)
    assert feed.parse_warnings == ({} if expected == NEW else {"move_refused": 1})


async def test_a_feed_that_moved_several_times_is_fetched_at_its_last_address(world: World) -> None:
    last = "https://c.example/"
    await world.add_feed("a")
    chain(world, OLD, NEW, last)
    assert await polls(world, 3) == [last] * 3
    feed = await world.feed("a")
    assert (feed.verdict, feed.moved_at is not None) == ("moved", True)


async def test_a_feed_that_moved_goes_back_only_if_its_own_address_has_a_feed(world: World) -> None:
    await world.add_feed("a")
    chain(world, OLD, NEW)
    assert await polls(world, 1) == [NEW]
    world.shelf.pages[OLD] = Page(status=FetchStatus.NOT_FOUND)
    world.shelf.pages[NEW] = Page(says_it_moved(ITEMS, OLD))
    assert await polls(world, 2) == [NEW] * 2
    world.shelf.pages[OLD] = Page(rss(ITEMS))
    assert await polls(world, 2) == [OLD] * 2
    assert (await world.feed("a")).moved_at is None


async def test_two_feeds_that_name_each_other_stay_two_feeds(world: World) -> None:
    other = new_feed({"url": NEW, "source_name": "other", "feed_id": "other"}, world.clock())
    await FeedRegistry(world.store, world.clock).add(other)
    await world.add_feed("a")
    world.shelf.pages[OLD] = Page(says_it_moved(ITEMS, NEW))
    world.shelf.pages[NEW] = Page(says_it_moved([item(50)], OLD))
    for name in ("a", "other", "a", "other"):
        await world.poll(name)
    assert [(await world.feed(each)).enabled for each in ("a", "other")] == [True, True]
