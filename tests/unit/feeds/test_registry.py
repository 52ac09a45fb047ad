"""One address, one feed, whatever happens at once or breaks off in between."""

import asyncio
from typing import Any, cast

import pytest

from models.errors import Conflict, ToolpulseError
from models.feed import Feed
from services.feeds.form import new_feed
from services.feeds.registry import Added, FeedRegistry
from services.ports import Query, Replace, Store, Upsert
from services.store.containers import FEEDS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW, feed, feed_seen
from tests.failing_stores import Interrupted, hesitant
from tests.functional.articles.counting import CountingStore

URL = "https://example.com/feed"
SPELLINGS = [URL, "http://example.com/feed", "https://EXAMPLE.com:443/feed/", "https://example.com/feed?utm_source=x"]


def wanted(url: str = URL, **fields: Any) -> Feed:
    return new_feed({"url": url, "source_name": "Example", **fields}, NOW)


async def feeds_in(store: Store) -> list[Feed]:
    return await FeedRegistry(store, lambda: NOW).every()


async def test_a_feed_is_added_once_and_known_ever_after(registry: FeedRegistry) -> None:
    first = await registry.add(wanted(priority=2.0))
    assert first.is_new
    for spelling in SPELLINGS:
        again = await registry.add(wanted(spelling, source_name="Another name"))
        assert (again.is_new, again.feed) == (False, first.feed)


async def test_feeds_that_are_here_already_are_found_in_two_reads(store: Store) -> None:
    lines = [wanted(f"https://{number}.example/feed") for number in range(150)]
    await FeedRegistry(store, lambda: NOW).add_all(lines)
    counting = CountingStore(store)
    again = await FeedRegistry(counting, lambda: NOW).add_all(lines)
    assert counting.operations == 2
    assert [(each.feed.feed_url, each.is_new) for each in again if isinstance(each, Added)] == [
        (line.feed_url, False) for line in lines
    ]


async def test_an_id_of_another_feed_is_a_conflict_and_leaves_the_address_free(registry: FeedRegistry) -> None:
    await registry.add(wanted(feed_id="news"))
    with pytest.raises(Conflict, match="id: news"):
        await registry.add(wanted("https://other.example/", feed_id="news"))
    assert (await registry.add(wanted("https://other.example/", feed_id="other"))).is_new


async def test_the_url_that_a_feed_was_redirected_to_is_that_feed(registry: FeedRegistry, store: SqliteStore) -> None:
    added = (await registry.add(wanted())).feed
    moved = added.changed(NOW, redirect_url="https://cdn.example/rss")
    await store.upsert(FEEDS.name, moved.to_document())
    again = await registry.add(wanted("https://cdn.example/rss"))
    assert (again.is_new, again.feed.feed_id) == (False, added.feed_id)


@pytest.mark.parametrize("seed", range(4))
async def test_many_that_add_one_address_at_once_get_one_feed(store: SqliteStore, watch: Watch, seed: int) -> None:
    """In two spellings or under two ids within one process; the same URL in several."""
    one = FeedRegistry(hesitant(store, seed), watch)
    several = [FeedRegistry(hesitant(store, seed * 100 + n), watch) for n in range(8)]
    spelled = [one.add(wanted(SPELLINGS[n % 4], feed_id=f"id-{n}")) for n in range(8)]
    at_once = await asyncio.gather(*spelled)
    same = await asyncio.gather(*(each.add(wanted("https://other.example/")) for each in several))
    for results in (at_once, same):
        assert len({result.feed.feed_id for result in results}) == 1
        assert sum(result.is_new for result in results) == 1
    assert len(await feeds_in(store)) == 2


async def test_a_list_may_name_an_address_twice_and_an_id_twice(registry: FeedRegistry) -> None:
    lines = [wanted(feed_id="a"), wanted(SPELLINGS[1], feed_id="b"), wanted("https://other.example/", feed_id="a")]
    first, again, refused = await registry.add_all(lines)
    assert first == Added(lines[0], is_new=True)
    assert again == Added(lines[0], is_new=False)
    assert isinstance(refused, Conflict)


@pytest.mark.parametrize("seed", range(4))
async def test_adding_an_address_while_another_feed_moves_there_leaves_one_feed_with_it(
    store: SqliteStore, watch: Watch, seed: int
) -> None:
    registry = FeedRegistry(hesitant(store, seed), watch)
    await registry.add(wanted("https://old.example/", feed_id="a"))
    await asyncio.gather(registry.change("a", {"url": URL}), registry.add(wanted(feed_id="b")), return_exceptions=True)
    at_the_address = [feed for feed in await feeds_in(store) if feed.feed_url == URL]
    assert len(at_the_address) == 1


@pytest.mark.parametrize("calls", range(5))
async def test_a_feed_that_is_saved_while_it_is_removed_leaves_nothing_behind(
    store: SqliteStore, watch: Watch, calls: int
) -> None:
    added = (await FeedRegistry(store, watch).add(wanted(feed_id="news"))).feed
    seen = feed_seen(feed_id="news").to_document()
    await store.upsert(FEEDS.name, seen)

    saved: list[bool] = []

    async def save() -> None:
        if not saved:
            saved.append(True)
            fresh = await store.read(FEEDS.name, "news", Feed.ID)
            if fresh is not None:
                await store.batch(FEEDS.name, "news", [Replace(fresh, fresh["_etag"]), Upsert(seen)])

    await FeedRegistry(cast("Store", Interrupted(store, calls, save)), watch).remove(added.feed_id)
    assert (await store.query(FEEDS.name, Query())).items == []


async def test_a_url_of_another_feed_is_a_conflict(registry: FeedRegistry) -> None:
    await registry.add(wanted())
    await registry.add(wanted("https://other.example/", feed_id="other"))
    with pytest.raises(Conflict, match="url"):
        await registry.change("other", {"url": "http://example.com/feed/"})
    assert (await registry.get("other")).feed_url == "https://other.example/"


async def test_a_feed_that_moved_releases_its_old_address(registry: FeedRegistry) -> None:
    await registry.add(wanted(feed_id="a"))
    await registry.change("a", {"url": "https://new.example/"})
    assert (await registry.add(wanted(feed_id="b"))).is_new
    assert not (await registry.add(wanted("https://new.example/"))).is_new


async def test_a_change_survives_a_worker_that_saves_at_the_same_moment(store: SqliteStore, watch: Watch) -> None:
    registry = FeedRegistry(hesitant(store, 3), watch)
    await registry.add(wanted(feed_id="a"))

    async def save() -> None:
        for count in range(20):
            found = Feed.from_document(await store.read(FEEDS.name, "a", Feed.ID) or {})
            saved = found.changed(watch(), fetch_count=count + 1)
            try:
                await store.replace(FEEDS.name, saved.to_document(), found.stored_etag or "")
            except ToolpulseError:
                continue
            await asyncio.sleep(0)

    await asyncio.gather(save(), registry.change("a", {"priority": 5}))
    after = await registry.get("a")
    assert (after.priority_score, after.fetch_count) == (5.0, 20)


async def test_an_api_source_cannot_be_removed(registry: FeedRegistry, store: SqliteStore) -> None:
    await store.create(FEEDS.name, feed(feed_id="tiingo", kind="tiingo").to_document())
    with pytest.raises(Conflict, match="disable"):
        await registry.remove("tiingo")
