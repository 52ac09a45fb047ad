"""The fetches of each day are collected, kept and read alike on both stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from models.coverage import KEPT_HOURS, FetchDay, FetchHours
from models.feed import Feed
from models.values import hour_key
from services.feeds.fetch_hours import FetchDays
from services.figures.coverage import Coverage
from services.ports import Query, Store, query_all
from services.store.containers import CATALOG, FEEDS
from tests import documents
from tests.contract.conftest import SettableClock

HOUR = timedelta(hours=1)
ALL = 2**KEPT_HOURS - 1


def a_feed(name: str, clock: SettableClock, **bits: Any) -> Feed:
    """A feed that is due in two hours. All fetches of the last two days were expected."""
    hours = FetchHours(last=hour_key(clock.now), **{"expected": ALL, "succeeded": ALL, "attempted": ALL} | bits)
    due = {"last_fetch_time": clock.now, "next_fetch_time": clock.now + 2 * HOUR, "consecutive_errors": 0}
    return documents.feed(feed_id=name, feed_url=f"https://{name}.example/feed", fetch_hours=hours, **due)


async def days(store: Store) -> dict[str, FetchDay]:
    found = await query_all(store, CATALOG.name, Query(partition=FetchDay.PARTITION, limit=100))
    return {each["id"]: FetchDay.from_document(each) for each in found}


async def test_several_workers_collect_the_days_of_all_feeds_in_portions_and_every_process_reads_them(
    store: Store, another: Callable[[], Store], clock: SettableClock
) -> None:
    clock.now = clock.now.replace(hour=20, minute=17, second=31, microsecond=0)
    feeds = [a_feed(f"feed-{number}", clock) for number in range(5)]
    for feed in feeds:
        await store.create(FEEDS.name, feed.to_document())
    workers = [FetchDays(each, clock, feeds_at_once=2) for each in (store, another(), another())]
    for _ in range(4):
        await asyncio.gather(*(worker.work() for worker in workers))
    collected = await days(store)
    first = clock.now - (KEPT_HOURS - 1) * HOUR
    assert sorted(collected) == sorted({f"{first + number * HOUR:%Y%m%d}" for number in range(KEPT_HOURS)})
    for day in collected.values():
        assert sorted(day.feeds) == [feed.feed_id for feed in feeds]
    assert sum(day.feeds["feed-3"][0].bit_count() for day in collected.values()) == KEPT_HOURS
    for each in (store, another()):
        fetches = await Coverage(each).fetches(clock.now)
        assert fetches.share(first, clock.now, None) == 1.0
        assert fetches.share(first - 2 * HOUR, first - HOUR, None) is None


async def test_bits_are_added_to_a_day_and_a_standstill_is_told_from_failed_fetches(
    store: Store, another: Callable[[], Store], clock: SettableClock
) -> None:
    clock.now = clock.now.replace(hour=20, minute=17, second=31, microsecond=0)
    stopped = a_feed("stopped", clock, succeeded=ALL - 0b110, attempted=ALL - 0b110)
    failed = a_feed("failed", clock, succeeded=ALL - 0b110)
    for feed in (stopped, failed):
        await store.create(FEEDS.name, feed.to_document())
    assert await FetchDays(store, clock).work() == 2
    before = await days(store)
    assert await FetchDays(another(), clock).work() == 2
    assert await days(store) == before
    fetches = await Coverage(another()).fetches(clock.now)
    start, end = clock.now - 2 * HOUR, clock.now.replace(minute=0, second=0)
    assert fetches.share(start, end, {"stopped"}) is None
    assert fetches.share(start, end, {"failed"}) == fetches.share(start, end, None) == 0.0
    assert fetches.share(start, clock.now, {"stopped"}) == 0.3333
    clock.now += 5 * HOUR
    assert await FetchDays(store, clock).work() == 2
    assert sum(day.feeds["stopped"][0].bit_count() for day in (await days(store)).values()) > KEPT_HOURS
    after = await days(store)
    for name, day in before.items():
        for feed_id, bits in day.feeds.items():
            assert all(now | was == now for was, now in zip(bits, after[name].feeds[feed_id], strict=True))
