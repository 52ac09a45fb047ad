"""The lease of a claimed feed: acquired, taken over, lost and released."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast, get_type_hints

import pytest

from models.errors import ChangedMeanwhile
from models.feed import Feed, FeedAttempt, FeedAttemptDocument, FeedDocument
from models.values import format_time
from services.feeds.leases import (
    INTERRUPTED_KEPT,
    MOST_INTERRUPTED,
    WORK_LEASE,
    AtWork,
    Lease,
    Leases,
    claimed_by,
    interrupted_attempts,
    is_claimed,
    without_nulls,
)
from services.store.containers import FEEDS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW, feed, feed_seen

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


@pytest.fixture
def leases(store: SqliteStore, watch: Watch) -> Leases:
    watch.now = NOW
    return Leases(store, watch)


def attempt(number: int = 1, run_id: str = "run", **fields: Any) -> FeedAttempt:
    times = {"started_at": NOW - MINUTE, **fields}
    return FeedAttempt(run_id=run_id, attempt_no=number, task_name="fetch_feed", **times)


async def stored(store: SqliteStore, **fields: Any) -> dict[str, Any]:
    claimed = {"claim_id": "run", "claimed_until": NOW + MINUTE, **fields}
    return await store.create(FEEDS.name, feed(created_at=NOW, updated_at=NOW, **claimed).to_document())


async def read(store: SqliteStore) -> Feed:
    document = await store.read(FEEDS.name, "reuters-world", Feed.ID)
    assert document is not None
    return Feed.from_document(document)


async def acquired(leases: Leases, document: dict[str, Any], number: int = 1) -> Lease:
    lease = await leases.acquire(document, "run", number, "fetch_feed")
    assert isinstance(lease, Lease)
    return lease


def feed_document(**fields: Any) -> FeedDocument:
    return cast(FeedDocument, feed(**fields).to_document())


def test_a_claim_lasts_until_its_time() -> None:
    assert not is_claimed(feed_document(), NOW)
    claimed = claimed_by("run", feed_document(), NOW + SECOND)
    assert claimed["claim_id"] == "run"
    assert is_claimed(claimed, NOW)
    assert not is_claimed(claimed, NOW + SECOND)


async def test_a_claimed_feed_is_acquired_for_three_minutes(leases: Leases, store: SqliteStore) -> None:
    lease = await acquired(leases, await stored(store))
    assert (lease.run_id, lease.attempt_no, lease.started_at) == ("run", 1, NOW)
    assert lease.feed == await read(store)
    assert lease.feed.current_attempt == attempt(started_at=NOW)
    assert lease.feed.claimed_until == NOW + 3 * MINUTE == NOW + WORK_LEASE
    assert not lease.feed.recheck_entries


async def test_a_feed_that_another_run_has_claimed_is_left_alone(leases: Leases, store: SqliteStore) -> None:
    assert await leases.acquire(await stored(store, claim_id="other"), "run", 1, "fetch_feed") is None
    assert await leases.acquire(None, "run", 1, "fetch_feed") is None
    assert (await read(store)).current_attempt is None


async def test_a_disabled_feed_is_acquired_only_by_a_task_that_allows_it(leases: Leases, store: SqliteStore) -> None:
    off = {"enabled": False, "disabled_reason": "by hand"}
    lease = await leases.acquire(await stored(store, **off), "run", 1, "release", even_disabled=True)
    assert isinstance(lease, Lease)
    document = await store.read(FEEDS.name, "reuters-world", Feed.ID)
    assert await leases.acquire(document, "run", 2, "fetch_feed") is None
    released = await read(store)
    assert (released.claim_id, released.claimed_until, released.current_attempt) == (None, None, None)
    assert [each.task_name for each in released.interrupted_attempts] == ["release"]
    assert released.recheck_entries


@pytest.mark.parametrize(
    ("run_id", "current", "delivery", "expired", "is_at_work"),
    [
        ("run", 1, 1, False, True),
        ("run", 2, 1, False, True),
        ("run", 1, 2, False, False),
        ("run", 1, 1, True, False),
        ("other", 1, 1, False, False),
    ],
)
async def test_a_delivery_leaves_a_feed_to_the_same_or_a_later_delivery_that_works_on_it(
    leases: Leases, store: SqliteStore, watch: Watch, run_id: str, current: int, delivery: int, expired: bool,
    is_at_work: bool,
) -> None:  # fmt: skip
    document = await stored(store, current_attempt=attempt(current, run_id))
    watch.advance(seconds=60 if expired else 59)
    result = await leases.acquire(document, "run", delivery, "fetch_feed")
    assert isinstance(result, AtWork) == is_at_work
    if is_at_work:
        assert result == AtWork("reuters-world")


async def test_an_attempt_that_was_taken_over_is_interrupted_and_its_entries_are_checked_again(
    leases: Leases, store: SqliteStore
) -> None:
    document = await stored(
        store, current_attempt=attempt(), etag='"1"', last_modified="then", body_hash="a" * 64, recheck_entries=False
    )
    lease = await acquired(leases, document, 2)
    assert lease.feed.interrupted_attempts == (attempt(),)
    assert lease.feed.recheck_entries
    assert (lease.feed.etag, lease.feed.last_modified, lease.feed.body_hash) == (None, None, None)


async def test_a_message_that_was_sent_twice_makes_an_attempt_with_a_number_of_its_own(
    leases: Leases, store: SqliteStore
) -> None:
    document = await stored(store, interrupted_attempts=(attempt(3), attempt(9, "other")))
    assert (await acquired(leases, document, 1)).attempt_no == 4
    assert (
        await acquired(leases, dict(await store.read(FEEDS.name, "reuters-world", Feed.ID) or {}), 7)
    ).attempt_no == 7


@pytest.mark.parametrize(
    ("fields", "started_at"),
    [
        ({}, NOW),
        ({"last_fetch_time": NOW - MINUTE}, NOW),
        ({"last_fetch_time": NOW + MINUTE}, NOW + MINUTE + SECOND),
        ({"current_attempt": attempt(started_at=NOW)}, NOW + SECOND),
        ({"current_attempt": attempt(started_at=NOW), "last_fetch_time": NOW + MINUTE}, NOW + MINUTE + SECOND),
    ],
)
async def test_an_attempt_starts_later_than_every_earlier_one_whatever_the_clocks_say(
    leases: Leases, store: SqliteStore, fields: dict[str, Any], started_at: Any
) -> None:
    assert (await acquired(leases, await stored(store, **fields), 2)).started_at == started_at


async def test_a_feed_that_changes_while_it_is_acquired_is_read_again(leases: Leases, store: SqliteStore) -> None:
    before = await stored(store)
    await store.upsert(FEEDS.name, {**before, "source_name": "Renamed"})
    assert (await acquired(leases, before)).feed.source_name == "Renamed"
    await store.upsert(FEEDS.name, {**before, "claim_id": "other"})
    assert await leases.acquire(before, "run", 2, "fetch_feed") is None


async def test_the_time_of_the_last_change_never_goes_back(leases: Leases, store: SqliteStore, watch: Watch) -> None:
    document = await stored(store)
    watch.now = NOW - 5 * SECOND
    assert (await acquired(leases, document)).feed.updated_at == NOW


def test_interrupted_attempts_are_kept_until_they_are_counted_and_an_hour_old() -> None:
    old, recent = NOW - timedelta(hours=1), NOW - timedelta(hours=1) + SECOND
    kept = [attempt(1, started_at=old), attempt(2, started_at=recent, counted=0), attempt(4)]
    found = feed_document(
        interrupted_attempts=(*kept[:2], attempt(3, started_at=old, counted=0)), current_attempt=kept[2]
    )
    assert [each["attempt_no"] for each in interrupted_attempts(found, NOW)] == [1, 2, 4]
    assert timedelta(hours=1) == INTERRUPTED_KEPT


def test_the_twenty_newest_interrupted_attempts_are_kept() -> None:
    many = feed_document(interrupted_attempts=tuple(attempt(number) for number in range(1, 26)))
    assert [each["attempt_no"] for each in interrupted_attempts(many, NOW)] == list(range(6, 26))
    assert MOST_INTERRUPTED == 20


async def test_a_run_that_fetches_nothing_claims_a_feed_once_it_is_free(
    leases: Leases, store: SqliteStore, watch: Watch
) -> None:
    assert await leases.claim_for("release", "reuters-world") is None
    await stored(store)
    with pytest.raises(ChangedMeanwhile):
        await leases.claim_for("release", "reuters-world")
    watch.now = NOW + MINUTE
    claimed = await leases.claim_for("release", "reuters-world")
    assert claimed is not None
    assert (claimed["claim_id"], claimed["claimed_until"]) == ("release", format_time(NOW + MINUTE + WORK_LEASE))
    assert await leases.claim_for("release", "reuters-world") == await store.read(FEEDS.name, "reuters-world", Feed.ID)


async def test_a_feed_is_saved_with_its_seen_entries(leases: Leases, store: SqliteStore) -> None:
    lease = await acquired(leases, await stored(store))
    after = lease.feed.changed(NOW, claim_id=None, claimed_until=None, current_attempt=None, fetch_count=1)
    assert await leases.save([(lease, after, feed_seen().to_document())]) == [True]
    assert await read(store) == after
    assert await store.read(FEEDS.name, "reuters-world", "seen") is not None


async def test_a_change_that_a_person_made_meanwhile_is_kept(leases: Leases, store: SqliteStore) -> None:
    lease = await acquired(leases, await stored(store, credential="FEED_CREDENTIAL_A"))
    document = await store.read(FEEDS.name, "reuters-world", Feed.ID)
    assert document is not None
    await store.upsert(FEEDS.name, without_nulls({**document, "source_name": "Renamed", "credential": None}))
    after = lease.feed.changed(NOW, claim_id=None, claimed_until=None, current_attempt=None, fetch_count=1)
    assert await leases.save([(lease, after, None)]) == [True]
    saved = await read(store)
    assert (saved.source_name, saved.credential, saved.fetch_count, saved.claim_id) == ("Renamed", None, 1, None)


@pytest.mark.parametrize(
    "change",
    [
        {"claim_id": "other"},
        {"current_attempt": attempt(2, started_at=NOW)},
        {"feed_url": "https://new.example/"},
    ],
)
async def test_a_feed_that_was_lost_to_another_attempt_is_not_saved(
    leases: Leases, store: SqliteStore, change: dict[str, Any]
) -> None:
    lease = await acquired(leases, await stored(store))
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
    assert get_type_hints(FeedDocument).keys() - {"id", "_etag", "_ts"} == Feed.model_fields.keys()
    assert get_type_hints(FeedAttemptDocument).keys() == FeedAttempt.model_fields.keys()
