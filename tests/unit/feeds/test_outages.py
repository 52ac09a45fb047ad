"""Whether this installation cannot reach the web, by what is known of hosts."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from models.feed import HostState, Outage
from services.feeds.outages import (
    AT_ONCE,
    BEFORE,
    COUNTED_EVERY,
    HOSTS_AT_LEAST,
    KEPT,
    RECENT,
    RETRY,
    SHARE,
    TRIED,
    WRONG,
    begun_outage,
    continued_outage,
    failing_lately,
    is_news,
    may_begin,
)
from services.feeds.outcome import NOTHING, Failure, after_failure
from services.feeds.schedule import Policy
from services.fetch.outcome import NO_ANSWER
from tests.documents import NOW, feed

MINUTE = timedelta(minutes=1)


def failing(number: int, begun: float = 1.0, lately: float = 0.0, reason: str = "dns:unknown_name") -> HostState:
    return HostState(
        created_at=NOW - begun * MINUTE,
        updated_at=NOW - lately * MINUTE,
        host=f"{number}.example",
        failures=2,
        reason=reason,
    )


def several(count: int, begun: float = 1.0, first: int = 0) -> list[HostState]:
    return [failing(first + number, begun) for number in range(count)]


def answered(*minutes_ago: float, first: int = 100) -> dict[str, datetime]:
    return {f"{first + number}.example": NOW - each * MINUTE for number, each in enumerate(minutes_ago)}


def outage(**changes: object) -> Outage:
    fields = {"created_at": NOW, "updated_at": NOW, "since": NOW - 60 * MINUTE, "failing": 5, "answering": 0}
    return Outage.model_validate({**fields, **changes})


def test_the_constants() -> None:
    assert (HOSTS_AT_LEAST, SHARE, TRIED) == (3, 0.8, 0.6)
    assert (AT_ONCE, RECENT, BEFORE, RETRY, COUNTED_EVERY) == (
        20 * MINUTE, 5 * MINUTE, 15 * MINUTE, 2 * MINUTE, MINUTE,
    )  # fmt: skip
    assert timedelta(days=1) == KEPT
    assert {"timeout", "dns", "connection", "tls"} == NO_ANSWER


def test_an_error_or_a_page_instead_of_a_feed_may_be_somebody_elses_answer() -> None:
    assert {"server_error", "unauthorized", "not_found", "html", "not_a_feed", "empty", "redirect_loop"} <= WRONG
    assert {"rate_limited", "too_large", "duplicate", "postponed", "breaker_open", "internal_error"}.isdisjoint(WRONG)


def test_hosts_that_ask_to_wait_or_failed_long_ago_are_no_evidence() -> None:
    hosts = [
        failing(1, 2),
        failing(2, 9, reason="429"),
        failing(3, 9, reason="503"),
        failing(4, 9, 5),
        failing(5, 9, 5.1),
    ]
    assert [each.host for each in failing_lately(hosts, NOW)] == ["4.example", "1.example"]


@pytest.mark.parametrize(
    ("hosts", "count"),
    [
        (several(2), 0),
        (several(3, 20), 3),
        (several(3, 20.1), 0),
        ([*several(9, 600), *several(2, 1, 9)], 0),
        ([*several(9, 600), *several(3, 1, 9)], 3),
    ],
)
def test_an_outage_needs_hosts_that_began_to_fail_at_once(hosts: list[HostState], count: int) -> None:
    assert len(may_begin(failing_lately(hosts, NOW), NOW)) == count


@pytest.mark.parametrize(
    ("hosts", "others", "since"),
    [
        (several(3), {}, 1.0),
        (several(3), answered(0.5), None),
        (several(4), answered(0.5), 1.0),
        (several(4), answered(5, 5), 1.0),
        (several(4), answered(5, 5, 5), None),
        (several(3), answered(1.0), None),
        (several(4), answered(5, 5, 21), 1.0),
        ([failing(0, 15), *several(4, 1, 1)], answered(5, 5), 1.0),
        ([failing(0, 15), *several(2, 1, 1)], answered(5, 5), None),
        (several(3), answered(0.5, first=0), 1.0),
    ],
)
def test_most_of_the_hosts_that_were_tried_must_fail(
    hosts: list[HostState], others: dict[str, datetime], since: float | None
) -> None:
    found = begun_outage(failing_lately(hosts, NOW), others, NOW)
    assert (found.since if found else None) == (None if since is None else NOW - since * MINUTE)


@pytest.mark.parametrize(
    ("hosts", "others", "lasts"),
    [
        ([], {}, True),
        (several(4, 300), answered(4), True),
        (several(3, 300), answered(4), False),
        (several(3, 300), answered(6), True),
        (several(3, 300), answered(5), False),
        (several(1, 300), {}, True),
    ],
)
def test_an_outage_lasts_until_hosts_answer(hosts: list[HostState], others: dict[str, datetime], lasts: bool) -> None:
    after = continued_outage(outage(), hosts, others, NOW)
    assert after.lasts == lasts
    assert after.until == (None if lasts else NOW)
    assert after.since == outage().since


def test_what_has_not_changed_is_stored_once_a_minute() -> None:
    later = outage(updated_at=NOW + timedelta(seconds=59))
    assert not is_news(outage(), later)
    assert is_news(outage(), outage(updated_at=NOW + MINUTE))
    assert is_news(None, outage())
    assert is_news(outage(), outage(until=NOW))
    assert is_news(outage(until=NOW), outage())


# The feed


def after(before: object, since: datetime | None = NOW - 30 * MINUTE, jitter: float = 0.0) -> object:
    failure = Failure("dns", "no such name", "dns:unknown_name")
    return after_failure(before, failure, NOTHING, NOW, Policy(), jitter, since)  # type: ignore[arg-type]


@pytest.mark.parametrize(("minutes", "errors"), [(46, 3), (45, 0), (5, 0)])
def test_errors_that_began_with_the_outage_are_forgiven(minutes: float, errors: int) -> None:
    kind = {"last_error": "x", "last_error_fingerprint": "timeout:read"}
    before = feed(consecutive_errors=3, failing_since=NOW - minutes * MINUTE, **kind, verdict="failing")
    found = after(before)
    assert found.consecutive_errors == errors  # type: ignore[attr-defined]
    assert (found.last_error is None) == (errors == 0)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("jitter", "minutes"), [(0.0, 2), (1.0, 4)])
def test_in_an_outage_a_feed_is_due_again_soon(jitter: float, minutes: float) -> None:
    found = after(feed(consecutive_errors=9, failing_since=NOW - 300 * MINUTE, last_error="x"), jitter=jitter)
    assert found.next_fetch_time == NOW + minutes * MINUTE  # type: ignore[attr-defined]
    assert (found.enabled, found.consecutive_errors) == (True, 9)  # type: ignore[attr-defined]
