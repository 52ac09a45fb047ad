"""A web page that was added leads to the feed that it names, and no feed is fetched twice for that."""

from models.feed import Feed
from services.feeds.form import new_feed
from services.feeds.registry import FeedRegistry
from tests.functional.articles.world import Page, World, item, rss

PAGE, NAMED = "https://news.example/blog", "https://news.example/feed.xml"
HTML = b"<html><head><link rel='alternate' type='application/rss+xml' href='%s'></head><body>News</body></html>"


async def added(world: World, url: str, name: str) -> Feed:
    fields = {"url": url, "source_name": name, "feed_id": name}
    return (await FeedRegistry(world.store, world.clock).add(new_feed(fields, world.clock()))).feed


def lay_out(world: World, link: str = "/feed.xml") -> None:
    world.shelf.pages[PAGE] = Page(HTML % link.encode())
    world.shelf.pages[NAMED] = Page(rss([item(1), item(2)]))


async def test_the_feed_that_a_page_names_is_fetched_instead_of_the_page(world: World) -> None:
    lay_out(world)
    await added(world, PAGE, "page")
    await world.poll("page")
    feed = await world.feed("page")
    assert (feed.redirect_url, feed.total_articles_fetched, feed.enabled) == (NAMED, 2, True)
    assert (await added(world, NAMED, "later")).feed_id == "page"


async def test_a_page_whose_feed_is_registered_already_is_disabled_with_the_name_of_that_feed(world: World) -> None:
    lay_out(world, "/feed.xml#top")
    await added(world, NAMED, "known")
    await world.poll("known")
    await added(world, PAGE, "page")
    asked = len(world.shelf.asked)
    await world.poll("page")
    assert [each.url for each in world.shelf.asked[asked:]] == [PAGE]
    page = await world.feed("page")
    assert (page.enabled, page.redirect_url) == (False, None)
    assert page.disabled_reason == "the feed of this page is registered already, as known"
    assert (await world.feed("known")).enabled
    assert all(each["sources"] == ["known"] for each in await world.articles())


async def test_a_feed_that_moved_to_a_registered_one_is_disabled_with_the_name_of_that_feed(world: World) -> None:
    old = "https://news.example/old"
    world.shelf.pages[NAMED] = Page(rss([item(1)]))
    world.shelf.pages[old] = Page(rss([item(1)]))
    await added(world, NAMED, "known")
    await added(world, old, "old")
    await world.poll("old")
    world.shelf.pages[old] = Page(rss([item(1), item(2)]), fields={"moved_to": NAMED})
    await world.poll("old")
    feed = await world.feed("old")
    assert (feed.enabled, feed.redirect_url) == (False, None)
    assert feed.disabled_reason == "it has moved to a feed that is registered already, as known"
    assert (await world.feed("known")).enabled


async def test_of_feeds_that_moved_to_each_other_one_stays_enabled(world: World) -> None:
    here, there = "https://news.example/here", "https://news.example/there"
    world.shelf.pages[here] = Page(rss([item(1)]), fields={"moved_to": there})
    world.shelf.pages[there] = Page(rss([item(1)]))
    await added(world, here, "here")
    await added(world, there, "there")
    await world.poll("here")
    world.shelf.pages[there] = Page(rss([item(1)]), fields={"moved_to": here})
    for _ in range(2):
        await world.poll("there")
    assert [(await world.feed(each)).enabled for each in ("here", "there")] == [False, True]
