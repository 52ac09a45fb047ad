"""Tries at a feed: how they begin, how the feed is saved after them, and the deaths of workers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.feed import Feed
from services.articles.feed_attempts import MAX_DEATHS, FeedSaves, FeedTry
from services.store.containers import FEEDS
from services.store.sqlite import SqliteStore
from tests.builders import Watch, existing
from tests.documents import NOW, feed, feed_seen, ingestion_batch
from tests.functional.articles.counting import CountingStore

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
RUN = ingestion_batch(run_id="run", invocations=2)


@pytest.fixture
def saves(store: SqliteStore, watch: Watch) -> FeedSaves:
    watch.now = NOW
    return FeedSaves(store, watch)


async def stored(store: SqliteStore, **fields: Any) -> dict[str, Any]:
    return await store.create(FEEDS.name, feed(**{"created_at": NOW, "updated_at": NOW, **fields}).to_document())


async def document(store: SqliteStore) -> dict[str, Any]:
    return await existing(store, FEEDS.name, "reuters-world", Feed.ID)


async def read(store: SqliteStore) -> Feed:
    return Feed.from_document(await document(store))


async def begun(saves: FeedSaves, store: SqliteStore, **fields: Any) -> FeedTry:
    return saves.begun(await stored(store, **fields), RUN, "fetch_feed")


async def test_a_try_begins_without_a_write(saves: FeedSaves, store: SqliteStore) -> None:
    before = await stored(store)
    one = saves.begun(before, RUN, "fetch_feed")
    assert (one.run_id, one.attempt_no, one.task_name, one.started_at) == ("run", 2, "fetch_feed", NOW)
    assert (one.document, one.feed) == (before, Feed.from_document(before))
    assert await document(store) == before


@pytest.mark.parametrize(
    ("last", "started_at"),
    [
        (None, NOW),
        (NOW - MINUTE, NOW),
        (NOW + MINUTE, NOW + MINUTE + SECOND),
        (NOW + MINUTE + SECOND, NOW),  # a clock was ahead
    ],
)
async def test_a_try_starts_later_than_the_last_fetch_whatever_the_clocks_say(
    saves: FeedSaves, store: SqliteStore, last: Any, started_at: Any
) -> None:
    assert (await begun(saves, store, last_fetch_time=last)).started_at == started_at


async def test_a_feed_is_saved_with_one_write(saves: FeedSaves, store: SqliteStore, watch: Watch) -> None:
    counting = CountingStore(store)
    one = await begun(saves, store)
    after = one.feed.changed(NOW, fetch_count=1, last_fetch_time=NOW)
    assert await FeedSaves(counting, watch).save(one, after)
    assert (counting.operations, await read(store)) == (1, after)


async def test_a_feed_is_saved_with_its_seen_entries(saves: FeedSaves, store: SqliteStore) -> None:
    one = await begun(saves, store)
    after = one.feed.changed(NOW, fetch_count=1)
    assert await saves.save(one, after, feed_seen().to_document())
    assert await read(store) == after
    assert await store.read(FEEDS.name, "reuters-world", "seen") is not None


async def test_a_change_that_a_person_made_meanwhile_is_kept(saves: FeedSaves, store: SqliteStore) -> None:
    one = await begun(saves, store, credential="FEED_CREDENTIAL_A")
    found = await document(store)
    without = {name: value for name, value in found.items() if name != "credential"}
    await store.upsert(FEEDS.name, {**without, "source_name": "Renamed"})
    assert await saves.save(one, one.feed.changed(NOW, fetch_count=1))
    saved = await read(store)
    assert (saved.source_name, saved.credential, saved.fetch_count) == ("Renamed", None, 1)


@pytest.mark.parametrize("change", [{"last_fetch_time": NOW}, {"feed_url": "https://new.example/"}])
async def test_a_feed_that_was_fetched_or_moved_meanwhile_is_not_saved(
    saves: FeedSaves, store: SqliteStore, change: dict[str, Any]
) -> None:
    one = await begun(saves, store)
    await store.upsert(FEEDS.name, (await read(store)).changed(NOW, **change).to_document())
    after = one.feed.changed(NOW, fetch_count=1)
    assert not await saves.save(one, after, feed_seen().to_document())
    assert (await read(store)).fetch_count == 0
    assert await store.read(FEEDS.name, "reuters-world", "seen") is None
    assert await saves.alone(one) is None


async def test_a_feed_that_is_gone_is_not_saved(saves: FeedSaves, store: SqliteStore) -> None:
    one = await begun(saves, store)
    await store.delete(FEEDS.name, "reuters-world", Feed.ID)
    assert not await saves.save(one, one.feed)
    assert await saves.alone(one) is None


async def test_a_save_whose_response_was_lost_is_recognised(saves: FeedSaves, store: SqliteStore) -> None:
    one = await begun(saves, store)
    after = one.feed.changed(NOW, fetch_count=1)
    assert await saves.save(one, after)
    before = await document(store)
    assert await saves.save(one, after)
    assert await document(store) == before


async def test_a_worker_that_works_on_a_feed_alone_counts_its_death_unless_it_survives(
    saves: FeedSaves, store: SqliteStore
) -> None:
    one = await begun(saves, store, worker_deaths=1)
    alone = await saves.alone(one)
    assert alone is not None
    assert ((await read(store)).worker_deaths, MAX_DEATHS) == (2, 3)
    await saves.survived(one)
    assert (await read(store)).worker_deaths == 1
    await saves.survived(one)
    assert (await read(store)).worker_deaths == 1
    alone = await saves.alone(saves.begun(await document(store), RUN, "fetch_feed"))
    assert alone is not None
    assert await saves.save(alone, alone.feed.changed(NOW, worker_deaths=0))
    await saves.survived(one)
    assert (await read(store)).worker_deaths == 0
