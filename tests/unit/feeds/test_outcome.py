"""The feed as it is saved after a fetch that succeeded or failed, and after a release from quarantine."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.feed import MAX_ERRORS, Feed
from models.raw_item import Freshness, ParsedDocument
from services.feeds.outcome import (
    LONGEST_ERROR,
    NOTHING,
    OVER_BUDGET,
    Failure,
    Ingested,
    PollResult,
    after_failure,
    after_release,
    after_success,
    failure_of,
)
from services.feeds.schedule import Policy
from services.fetch.outcome import FetchResult, FetchStatus
from services.parse.collected import Unreadable
from tests.documents import NOW, feed

URL = "https://www.reuters.com/rssFeed/worldNews"
LATER = NOW + timedelta(minutes=20)
CALM = Policy(fetches_per_feed_hour=0.01)
"""So small a budget that a feed without articles is fetched after 15 minutes."""
MINUTE = timedelta(minutes=1)


def fetched(**fields: Any) -> FetchResult:
    return FetchResult(**{"status": FetchStatus.FETCHED, "url": URL, "status_code": 200, "duration_ms": 40, **fields})


def document(**fields: Any) -> ParsedDocument:
    return ParsedDocument(**{"version": "rss20", "items": (), **fields})


def succeeded(
    before: Feed | None = None, polled: PollResult | None = None, jitter: float = 0.0, **ingested: Any
) -> Feed:
    polled = polled or PollResult(fetched(), document())
    return after_success(before or feed(), polled, Ingested(**ingested), LATER, CALM, jitter)


def failed(before: Feed | None = None, ingested: Ingested = NOTHING, *, jitter: float = 0.0, **fields: Any) -> Feed:
    failure = Failure(**{"kind": "timeout", "error": "no response", "fingerprint": "timeout", **fields})
    return after_failure(before or feed(), failure, ingested, LATER, CALM, jitter)


def changed(before: Feed, after: Feed) -> set[str]:
    return {name for name in Feed.model_fields if getattr(before, name) != getattr(after, name)}


# What failed


def test_a_failed_fetch_is_counted_by_its_status_and_shows_its_error() -> None:
    shown: dict[str, Any] = {
        "status_code": 429,
        "error": "429 Too Many Requests",
        "fingerprint": "http_429",
        "retry_after": 30.0,
    }
    result = fetched(status=FetchStatus.RATE_LIMITED, attempts=3, **shown)
    assert failure_of(PollResult(result)) == Failure("rate_limited", duration_ms=40, tries=3, **shown)


def test_a_body_that_is_no_feed_is_a_failure_of_its_kind() -> None:
    failure = failure_of(PollResult(fetched(fingerprint="x", error="y"), problem=Unreadable("html", "a web page")))
    assert failure is not None
    assert (failure.kind, failure.error, failure.fingerprint) == ("html", "body: a web page", "html")
    assert failure.counts


def test_404_410_and_duplicates_are_permanent_and_a_feed_that_was_not_tried_has_no_error() -> None:
    failures = {status: failure_of(PollResult(fetched(status=status))) for status in FetchStatus}
    permanent = {status for status, failure in failures.items() if failure is not None and failure.permanent}
    assert permanent == {FetchStatus.NOT_FOUND, FetchStatus.GONE, FetchStatus.DUPLICATE}
    uncounted = {status for status, failure in failures.items() if failure is not None and not failure.counts}
    assert uncounted == {FetchStatus.BREAKER_OPEN, FetchStatus.POSTPONED}
    read = {status for status, failure in failures.items() if failure is None}
    assert read == {FetchStatus.FETCHED, FetchStatus.UNCHANGED, FetchStatus.NOT_MODIFIED}


def test_500_characters_of_an_error_are_kept() -> None:
    failure = failure_of(PollResult(fetched(status=FetchStatus.DNS, error="x" * 501)))
    assert failure is not None
    assert (len(failure.error), LONGEST_ERROR) == (500, 500)


# After a success


def test_a_success_clears_the_errors_and_the_deaths_of_workers() -> None:
    errors = {"consecutive_errors": 4, "last_error": "timeout", "last_error_fingerprint": "timeout"}
    after = succeeded(feed(**errors, retry_after_until=LATER))
    assert (after.consecutive_errors, after.last_error, after.last_error_fingerprint) == (0, None, None)
    assert after.retry_after_until is None


def test_a_success_saves_its_validators_status_and_duration() -> None:
    result = fetched(etag='"2"', last_modified="today", body_hash="b" * 64)
    after = succeeded(feed(etag='"1"', last_modified="then", body_hash="a" * 64), PollResult(result, document()))
    assert (after.etag, after.last_modified, after.body_hash) == ('"2"', "today", "b" * 64)
    assert (after.last_status_code, after.last_duration_ms) == (200, 40)
    assert after.last_successful_fetch == after.last_fetch_time == after.updated_at == LATER


def test_articles_are_added_to_the_total() -> None:
    after = succeeded(feed(total_articles_fetched=10, fetch_count=3), new=6)
    assert (after.total_articles_fetched, after.fetch_count, after.avg_articles_per_fetch) == (16, 4, 4.0)


@pytest.mark.parametrize(
    ("trusted", "lied", "expected"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_server_that_lied_is_not_trusted_again(trusted: bool, lied: bool, expected: bool) -> None:
    polled = PollResult(fetched(), document(), lied=lied)
    assert succeeded(feed(validators_trusted=trusted), polled, new=1).validators_trusted is expected
    assert succeeded(feed(validators_trusted=trusted), polled).validators_trusted is trusted


def test_the_document_describes_its_feed() -> None:
    freshness = Freshness(ttl_minutes=30, skip_hours=frozenset({5, 3}), skip_days=frozenset({"sunday", "monday"}))
    page = document(title="World", freshness=freshness, warnings={"bad_date": 2}, skipped={"no_title": 1})
    after = succeeded(polled=PollResult(fetched(), page))
    assert (after.title, after.ttl_minutes, after.skip_hours, after.skip_days) == (
        "World",
        30,
        (3, 5),
        ("monday", "sunday"),
    )
    assert (after.parse_warnings, after.entries_skipped) == ({"bad_date": 2}, {"no_title": 1})


@pytest.mark.parametrize(
    ("status", "max_age", "expected"),
    [
        (FetchStatus.NOT_MODIFIED, None, 900),
        (FetchStatus.NOT_MODIFIED, 60.9, 60),
        (FetchStatus.FETCHED, None, None),
        (FetchStatus.UNCHANGED, None, None),
        (FetchStatus.FETCHED, -5.0, 0),
        (FetchStatus.FETCHED, 0.0, 0),
    ],
)
def test_only_a_304_without_a_max_age_keeps_that_of_the_last_response(
    status: FetchStatus, max_age: float | None, expected: int | None
) -> None:
    after = succeeded(feed(max_age_seconds=900), PollResult(fetched(status=status, max_age=max_age)))
    assert after.max_age_seconds == expected


@pytest.mark.parametrize(
    ("found_at", "redirected_to", "expected"),
    [
        ("https://a.example/", "https://c.example/", "https://a.example/"),
        (None, "https://c.example/", "https://c.example/"),
        (None, None, "https://known.example/"),
        (None, "ftp://c.example/", "https://known.example/"),
    ],
)
def test_a_feed_that_moved_is_fetched_there_from_then_on(
    found_at: str | None, redirected_to: str | None, expected: str
) -> None:
    polled = PollResult(fetched(moved_to=redirected_to), document(), found_at=found_at)
    assert succeeded(feed(redirect_url="https://known.example/"), polled).redirect_url == expected


def test_a_feed_that_is_back_at_its_own_url_has_not_moved() -> None:
    moved = feed(redirect_url="https://known.example/")
    back = PollResult(fetched(), document(), at_own_url=True)
    assert succeeded(moved, back).redirect_url is None
    onwards = PollResult(fetched(moved_to="https://c.example/"), document(), at_own_url=True)
    assert succeeded(moved, onwards).redirect_url == "https://c.example/"
    assert succeeded(moved, PollResult(fetched(moved_to=moved.feed_url), document())).redirect_url is None


@pytest.mark.parametrize(("status", "target"), [("not_modified", None), ("unchanged", "https://c.example/")])
def test_a_redirect_is_a_move_once_its_target_has_answered_with_a_feed(status: str, target: str | None) -> None:
    polled = PollResult(fetched(status=FetchStatus(status), moved_to="https://c.example/"))
    after = succeeded(polled=polled)
    assert (after.redirect_url, after.moved_at) == (target, LATER if target else None)


@pytest.mark.parametrize(
    ("known", "page", "max_age", "minutes"),
    [
        ({}, None, None, 15),
        ({"ttl_minutes": 40}, None, None, 40),
        ({"ttl_minutes": 40}, document(freshness=Freshness(ttl_minutes=50)), None, 50),
        ({"ttl_minutes": 40}, document(), None, 15),
        ({"ttl_minutes": 40}, None, 1800.0, 30),
        ({"max_age_seconds": 3600}, None, None, 60),
        ({"skip_hours": (20,)}, None, None, 40),
        ({"skip_days": ("saturday",)}, None, None, 220),
        ({"skip_days": ("saturday",)}, document(freshness=Freshness(skip_days=frozenset({"sunday"}))), None, 15),
        ({"skip_hours": (20,)}, document(), None, 15),
    ],
)
def test_the_next_fetch_follows_what_the_server_and_the_feed_ask_for(
    known: dict[str, Any], page: ParsedDocument | None, max_age: float | None, minutes: int
) -> None:
    polled = PollResult(fetched(status=FetchStatus.NOT_MODIFIED, max_age=max_age), page)
    assert succeeded(feed(**known), polled).next_fetch_time - LATER == minutes * MINUTE


def test_jitter_shortens_the_interval() -> None:
    assert succeeded(jitter=0.5).next_fetch_time - LATER == 15 * 0.95 * MINUTE
    assert failed(jitter=0.5).next_fetch_time - LATER == 2 * 1.05 * MINUTE


def test_the_rhythm_of_the_feed_is_updated() -> None:
    before = feed(last_successful_fetch=NOW)
    after = succeeded(before, PollResult(fetched()), new=2, published=(LATER - MINUTE,))
    assert after.articles_per_hour > 0
    assert sum(after.hourly_distribution) == pytest.approx(2, rel=0.01)
    assert after.fetches_per_hour > 0


# After a failure


def test_a_failure_changes_the_outcome_the_errors_and_the_next_fetch_only() -> None:
    counted = {"consecutive_errors": 2, "total_articles_fetched": 5, "fetch_count": 2, "avg_articles_per_fetch": 2.5}
    before = feed(etag='"1"', last_modified="then", body_hash="a" * 64, articles_per_hour=3.0, **counted)
    after = failed(before, status_code=500, duration_ms=70)
    assert changed(before, after) == {
        *("last_fetch_time", "fetch_hours", "next_fetch_time", "updated_at"),
        *("last_status_code", "last_duration_ms", "last_error", "last_error_fingerprint"),
        *("consecutive_errors", "failing_since", "verdict", "verdict_since", "verdict_reason"),
    }
    assert (after.consecutive_errors, after.last_status_code, after.last_duration_ms) == (3, 500, 70)
    assert (after.last_error, after.last_error_fingerprint) == ("no response", "timeout")
    assert after.next_fetch_time - LATER == 8 * MINUTE


def test_a_failure_without_a_request_does_not_count_and_does_not_back_off() -> None:
    after = failed(feed(consecutive_errors=0), counts=False, retry_after=90.0)
    assert (after.consecutive_errors, after.next_fetch_time - LATER) == (0, 1.5 * MINUTE)
    assert after.enabled


@pytest.mark.parametrize(
    ("retry_after", "seconds"), [(None, None), (0.0, 0), (-3.0, 0), (90.0, 90), (86_400.0, 86_400), (1e9, 86_400)]
)
def test_a_retry_after_is_kept_for_up_to_a_day(retry_after: float | None, seconds: int | None) -> None:
    after = failed(feed(retry_after_until=NOW), retry_after=retry_after)
    expected = None if seconds is None else LATER + timedelta(seconds=seconds)
    assert after.retry_after_until == expected


def test_the_tenth_error_in_a_row_disables_the_feed() -> None:
    assert MAX_ERRORS == 10
    assert failed(feed(consecutive_errors=8)).enabled
    after = failed(feed(consecutive_errors=9))
    assert (after.enabled, after.disabled_at) == (False, LATER)
    assert after.disabled_reason == "10 errors in a row, the last: no response"


def test_a_permanent_failure_disables_the_feed_at_once() -> None:
    after = failed(permanent=True, error="404 Not Found")
    assert (after.enabled, after.disabled_reason, after.disabled_at) == (False, "404 Not Found", LATER)


def test_a_permanent_failure_after_a_redirect_leads_back_to_the_feeds_own_url() -> None:
    after = failed(feed(redirect_url="https://gone.example/", consecutive_errors=9), permanent=True)
    assert (after.enabled, after.redirect_url) == (True, None)
    assert failed(feed(redirect_url="https://slow.example/")).redirect_url == "https://slow.example/"
    assert not failed(feed(redirect_url="https://slow.example/", consecutive_errors=9)).enabled


def test_a_feed_that_a_person_disabled_keeps_that_reason() -> None:
    before = feed(enabled=False, disabled_reason="by hand", disabled_at=NOW)
    after = failed(before, permanent=True)
    assert (after.disabled_reason, after.disabled_at) == ("by hand", NOW)


def test_a_fetch_that_failed_in_part_forgets_the_hash_of_its_body() -> None:
    assert failed(feed(body_hash="a" * 64), Ingested(entries=1)).body_hash is None
    assert failed(feed(body_hash="a" * 64)).body_hash == "a" * 64


def test_a_fetch_that_failed_in_part_names_the_batch_that_was_quarantined() -> None:
    before = feed(quarantine_id="q1")
    assert failed(before, Ingested(entries=1, quarantine_id="q2")).quarantine_id == "q2"
    assert failed(before).quarantine_id == "q1"


# After a release


def test_a_released_batch_counts_its_articles_and_keeps_the_schedule_but_the_next_fetch_is_whole() -> None:
    known = {"daily_volume": 20_000.0, "last_fetch_time": LATER, "etag": '"1"', "last_modified": "x"}
    before = feed(quarantine_id="q1", fetch_count=2, total_articles_fetched=2, body_hash="a" * 64, **known)
    after = after_release(before, 4, LATER, "q1")
    assert (after.total_articles_fetched, after.fetch_count, after.avg_articles_per_fetch) == (6, 2, 3.0)
    assert (after.quarantine_id, after.next_fetch_time) == (None, before.next_fetch_time)
    assert (after.daily_volume, after.etag, after.last_modified, after.body_hash) == (0.0, None, None, None)
    assert after_release(before, 0, LATER, "q2").quarantine_id == "q1"


def test_a_document_that_was_cut_is_fetched_again_soon_whether_it_has_changed_or_not() -> None:
    polled = PollResult(fetched(etag='"1"', last_modified="x", body_hash="a" * 64), document())
    after = succeeded(polled=polled, skipped={OVER_BUDGET: 1})
    assert (after.etag, after.last_modified, after.body_hash) == (None, None, None)
    assert after.next_fetch_time == LATER + CALM.min_interval
    whole = succeeded(polled=polled)
    assert whole.next_fetch_time > LATER + CALM.min_interval
    assert (whole.etag, whole.last_modified, whole.body_hash) == ('"1"', "x", "a" * 64)


def test_new_articles_raise_the_daily_volume() -> None:
    before = feed(daily_volume=1_000.0, last_fetch_time=LATER - timedelta(hours=1))
    assert succeeded(before, new=9).daily_volume == pytest.approx(1_009 - 20_000 / 24, abs=0.001)
    assert failed(before).daily_volume == pytest.approx(1_000 - 20_000 / 24, abs=0.001)
    assert succeeded(new=7).daily_volume == 7
