"""Tries at a feed: how they begin, and how the feed is saved after them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.feed import Feed
from services.articles import feed_attempts
from services.articles.feed_attempts import FeedTry, save
from services.store.containers import FEEDS
from services.store.sqlite import SqliteStore
from tests.builders import existing
from tests.documents import NOW, feed, feed_seen, ingestion_batch
from tests.functional.articles.counting import CountingStore

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
RUN = ingestion_batch(run_id="run", invocations=2)


async def stored(store: SqliteStore, **fields: Any) -> dict[str, Any]:
    return await store.create(FEEDS.name, feed(**{"created_at": NOW, "updated_at": NOW, **fields}).to_document())


async def document(store: SqliteStore) -> dict[str, Any]:
    return await existing(store, FEEDS.name, "reuters-world", Feed.ID)


async def read(store: SqliteStore) -> Feed:
    return Feed.from_document(await document(store))


async def begun(store: SqliteStore, **fields: Any) -> FeedTry:
    return feed_attempts.begun(await stored(store, **fields), RUN, "fetch_feed", NOW)


async def test_a_try_has_the_feed_as_it_was_read_and_the_run(store: SqliteStore) -> None:
    before = await stored(store)
    one = feed_attempts.begun(before, RUN, "fetch_feed", NOW)
    assert (one.run_id, one.attempt_no, one.task_name, one.started_at) == ("run", 2, "fetch_feed", NOW)
    assert (one.document, one.feed) == (before, Feed.from_document(before))


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
    store: SqliteStore, last: Any, started_at: Any
) -> None:
    assert (await begun(store, last_fetch_time=last)).started_at == started_at


async def test_a_feed_is_saved_with_one_write(store: SqliteStore) -> None:
    counting = CountingStore(store)
    one = await begun(store)
    after = one.feed.changed(NOW, fetch_count=1, last_fetch_time=NOW)
    assert await save(counting, one, after)
    assert (counting.operations, await read(store)) == (1, after)


async def test_a_feed_is_saved_with_its_seen_entries(store: SqliteStore) -> None:
    one = await begun(store)
    after = one.feed.changed(NOW, fetch_count=1)
    assert await save(store, one, after, feed_seen().to_document())
    assert await read(store) == after
    assert await store.read(FEEDS.name, "reuters-world", "seen") is not None


async def test_a_change_that_a_person_made_meanwhile_is_kept(store: SqliteStore) -> None:
    one = await begun(store, credential="FEED_CREDENTIAL_A")
    found = await document(store)
    without = {name: value for name, value in found.items() if name != "credential"}
    await store.upsert(FEEDS.name, {**without, "source_name": "Renamed"})
    assert await save(store, one, one.feed.changed(NOW, fetch_count=1))
    saved = await read(store)
    assert (saved.source_name, saved.credential, saved.fetch_count) == ("Renamed", None, 1)


@pytest.mark.parametrize("change", [{"last_fetch_time": NOW}, {"feed_url": "https://new.example/"}])
async def test_a_feed_that_was_fetched_or_moved_meanwhile_is_not_saved(
    store: SqliteStore, change: dict[str, Any]
) -> None:
    one = await begun(store)
    await store.upsert(FEEDS.name, (await read(store)).changed(NOW, **change).to_document())
    after = one.feed.changed(NOW, fetch_count=1)
    assert not await save(store, one, after, feed_seen().to_document())
    assert (await read(store)).fetch_count == 0
    assert await store.read(FEEDS.name, "reuters-world", "seen") is None


async def test_a_feed_that_is_gone_is_not_saved(store: SqliteStore) -> None:
    one = await begun(store)
    await store.delete(FEEDS.name, "reuters-world", Feed.ID)
    assert not await save(store, one, one.feed)
