"""The condition of all feeds together."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from models.document import OpenAttempt
from models.feed import VERDICTS, Outage
from models.run import WORKER_DIED
from models.story import GroupingLease
from models.values import format_time
from scripts.opening import end_claims
from services.feeds.claims import overdue_claims
from services.operations.checks import Status
from services.operations.feed_health import (
    DEGRADED_SHARE,
    FEW,
    ILL,
    NO_SUCCESS_FOR,
    FeedCounts,
    count_feeds,
    judge_feeds,
    judge_web,
    last_success,
)
from services.store.sqlite import SqliteStore
from tests.builders import existing
from tests.documents import NOW, article, document, feed, ingestion_batch
from tests.unit.conftest import Put

DAY = timedelta(days=1)


def counts(by_people: int = 0, overdue: int = 0, enabled: int | None = None, **by_verdict: int) -> FeedCounts:
    stored = sum(by_verdict.values())
    off = by_verdict.get("disabled", 0) + by_verdict.get("gone", 0)
    return FeedCounts(stored, stored - off if enabled is None else enabled, by_people, overdue, by_verdict)  # type: ignore[arg-type]


def judged(feeds: FeedCounts, success: datetime | None = NOW, **more: Any) -> tuple[Status, str]:
    check = judge_feeds(feeds, success, (), NOW, **more)
    return check.status, check.detail


def test_the_constants() -> None:
    assert (DEGRADED_SHARE, NO_SUCCESS_FOR) == (0.25, DAY)
    assert set(ILL) == {"gone", "blocked", "failing", "empty", "stale", "silent"}


@pytest.mark.parametrize(
    ("feeds", "success", "status", "detail"),
    [
        (counts(), None, "healthy", "no feeds yet: add one with POST feeds"),
        (counts(ok=3), NOW, "healthy", "feeds that are fetched when due"),
        (counts(ok=4, empty=1), NOW, "healthy", "feeds that are fetched when due; 1 of 5 are ill (1 empty)"),
        (counts(ok=3, empty=1), NOW, "degraded", "1 of 4 feeds are ill (1 empty)"),
        (counts(ok=3, disabled=1), NOW, "degraded", "1 of 4 feeds are ill (1 disabled)"),
        (counts(ok=3, disabled=9, by_people=9), NOW, "healthy", "feeds that are fetched when due"),
        (counts(ok=1, failing=3, gone=2, blocked=2, disabled=2), NOW, "degraded", "9 of 10 feeds are ill"),
        (counts(failing=3), NOW - DAY, "degraded", "3 of 3 feeds are ill"),
        (counts(failing=3), NOW - DAY - timedelta(seconds=1), "unhealthy", "no feed could be fetched since 2026-02-20"),
        (counts(disabled=3), NOW - 35 * DAY, "unhealthy", "no feed could be fetched since"),
        (counts(gone=1), None, "degraded", "none of 1 feeds is enabled"),
        (counts(disabled=2, by_people=2), NOW - 35 * DAY, "degraded", "none of 2 feeds is enabled"),
        (counts(ok=9, overdue=1), NOW, "degraded", "1 enabled feeds had no success for a day"),
    ],
)
def test_the_shares_of_ill_feeds(feeds: FeedCounts, success: datetime | None, status: Status, detail: str) -> None:
    found = judged(feeds, success)
    assert found[0] == status
    assert found[1].startswith(detail)


def test_the_facts_have_every_verdict_that_occurs_and_name_no_feed() -> None:
    shown = judge_feeds(counts(ok=3, empty=1, disabled=2, by_people=1), NOW, ("finnhub",), NOW).shown()
    assert shown["verdicts"] == {"ok": 3, "empty": 1, "disabled": 2}
    assert (shown["count"], shown["counting"], shown["ill"], shown["disabled_by_app"]) == (4, 5, 2, 1)
    assert shown["sources_off"] == ["finnhub"]


def test_feeds_that_are_off_since_workers_died_and_those_of_overdue_runs_degrade() -> None:
    deadly = replace(counts(ok=99, disabled=1), deadly=("b",))
    assert judged(deadly) == ("degraded", "disabled, since workers died: b; see disabled_reason in GET feeds")
    check = judge_feeds(counts(ok=9), NOW, (), NOW, waiting=2)
    assert (check.status, check.facts["overdue"]) == ("degraded", 2)
    assert check.detail.startswith("2 feeds wait for runs that are overdue")


async def test_feeds_of_runs_that_have_been_due_for_longer_are_counted(store: SqliteStore, put: Put) -> None:
    for minute in range(3):
        run = ingestion_batch(run_id=f"r{minute}", due_at=NOW - timedelta(minutes=minute), claimed={"a": "", "b": ""})
        await put(run)
    assert await overdue_claims(store, NOW - timedelta(minutes=1)) == 2


async def test_what_workers_had_claimed_is_free_at_a_start(store: SqliteStore, put: Put) -> None:
    later = NOW + timedelta(minutes=5)
    begun: dict[str, Any] = {"status": "RUNNING", "due_at": later, "ended_at": None}
    tried = OpenAttempt(run_id="r", attempt_no=1, started_at=NOW)
    await put(ingestion_batch(run_id="begun", **begun), GroupingLease(created_at=NOW, holder="dead"))
    await put(ingestion_batch(run_id="waiting", **begun | {"status": "QUEUED"}))
    for number, attempt in enumerate((tried, None)):
        await put(document(source_id=f"s{number}", next_eligible_attempt_at=later, open_attempt=attempt))
    for number in (1, 2):
        died = {"analysis_attempts": number, "last_error_fingerprint": WORKER_DIED, "analysis_due_since": later}
        await put(article(dedup_key=str(number) * 32, **died))
    await end_claims(store, NOW)
    names = ["dedup:" + str(number) * 32 for number in (1, 2)]
    waits = [(await existing(store, "articles", name, "article"))["analysis_due_since"] for name in names]
    assert waits == [format_time(NOW), format_time(later)], "at a second death an article waits"
    run = await existing(store, "runs", "begun", "RUN")
    assert (run["due_at"], run["status"]) == (format_time(NOW), "RUNNING"), "the next worker records the death"
    assert (await existing(store, "runs", "waiting", "RUN"))["due_at"] == format_time(later)
    due = [(await existing(store, "documents", f"s{n}", "DOCUMENT"))["next_eligible_attempt_at"] for n in (0, 1)]
    assert due == [format_time(NOW), format_time(later)]
    assert await store.read("catalog", GroupingLease.PARTITION, GroupingLease.ID) is None


def test_a_news_api_without_a_token_is_named_and_is_no_fault() -> None:
    check = judge_feeds(counts(ok=3), NOW, ("tiingo",), NOW)
    assert (check.status, "off, as they have no token: tiingo" in check.detail) == ("healthy", True)


async def test_stored_feeds_are_counted(store: SqliteStore, put: Put) -> None:
    off: dict[str, Any] = {"enabled": False, "disabled_reason": "x", "verdict": "disabled"}
    old = NOW - 2 * DAY
    await put(
        *(feed(feed_id=each, verdict=each) for each in VERDICTS if each not in ("disabled", "ok")),
        feed(feed_id="ok", verdict="ok", last_successful_fetch=old),
        feed(feed_id="by-hand", disabled_by="person", last_successful_fetch=old, **off),
        feed(feed_id="by-app", disabled_by="app", disabled_cause="worker_died", **off),
        feed(feed_id="unread"),
    )
    found = await count_feeds(store, NOW - DAY)
    assert (found.stored, found.enabled, found.by_people, found.overdue) == (14, 12, 1, 1)
    assert found.by_verdict == {**dict.fromkeys(VERDICTS, 1), "disabled": 2, "ok": 2}
    assert (found.ill, found.unreached, found.counting) == (7, 4, 13)
    assert await last_success(store) == old
    await put(*(feed(feed_id=f"f-{n}", verdict="failing") for n in range(FEW)))
    many = await count_feeds(store, None)
    assert (many.stored, many.enabled, many.by_people, many.overdue) == (14 + FEW, 12 + FEW, 1, 0)
    assert found.deadly == many.deadly == ["by-app"]
    assert many.by_verdict == {**found.by_verdict, "failing": 1 + FEW}, "the same if the store counts them"


@pytest.mark.parametrize(
    ("since", "until", "status", "detail"),
    [
        (None, None, "healthy", "the web can be reached"),
        (
            NOW - DAY,
            None,
            "degraded",
            "this installation cannot reach the web since 2026-02-20T20:00:00Z: 9 of 10",
        ),
        (NOW - DAY - timedelta(seconds=1), None, "unhealthy", "this installation cannot reach the web since"),
        (
            NOW - 3 * DAY,
            NOW,
            "healthy",
            "the web could not be reached from 2026-02-18T20:00:00Z to 2026-02-21",
        ),
    ],
)
def test_an_outage_degrades_and_after_a_day_the_app_is_unhealthy(
    since: datetime | None, until: datetime | None, status: Status, detail: str
) -> None:
    outage = None
    if since is not None:
        times = {"created_at": since, "updated_at": since, "since": since, "until": until}
        outage = Outage.model_validate({**times, "failing": 9, "answering": 1, "reasons": {"dns": 7, "timeout": 2}})
    check = judge_web(outage, NOW)
    assert check.status == status
    assert check.detail.startswith(detail)
    assert (check.facts["unreachable_since"] is not None) == (status != "healthy")
    assert ("(7 dns, 2 timeout)" in check.detail) == (status != "healthy")


def test_in_an_outage_overdue_feeds_are_no_fault_of_theirs() -> None:
    assert judged(counts(ok=9, overdue=9), is_cut_off=True)[0] == "healthy"
