"""What the attempts of an ingestion run add up to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.run import MOST_ERRORS_KEPT, Attempt, CollisionMetrics, JobRun
from services.runs import rules
from services.runs.ingestion import summary
from tests.documents import NOW, attempt


def ended(**fields: Any) -> JobRun:
    begun = rules.begun(rules.queued("ingest_feeds", "r", NOW), "call", NOW + timedelta(milliseconds=250))
    return rules.ended(begun, "SUCCEEDED", NOW + timedelta(milliseconds=1750)).changed(NOW, **fields)


def fetched(feed: str, found: int | None = None, stored: int | None = None, joined: int | None = None) -> Attempt:
    counts = {"articles_found": found, "articles_stored": stored, "collisions_detected": joined}
    return attempt(subject=feed, status="SUCCEEDED", **counts)


def failed(feed: str, message: str | None = "it was down", **fields: Any) -> Attempt:
    return attempt(subject=feed, status="FAILED", error_type="timeout", error_message=message, **fields)


def metrics_of(*attempts: Attempt) -> CollisionMetrics:
    metrics = summary(ended(), attempts)["metrics"]
    assert isinstance(metrics, CollisionMetrics)
    return metrics


def test_counts_are_sums_over_the_sources() -> None:
    metrics = metrics_of(fetched("a", 10, 6, 2), fetched("b", 5, 0, 1), fetched("c"))
    assert metrics.articles_fetched == {"a": 10, "b": 5, "c": 0}
    assert (metrics.articles_stored, metrics.collisions_detected, metrics.collision_rate) == (6, 3, 0.2)
    assert (metrics.invocation_id, metrics.timestamp, metrics.duration_ms) == ("call", NOW, 1500)


def test_counts_are_sums_over_all_attempts_since_each_counts_what_it_added_itself() -> None:
    first = failed("a", articles_found=4, articles_stored=3, collisions_detected=1)
    second = attempt(subject="a", status="SUCCEEDED", attempt_no=2, articles_found=4, articles_stored=1)
    metrics = metrics_of(first, second)
    assert (metrics.articles_fetched, metrics.articles_stored, metrics.collisions_detected) == ({"a": 8}, 4, 1)


def test_what_was_stored_or_joined_was_fetched_though_the_worker_died_before_it_counted() -> None:
    assert metrics_of(failed("a", articles_stored=2, collisions_detected=3)).articles_fetched == {"a": 5}


def test_a_run_without_attempts_adds_up_to_nothing() -> None:
    says = summary(ended(), ())
    assert (says["progress"], says["sources_queried"], says["errors"]) == (0, (), ())
    assert says["metrics"].collision_rate == 0.0


def test_a_run_that_has_no_invocation_is_named_by_its_id() -> None:
    metrics = summary(ended(invocation_id=None, running_since=None), ())["metrics"]
    assert (metrics.invocation_id, metrics.timestamp) == ("r", NOW)


def test_sources_progress_and_errors_go_by_the_last_attempt_of_each_feed() -> None:
    second = attempt(subject="b", status="SUCCEEDED", attempt_no=2)
    says = summary(ended(), [failed("c", None), failed("b"), second, failed("a")], tickers=["AAPL"])
    assert (says["progress"], says["sources_queried"]) == (3, ("a", "b", "c"))
    assert says["errors"] == ("c: timeout", "a: it was down")
    assert says["tickers_processed"] == ("AAPL",)
    assert "status" not in says


def test_so_many_errors_are_kept_and_the_reason_of_giving_up_first() -> None:
    assert MOST_ERRORS_KEPT == 50
    many = [failed(f"feed-{n}") for n in range(51)]
    errors = summary(ended(), many, given_up="its message was lost")["errors"]
    assert (len(errors), errors[0], errors[1]) == (50, "its message was lost", "feed-0: it was down")


@pytest.mark.parametrize(("running_since", "status"), [(None, "FAILED"), (NOW, "PARTIAL")])
def test_a_run_that_is_given_up_failed_if_nobody_began_it(running_since: Any, status: str) -> None:
    assert summary(ended(running_since=running_since), (), given_up="lost")["status"] == status
