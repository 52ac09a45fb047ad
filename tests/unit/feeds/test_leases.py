"""The lease of a feed: acquired, taken over, lost and released; and a feed that is saved without a lease."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast, get_type_hints

import pytest

from models.feed import Feed, FeedAttempt, FeedAttemptDocument, FeedDocument
from services.feeds.leases import (
    INTERRUPTED_KEPT,
    MOST_DEATHS,
    MOST_INTERRUPTED,
    WORK_LEASE,
    AtWork,
    Lease,
    Leases,
    deaths_of,
    interrupted_attempts,
    is_leased,
    without_nulls,
)
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


def attempt(number: int = 1, run_id: str = "run", **fields: Any) -> FeedAttempt:
    times = {"started_at": NOW - MINUTE, **fields}
    return FeedAttempt(run_id=run_id, attempt_no=number, task_name="fetch_feed", **times)


async def stored(store: SqliteStore, **fields: Any) -> dict[str, Any]:
    return await store.create(FEEDS.name, feed(**{"created_at": NOW, "updated_at": NOW, **fields}).to_document())


async def leased(store: SqliteStore, current: FeedAttempt, **fields: Any) -> dict[str, Any]:
    lease = {"claim_id": current.run_id, "claimed_until": NOW + MINUTE, "current_attempt": current}
    return await stored(store, **lease, **fields)


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


def feed_document(**fields: Any) -> FeedDocument:
    return cast(FeedDocument, feed(**fields).to_document())


def test_a_lease_lasts_until_its_time() -> None:
    lease = {"claim_id": "run", "claimed_until": NOW + SECOND}
    assert not is_leased(feed_document(), NOW)
    assert is_leased(feed_document(**lease, current_attempt=attempt()), NOW)
    assert not is_leased(feed_document(**lease, current_attempt=attempt()), NOW + SECOND)
    assert not is_leased(feed_document(**lease), NOW), "a claim of an earlier version"


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
    assert lease.feed.current_attempt == attempt(started_at=NOW)
    assert (lease.feed.claim_id, lease.feed.claimed_until) == ("run", NOW + 3 * MINUTE)
    assert timedelta(minutes=3) == WORK_LEASE
    assert not lease.feed.recheck_entries


async def test_a_feed_that_another_run_has_the_lease_of_is_left_alone(leases: Leases, store: SqliteStore) -> None:
    assert leases.begun(await leased(store, attempt(run_id="other")), "run", 9, "fetch_feed") is None


async def test_a_disabled_feed_is_released_from_an_attempt_that_never_saved_it(
    leases: Leases, store: SqliteStore
) -> None:
    off = {"enabled": False, "disabled_reason": "by hand"}
    before = await leased(store, attempt(), **off)
    await leases.release(before)
    released = await read(store)
    assert (released.claim_id, released.claimed_until, released.current_attempt) == (None, None, None)
    assert released.interrupted_attempts == (attempt(),)
    assert released.recheck_entries
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
    assert (result == AtWork("reuters-world")) == is_at_work
    assert isinstance(result, Lease) != is_at_work


async def test_an_attempt_that_was_taken_over_is_interrupted_and_its_entries_are_checked_again(
    leases: Leases, store: SqliteStore
) -> None:
    validators = {"etag": '"1"', "last_modified": "then", "body_hash": "a" * 64}
    before = await leased(store, attempt(), **validators, recheck_entries=False)
    found = begun(leases, before, 2)
    lease = await acquired(leases, before, 2)
    assert found.feed.interrupted_attempts == lease.feed.interrupted_attempts
    assert found.feed.recheck_entries
    assert lease.feed.interrupted_attempts == (attempt(),)
    assert lease.feed.recheck_entries
    assert (lease.feed.etag, lease.feed.last_modified, lease.feed.body_hash) == (None, None, None)


async def test_a_message_that_was_sent_twice_makes_an_attempt_with_a_number_of_its_own(
    leases: Leases, store: SqliteStore
) -> None:
    before = await stored(store, interrupted_attempts=(attempt(3), attempt(9, "other")))
    assert begun(leases, before, 1).attempt_no == 4
    assert begun(leases, before, 7).attempt_no == 7


@pytest.mark.parametrize(
    ("fields", "started_at"),
    [
        ({}, NOW),
        ({"last_fetch_time": NOW - MINUTE}, NOW),
        ({"last_fetch_time": NOW + MINUTE}, NOW + MINUTE + SECOND),
        ({"last_fetch_time": NOW + MINUTE + SECOND}, NOW),
        ({"current_attempt": attempt(started_at=NOW + MINUTE + SECOND)}, NOW),
        ({"current_attempt": attempt(started_at=NOW)}, NOW + SECOND),
        ({"current_attempt": attempt(started_at=NOW), "last_fetch_time": NOW + MINUTE}, NOW + MINUTE + SECOND),
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
        {"claim_id": "other", "claimed_until": "2026-02-21T20:01:00Z", "current_attempt": attempt(1, "other")},
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
    assert await leases.acquire(begun(leases, before)) == AtWork("reuters-world")


async def test_the_lease_of_a_feed_that_is_gone_is_not_acquired(leases: Leases, store: SqliteStore) -> None:
    lease = begun(leases, await stored(store))
    await store.delete(FEEDS.name, "reuters-world", Feed.ID)
    assert await leases.acquire(lease) is None


async def test_the_time_of_the_last_change_never_goes_back(leases: Leases, store: SqliteStore, watch: Watch) -> None:
    before = await stored(store)
    watch.now = NOW - 5 * SECOND
    assert (await acquired(leases, before)).feed.updated_at == NOW


def test_interrupted_attempts_are_kept_until_they_are_counted_and_an_hour_old() -> None:
    old, recent = NOW - timedelta(hours=1), NOW - timedelta(hours=1) + SECOND
    kept = [attempt(1, started_at=old), attempt(2, started_at=recent, counted=0), attempt(4)]
    found = feed_document(
        interrupted_attempts=(*kept[:2], attempt(3, started_at=old, counted=0)), current_attempt=kept[2]
    )
    assert [each["attempt_no"] for each in interrupted_attempts(found, NOW)] == [1, 2, 4]
    assert timedelta(hours=1) == INTERRUPTED_KEPT


def test_an_interrupted_attempt_of_a_clock_that_was_ahead_is_kept_until_it_is_counted() -> None:
    times = [NOW + MINUTE, NOW + MINUTE + SECOND]
    counted = [attempt(number, started_at=at, counted=0) for number, at in enumerate(times, 1)]
    found = feed_document(interrupted_attempts=(*counted, attempt(3, started_at=times[1])))
    assert [each["attempt_no"] for each in interrupted_attempts(found, NOW)] == [1, 3]


def test_a_lease_that_ends_later_than_any_worker_sets_it_does_not_count() -> None:
    found = [
        feed_document(claim_id="run", claimed_until=NOW + WORK_LEASE + ahead, current_attempt=attempt())
        for ahead in (MINUTE, MINUTE + SECOND)
    ]
    assert [is_leased(each, NOW) for each in found] == [True, False]


def test_the_twenty_newest_interrupted_attempts_are_kept() -> None:
    many = feed_document(interrupted_attempts=tuple(attempt(number) for number in range(1, 26)))
    assert [each["attempt_no"] for each in interrupted_attempts(many, NOW)] == list(range(6, 26))
    assert MOST_INTERRUPTED == 20


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
    after = lease.feed.changed(NOW, claim_id=None, claimed_until=None, current_attempt=None, fetch_count=1)
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
    await store.upsert(FEEDS.name, without_nulls({**found, "source_name": "Renamed", "credential": None}))
    after = lease.feed.changed(NOW, claim_id=None, claimed_until=None, current_attempt=None, fetch_count=1)
    assert await leases.save([(lease, after, None)]) == [True]
    saved = await read(store)
    assert (saved.source_name, saved.credential, saved.fetch_count, saved.claim_id) == ("Renamed", None, 1, None)


@pytest.mark.parametrize("has_lease", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        {"last_fetch_time": NOW},
        {"current_attempt": attempt(2, started_at=NOW)},
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
    after = lease.feed.changed(NOW, claim_id=None, claimed_until=None, current_attempt=None, fetch_count=1)
    assert await leases.save([(lease, after, feed_seen().to_document())]) == [False]
    assert (await read(store)).fetch_count == 0
    assert await store.read(FEEDS.name, "reuters-world", "seen") is None


async def test_a_feed_that_is_gone_is_not_saved(leases: Leases, store: SqliteStore) -> None:
    lease = await acquired(leases, await stored(store))
    await store.delete(FEEDS.name, "reuters-world", Feed.ID)
    assert await leases.save([(lease, lease.feed, None)]) == [False]


async def test_a_save_whose_response_was_lost_is_recognised(leases: Leases, store: SqliteStore) -> None:
    lease = await acquired(leases, await stored(store))
    after = lease.feed.changed(NOW, claim_id=None, claimed_until=None, current_attempt=None, fetch_count=1)
    assert await leases.save([(lease, after, None)]) == [True]
    before = await store.read(FEEDS.name, "reuters-world", Feed.ID)
    assert await leases.save([(lease, after, None)]) == [True]
    assert await store.read(FEEDS.name, "reuters-world", Feed.ID) == before


def test_the_type_of_a_stored_feed_has_the_fields_of_the_model() -> None:
    stored = Feed.model_fields.keys() | set(Feed.COMPUTED)
    assert get_type_hints(FeedDocument).keys() - {"id", "_etag", "_ts"} == stored
    assert get_type_hints(FeedAttemptDocument).keys() == FeedAttempt.model_fields.keys()


def test_deaths_in_a_row_are_those_of_workers_that_worked_on_the_feed_alone_since_it_was_saved() -> None:
    before = (attempt(1, alone=True, counted=0), attempt(2), attempt(3, alone=True))
    assert deaths_of(feed_document(interrupted_attempts=before), NOW) == 1
    leased = {"claim_id": "run", "claimed_until": NOW, "current_attempt": attempt(4, alone=True)}
    assert deaths_of(feed_document(interrupted_attempts=before, **leased), NOW) == 2
    assert MOST_DEATHS == 3


@pytest.mark.parametrize(("run_id", "deaths"), [("run", 0), ("another", 1)])
async def test_an_attempt_that_its_worker_outlived_is_no_death(
    leases: Leases, store: SqliteStore, run_id: str, deaths: int
) -> None:
    begun = leases.begun(await stored(store), "run", 3, "fetch_feed", alone=True)
    assert isinstance(begun, Lease)
    await leases.acquire(begun)
    assert deaths_of(cast(FeedDocument, await document(store)), NOW) == 1
    await leases.outlived("reuters-world", run_id)
    assert deaths_of(cast(FeedDocument, await document(store)), NOW) == deaths
    await leases.outlived("gone", "run")
