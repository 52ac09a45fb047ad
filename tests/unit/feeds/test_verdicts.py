"""The verdict on a feed, its reason, and since when it holds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from models.feed import ADVICE, VERDICTS, Feed
from models.resources.feeds import FeedResource
from services.feeds.form import changed_feed, new_feed
from services.feeds.outcome import NOTHING, Failure, after_failure
from services.feeds.schedule import Policy
from services.feeds.verdicts import (
    EMPTY_AFTER,
    FAILING_AFTER,
    SLOW_MS,
    STALE_AFTER,
    judged,
    verdict_of,
)
from tests.documents import NOW, feed

DAY = timedelta(days=1)
WELL: dict[str, Any] = {"last_successful_fetch": NOW, "last_fetch_time": NOW, "newest_article_at": NOW}
BY_APP: dict[str, Any] = {"enabled": False, "disabled_at": NOW, "disabled_by": "app"}
FAILED: dict[str, Any] = {"consecutive_errors": FAILING_AFTER, "last_error": "no response", "failing_since": NOW - DAY}

CONDITIONS: Mapping[str, dict[str, Any]] = {
    "disabled": {"enabled": False, "disabled_reason": "by hand", "disabled_at": NOW, "disabled_by": "person"},
    "gone": {**BY_APP, "disabled_reason": "410 from a.example", "disabled_cause": "gone"},
    "moved": {"redirect_url": "https://b.example/", "moved_at": NOW - DAY},
    "blocked": {"consecutive_errors": 1, "last_error": "403 from a.example", "last_status_code": 403},
    "failing": FAILED,
    "new": {"last_successful_fetch": None},
    "empty": {"empty_since": NOW - EMPTY_AFTER},
    "stale": {"newest_article_at": NOW - STALE_AFTER},
    "silent": {"newest_article_at": NOW - 4 * DAY, "longest_gaps": (24.0,) * 33},
    "lying": {"validators_trusted": False},
    "slow": {"average_duration_ms": SLOW_MS + 1},
    "ok": {},
}
"""What makes each verdict, on a feed that is otherwise well."""

PRECEDENCE = (
    "disabled", "blocked", "failing", "new", "empty", "stale", "silent", "lying", "slow", "moved", "ok",
)  # fmt: skip


def well(**changes: Any) -> Feed:
    return feed(**{**WELL, **changes})


def test_the_constants() -> None:
    assert (FAILING_AFTER, EMPTY_AFTER, STALE_AFTER, SLOW_MS) == (3, 7 * DAY, 180 * DAY, 5_000)


def test_every_verdict_is_described_and_has_a_case() -> None:
    assert set(CONDITIONS) == set(VERDICTS) == set(ADVICE)


@pytest.mark.parametrize("name", VERDICTS)
def test_each_condition_has_its_verdict_a_sentence_and_advice(name: str) -> None:
    found = judged(well(**CONDITIONS[name]))
    assert found.verdict == name
    reason = found.verdict_reason or ""
    assert (reason[0].isupper(), reason[-1], reason.count(". ") <= 1) == (True, ".", True)
    assert FeedResource.of(found).verdict_advice == ADVICE[found.verdict]
    assert (found.verdict_since or NOW + DAY) <= found.updated_at


def test_of_two_conditions_the_one_that_goes_before_wins() -> None:
    for first, second in itertools.combinations(PRECEDENCE, 2):
        both = {**CONDITIONS[second], **CONDITIONS[first]}
        if {first, second} == {"stale", "silent"}:
            both = {**CONDITIONS["stale"], "longest_gaps": (24.0,) * 33}
        if first == "new" and second in ("empty", "stale", "silent"):
            both["created_at"] = NOW
        assert verdict_of(well(**both)).verdict == first, second


@pytest.mark.parametrize(
    ("name", "changes", "verdict"),
    [
        ("errors under the number", {**FAILED, "consecutive_errors": FAILING_AFTER - 1}, "ok"),
        ("no success yet", {**FAILED, "consecutive_errors": 2, "last_successful_fetch": None}, "new"),
        ("401 is no block", {"consecutive_errors": 1, "last_error": "401", "last_status_code": 401}, "ok"),
        ("a challenge", {"consecutive_errors": 1, "last_error": "x", "last_error_fingerprint": "blocked:x"}, "blocked"),
        ("a 403 of long ago", {"consecutive_errors": 0, "last_status_code": 403}, "ok"),
        ("empty for less long", {"empty_since": NOW - EMPTY_AFTER + timedelta(seconds=1)}, "ok"),
        ("old, not yet stale", {"newest_article_at": NOW - STALE_AFTER + timedelta(seconds=1)}, "ok"),
        ("yearly, not yet stale", {"newest_article_at": NOW - 200 * DAY, "longest_gaps": (360 * 24.0,)}, "ok"),
        ("as long as its rhythm explains", {"newest_article_at": NOW - 3 * DAY, "longest_gaps": (24.0,) * 33}, "ok"),
        ("nobody has looked since", {
            "newest_article_at": NOW - 9 * DAY, "longest_gaps": (24.0,) * 33, "last_successful_fetch": NOW - 8 * DAY
        }, "ok"),
        ("as fast as it may be", {"average_duration_ms": SLOW_MS}, "ok"),
        ("the feed of a page", {"redirect_url": "https://b.example/"}, "ok"),
        ("404", {**BY_APP, "disabled_reason": "404", "disabled_cause": "not_found"}, "gone"),
        ("errors", {**BY_APP, "disabled_reason": "10 errors", "disabled_cause": "errors"}, "disabled"),
        ("a duplicate", {**BY_APP, "disabled_reason": "it has moved", "disabled_cause": "duplicate"}, "moved"),
    ],
)  # fmt: skip
def test_what_is_not_quite_so(name: str, changes: dict[str, Any], verdict: str) -> None:
    assert verdict_of(well(**changes)).verdict == verdict, name


APP: dict[str, Any] = {**BY_APP, "disabled_reason": "why"}
SILENT: dict[str, Any] = {"newest_article_at": NOW - 9 * DAY}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({**APP, "disabled_cause": "gone"}, "Its server says that it does not exist: why. It is not tried again."),
        ({**APP, "disabled_cause": "duplicate"}, "It is not fetched, since why. It is not tried again."),
        (CONDITIONS["blocked"], "Its server refuses this app: 403 from a.example."),
        (FAILED, "The last 3 fetches failed, the last with: no response."),
        (CONDITIONS["empty"], "Its feed document has no entries since 2026-02-14."),
        (CONDITIONS["stale"], "It has the same old entries at each fetch; the newest is of 2025-08-25."),
        (
            {**SILENT, "longest_gaps": (1.0, *(24.0,) * 32)},
            "Nothing new since 2026-02-12; its longest gap on the last 33 days with articles was 24 h, which explains"
            " 3 days.",
        ),
        (
            {**SILENT, "longest_gaps": (48.0,) * 33},
            "Nothing new since 2026-02-12; its longest gap on the last 33 days with articles was 2 days, which explains"
            " 6 days.",
        ),
        (
            CONDITIONS["lying"],
            "Its server called a changed feed document unmodified, so it is fetched whole each time.",
        ),
        ({"average_duration_ms": 1_000_000}, "Its server takes 1000 s on average."),
        (CONDITIONS["moved"], "It has moved, and is fetched from its new address, redirect_url."),
        ({"empty_since": NOW - DAY}, "It is fetched when due; its feed document has no entries since 2026-02-20."),
        ({"consecutive_errors": 1, "last_error": "x"}, "The last fetch failed, and is tried again: x."),
    ],
)
def test_the_reasons(changes: dict[str, Any], reason: str) -> None:
    assert verdict_of(well(**changes)).reason == reason


@pytest.mark.parametrize(("days", "verdict"), [(200, "ok"), (201, "stale")])
def test_a_feed_is_stale_beyond_its_longest_gap(days: int, verdict: str) -> None:
    found = well(newest_article_at=NOW - days * DAY, longest_gaps=(1.0, 200 * 24.0))
    assert verdict_of(found).verdict == verdict


# Since when


def test_a_verdict_that_stays_keeps_its_time_and_another_has_the_time_of_the_change() -> None:
    before = judged(well(validators_trusted=False))
    again = judged(before.changed(NOW + DAY, source_name="Another"), before)
    assert (again.verdict_since, again.updated_at) == (NOW, NOW + DAY)
    other = judged(again.changed(NOW + 2 * DAY, validators_trusted=True), again)
    assert (other.verdict, other.verdict_since) == ("ok", NOW + 2 * DAY)


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("disabled", NOW), ("gone", NOW), ("moved", NOW - DAY), ("failing", NOW - DAY), ("empty", NOW - EMPTY_AFTER),
        ("stale", NOW - STALE_AFTER), ("silent", NOW - 4 * DAY),
    ],
)  # fmt: skip
def test_a_condition_whose_beginning_is_known_has_that_time(name: str, since: object) -> None:
    after = judged(well(**CONDITIONS[name]).changed(NOW + timedelta(seconds=9)))
    assert after.verdict_since == since


def test_a_new_feed_is_new_since_it_was_added_and_a_persons_change_is_judged() -> None:
    added = new_feed({"url": "https://a.example/feed", "source_name": "A"}, NOW)
    assert (added.verdict, added.verdict_since, added.verdict_reason) == ("new", NOW, "It was not fetched yet.")
    off = changed_feed(added, {"enabled": False}, NOW + DAY)
    assert (off.verdict, off.verdict_since, off.disabled_by) == ("disabled", NOW + DAY, "person")
    on = changed_feed(off, {"enabled": True}, NOW + 2 * DAY)
    assert (on.verdict, on.disabled_by) == ("new", None)


def test_a_feed_is_blocked_since_the_first_refusal_whatever_other_errors_come_between() -> None:
    forbidden = Failure("unauthorized", "403", "unauthorized:403", status_code=403)
    timeout, found = Failure("timeout", "t", "timeout"), well()
    for minutes, failure in enumerate((timeout, forbidden, timeout, forbidden)):
        found = after_failure(found, failure, NOTHING, NOW + timedelta(minutes=minutes), Policy(), 0.0)
    assert (found.verdict, found.verdict_since) == ("blocked", NOW + timedelta(minutes=1))
    assert found.failing_since == NOW
