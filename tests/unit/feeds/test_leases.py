"""The lease of a feed: acquired, taken over, lost and released; and a feed that is saved without a lease."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.feed import Feed, FeedLease
from services.feeds.leases import MOST_DEATHS, WORK_LEASE, Lease, Leases, is_leased, leasing_run
from services.store.containers import FEEDS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW, feed, feed_seen
from tests.functional.articles.counting import CountingStore

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


@pytest.fixture
def leases(store: SqliteStore, watch: Watch) -> Leases:
    watch.now = NOW
    return Leases(store, watch)


def attempt(number: int = 1, run_id: str = "run", **fields: Any) -> FeedLease:
    times = {"started_at": NOW - MINUTE, "until": NOW + MINUTE, **fields}
    return FeedLease(run_id=run_id, attempt_no=number, task_name="fetch_feed", **times)


async def stored(store: SqliteStore, **fields: Any) -> dict[str, Any]:
    return await store.create(FEEDS.name, feed(**{"created_at": NOW, "updated_at": NOW, **fields}).to_document())


async def leased(store: SqliteStore, lease: FeedLease, **fields: Any) -> dict[str, Any]:
    return await stored(store, lease=lease, **fields)


async def read(store: SqliteStore) -> Feed:
    document = await store.read(FEEDS.name, "reuters-world", Feed.ID)
    assert document is not None
    return Feed.from_document(document)


async def document(store: SqliteStore) -> dict[str, Any]:
    found = await store.read(FEEDS.name, "reuters-world", Feed.ID)
    assert found is not None
    return found


def begun(leases: Leases, document: dict[str, Any], number: int = 1, run_id: str = "run") -> Lease:
    lease = leases.begun(document, run_id, number, "fetch_feed")
    assert isinstance(lease, Lease)
    return lease


async def acquired(leases: Leases, document: dict[str, Any], number: int = 1) -> Lease:
    lease = await leases.acquire(begun(leases, document, number))
    assert isinstance(lease, Lease)
    return lease


def test_a_lease_lasts_until_its_time() -> None:
    held = feed(lease=attempt(until=NOW + SECOND))
    assert not is_leased(feed(), NOW)
    assert is_leased(held, NOW)
    assert not is_leased(held, NOW + SECOND)
    assert (leasing_run(held.to_document(), NOW), leasing_run(held.to_document(), NOW + SECOND)) == ("run", None)
    assert leasing_run(feed().to_document(), NOW) is None


async def test_an_attempt_begins_without_a_write(leases: Leases, store: SqliteStore) -> None:
    before = await stored(store)
    lease = begun(leases, before)
    assert (lease.run_id, lease.attempt_no, lease.started_at, lease.is_stored) == ("run", 1, NOW, False)
    assert (lease.document, lease.feed) == (before, Feed.from_document(before))
    assert await document(store) == before


async def test_a_lease_is_acquired_for_three_minutes(leases: Leases, store: SqliteStore) -> None:
    lease = await acquired(leases, await stored(store))
    assert (lease.run_id, lease.attempt_no, lease.started_at, lease.is_stored) == ("run", 1, NOW, True)
    assert lease.feed == await read(store)
    assert lease.feed.lease == attempt(started_at=NOW, until=NOW + 3 * MINUTE)
    assert timedelta(minutes=3) == WORK_LEASE


async def test_a_feed_that_another_run_has_the_lease_of_is_left_alone(leases: Leases, store: SqliteStore) -> None:
    assert leases.begun(await leased(store, attempt(run_id="other")), "run", 9, "fetch_feed") is None


async def test_a_disabled_feed_is_released_from_an_attempt_that_never_saved_it(
    leases: Leases, store: SqliteStore
) -> None:
    off = {"enabled": False, "disabled_reason": "by hand"}
    before = await leased(store, attempt(), **off)
    await leases.release(before)
    released = await read(store)
    assert released.lease is None
    await leases.release(before)
    assert await read(store) == released, "another worker was first"


@pytest.mark.parametrize(
    ("current", "delivery", "expired", "is_at_work"),
    [(1, 1, False, True), (2, 1, False, True), (1, 2, False, False), (1, 1, True, False)],
)
async def test_a_delivery_leaves_a_feed_to_the_same_or_a_later_delivery_that_has_the_lease(
    leases: Leases, store: SqliteStore, watch: Watch, current: int, delivery: int, expired: bool, is_at_work: bool
) -> None:
    before = await leased(store, attempt(current))
    watch.advance(seconds=60 if expired else 59)
    result = leases.begun(before, "run", delivery, "fetch_feed")
    assert (result is None) == is_at_work


async def test_an_attempt_knows_the_one_whose_lease_it_takes_over(leases: Leases, store: SqliteStore) -> None:
    before = await leased(store, attempt(3))
    found = leases.begun(before, "run", 4, "fetch_feed")
    assert isinstance(found, Lease)
    assert (found.died, found.feed.lease, found.attempt_no) == (attempt(3), None, 4)
    assert begun(leases, await leased_by(store, "b"), 1, "another").died is not None


async def leased_by(store: SqliteStore, run_id: str) -> dict[str, Any]:
    return await stored(store, feed_id=run_id, lease=attempt(1, run_id, until=NOW - SECOND))


async def test_a_message_that_was_sent_twice_makes_an_attempt_with_a_number_of_its_own(
    leases: Leases, store: SqliteStore
) -> None:
    before = await stored(store, lease=attempt(3, until=NOW))
    assert begun(leases, before, 1).attempt_no == 4
    assert begun(leases, before, 7).attempt_no == 7


@pytest.mark.parametrize(
    ("fields", "started_at"),
    [
        ({}, NOW),
        ({"last_fetch_time": NOW - MINUTE}, NOW),
        ({"last_fetch_time": NOW + MINUTE}, NOW + MINUTE + SECOND),
        ({"last_fetch_time": NOW + MINUTE + SECOND}, NOW),
        ({"lease": attempt(started_at=NOW + MINUTE + SECOND)}, NOW),
        ({"lease": attempt(started_at=NOW)}, NOW + SECOND),
        ({"lease": attempt(started_at=NOW), "last_fetch_time": NOW + MINUTE}, NOW + MINUTE + SECOND),
    ],
)
async def test_an_attempt_starts_later_than_every_earlier_one_whatever_the_clocks_say(
    leases: Leases, store: SqliteStore, fields: dict[str, Any], started_at: Any
) -> None:
    assert (await acquired(leases, await stored(store, **fields), 2)).started_at == started_at


async def test_a_change_of_a_person_before_the_lease_is_acquired_is_kept(leases: Leases, store: SqliteStore) -> None:
    before = await stored(store)
    await store.upsert(FEEDS.name, {**before, "source_name": "Renamed"})
    assert (await acquired(leases, before)).feed.source_name == "Renamed"


@pytest.mark.parametrize(
    "change",
    [
        {"last_fetch_time": "2026-02-21T20:00:01Z"},
        {"feed_url": "https://new.example/"},
        {"lease": attempt(1, "other")},
    ],
)
async def test_the_lease_of_a_feed_that_another_attempt_has_had_is_not_acquired(
    leases: Leases, store: SqliteStore, change: dict[str, Any]
) -> None:
    before = await stored(store)
    other = Feed.from_document({**before, **change})
    await store.upsert(FEEDS.name, other.to_document())
    assert await leases.acquire(begun(leases, before)) is None
    assert await read(store) == other


async def test_of_two_deliveries_one_acquires_the_lease(leases: Leases, store: SqliteStore) -> None:
    before = await stored(store)
    await acquired(leases, before)
    assert await leases.acquire(begun(leases, before)) is None


async def test_the_lease_of_a_feed_that_is_gone_is_not_acquired(leases: Leases, store: SqliteStore) -> None:
    lease = begun(leases, await stored(store))
    await store.delete(FEEDS.name, "reuters-world", Feed.ID)
    assert await leases.acquire(lease) is None


async def test_the_time_of_the_last_change_never_goes_back(leases: Leases, store: SqliteStore, watch: Watch) -> None:
    before = await stored(store)
    watch.now = NOW - 5 * SECOND
    assert (await acquired(leases, before)).feed.updated_at == NOW


def test_a_lease_that_ends_later_than_any_worker_sets_it_does_not_count() -> None:
    found = [feed(lease=attempt(until=NOW + WORK_LEASE + ahead)) for ahead in (MINUTE, MINUTE + SECOND)]
    assert [is_leased(each, NOW) for each in found] == [True, False]


async def test_a_feed_is_saved_with_one_write_by_an_attempt_that_found_nothing_new(
    leases: Leases, store: SqliteStore, watch: Watch
) -> None:
    counting = CountingStore(store)
    lease = begun(Leases(counting, watch), await stored(store))
    after = lease.feed.changed(NOW, fetch_count=1, last_fetch_time=NOW)
    assert await Leases(counting, watch).save([(lease, after, None)]) == [True]
    assert (counting.operations, await read(store)) == (1, after)


async def test_a_feed_is_saved_with_its_seen_entries(leases: Leases, store: SqliteStore) -> None:
    lease = await acquired(leases, await stored(store))
    after = lease.feed.changed(NOW, lease=None, fetch_count=1)
    assert await leases.save([(lease, after, feed_seen().to_document())]) == [True]
    assert await read(store) == after
    assert await store.read(FEEDS.name, "reuters-world", "seen") is not None


@pytest.mark.parametrize("has_lease", [True, False])
async def test_a_change_that_a_person_made_meanwhile_is_kept(
    leases: Leases, store: SqliteStore, has_lease: bool
) -> None:
    before = await stored(store, credential="FEED_CREDENTIAL_A")
    lease = await acquired(leases, before) if has_lease else begun(leases, before)
    found = await document(store)
    without = {name: value for name, value in found.items() if name != "credential"}
    await store.upsert(FEEDS.name, {**without, "source_name": "Renamed"})
    after = lease.feed.changed(NOW, lease=None, fetch_count=1)
    assert await leases.save([(lease, after, None)]) == [True]
    saved = await read(store)
    assert (saved.source_name, saved.credential, saved.fetch_count, saved.lease) == ("Renamed", None, 1, None)


@pytest.mark.parametrize("has_lease", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        {"last_fetch_time": NOW},
        {"lease": attempt(2, started_at=NOW)},
        {"feed_url": "https://new.example/"},
    ],
)
async def test_a_feed_that_was_lost_to_another_attempt_is_not_saved(
    leases: Leases, store: SqliteStore, change: dict[str, Any], has_lease: bool
) -> None:
    before = await stored(store)
    lease = await acquired(leases, before) if has_lease else begun(leases, before)
    theirs = (await read(store)).changed(NOW, **change)
    await store.upsert(FEEDS.name, theirs.to_document())
    after = lease.feed.changed(NOW, lease=None, fetch_count=1)
    assert await leases.save([(lease, after, feed_seen().to_document())]) == [False]
    assert (await read(store)).fetch_count == 0
    assert await store.read(FEEDS.name, "reuters-world", "seen") is None


async def test_a_feed_that_is_gone_is_not_saved(leases: Leases, store: SqliteStore) -> None:
    lease = await acquired(leases, await stored(store))
    await store.delete(FEEDS.name, "reuters-world", Feed.ID)
    assert await leases.save([(lease, lease.feed, None)]) == [False]


async def test_a_save_whose_response_was_lost_is_recognised(leases: Leases, store: SqliteStore) -> None:
    lease = await acquired(leases, await stored(store))
    after = lease.feed.changed(NOW, lease=None, fetch_count=1)
    assert await leases.save([(lease, after, None)]) == [True]
    before = await store.read(FEEDS.name, "reuters-world", Feed.ID)
    assert await leases.save([(lease, after, None)]) == [True]
    assert await store.read(FEEDS.name, "reuters-world", Feed.ID) == before


async def test_deaths_in_a_row_are_those_of_workers_that_worked_on_the_feed_alone(
    leases: Leases, store: SqliteStore
) -> None:
    assert begun(leases, await leased(store, attempt(3, alone=True), worker_deaths=1), 4).feed.worker_deaths == 2
    assert begun(leases, await stored(store, feed_id="b", lease=attempt(1), worker_deaths=1), 4).feed.worker_deaths == 1
    lease = begun(leases, await document(store), 4)
    taken = await leases.acquire(lease)
    assert isinstance(taken, Lease)
    assert ((await read(store)).worker_deaths, MOST_DEATHS) == (2, 3)


@pytest.mark.parametrize(("run_id", "deaths"), [("run", 0), ("another", 1)])
async def test_an_attempt_that_its_worker_outlived_is_no_death(
    leases: Leases, store: SqliteStore, run_id: str, deaths: int
) -> None:
    first = leases.begun(await stored(store), "run", 3, "fetch_feed", alone=True)
    assert isinstance(first, Lease)
    await leases.acquire(first)
    await leases.outlived("reuters-world", run_id)
    assert begun(leases, await document(store), 4).feed.worker_deaths == deaths
    await leases.outlived("gone", "run")
