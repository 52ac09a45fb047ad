"""How runs begin and end, how tries are numbered and ended, and what they add up to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.errors import InvalidTransition, Unavailable
from models.run import Attempt, CollisionMetrics, IngestionBatch, JobRun
from models.states import AttemptStatus, RunStatus
from services.work import rules
from services.work.rules import ingestion_summary as summary
from tests.documents import NOW, attempt, ingestion_batch, run

LATER = NOW + timedelta(milliseconds=2750)


def tried(subject: str, number: int, status: AttemptStatus, **fields: object) -> Attempt:
    error = "Odd" if status == "FAILED" else None
    return attempt(subject=subject, attempt_no=number, status=status, error_type=error, **fields)


def test_a_run_is_of_the_kind_of_its_workflow() -> None:
    assert type(JobRun.queued("ingest_feeds", "r", NOW)) is IngestionBatch
    accepted = JobRun.queued("merge_tool", "r", NOW, "tool", {"into": "other"})
    assert (type(accepted), accepted.status, accepted.parameters) == (JobRun, "QUEUED", {"into": "other"})


def test_a_run_that_is_begun_has_its_invocation_and_the_millisecond() -> None:
    begun = run().begun("call", LATER)
    assert (begun.status, begun.invocation_id, begun.running_since) == ("RUNNING", "call", NOW + timedelta(seconds=2))
    assert begun.began_ms == int(NOW.timestamp()) * 1000 + 2750
    assert begun.begun("another", LATER) is begun


def test_a_failed_run_can_be_begun_again_and_a_finished_one_cannot() -> None:
    failed = run().begun("call", NOW).ended("FAILED", LATER)
    again = failed.begun(None, LATER)
    assert (again.status, again.ended_at, again.ended_ms, again.invocation_id) == ("RUNNING", None, None, None)
    ends: tuple[RunStatus, ...] = ("SUCCEEDED", "PARTIAL")
    for status in ends:
        finished = again.ended(status, LATER)
        assert finished.begun("call", LATER) is finished


@pytest.mark.parametrize("milliseconds", [0, 1, 999, 1000, 61_001])
def test_a_run_took_the_milliseconds_between_its_begin_and_its_end(milliseconds: int) -> None:
    since = NOW + timedelta(milliseconds=900)
    begun = run().begun(None, since)
    assert begun.duration_ms == 0
    ended = begun.ended("SUCCEEDED", since + timedelta(milliseconds=milliseconds))
    assert ended.duration_ms == milliseconds
    assert ended.ended("PARTIAL", since + timedelta(hours=1)).duration_ms == milliseconds, "its first end counts"


def test_a_run_whose_clock_went_back_took_no_time() -> None:
    ended = run().begun(None, LATER).ended("SUCCEEDED", NOW)
    assert (ended.duration_ms, ended.ended_at) == (0, ended.running_since)


def test_a_run_that_no_worker_began_cannot_succeed() -> None:
    with pytest.raises(InvalidTransition):
        run().ended("SUCCEEDED", NOW)


@pytest.mark.parametrize(
    ("attempts", "status"),
    [
        ([], "SUCCEEDED"),
        ([tried("a", 1, "SUCCEEDED")], "SUCCEEDED"),
        ([tried("a", 1, "FAILED")], "FAILED"),
        ([tried("a", 1, "STARTED")], "FAILED"),
        ([tried("a", 1, "SUCCEEDED"), tried("b", 1, "FAILED")], "PARTIAL"),
        ([tried("a", 1, "SUCCEEDED"), tried("b", 1, "STARTED")], "PARTIAL"),
        ([tried("a", 2, "SUCCEEDED"), tried("a", 1, "FAILED")], "SUCCEEDED"),
        ([tried("a", 1, "SUCCEEDED"), tried("a", 2, "FAILED")], "FAILED"),
        ([tried("a", 1, "FAILED"), tried("a", 2, "FAILED"), tried("b", 1, "FAILED")], "FAILED"),
    ],
)
def test_the_last_attempt_of_each_subject_decides(attempts: list[Attempt], status: RunStatus) -> None:
    assert rules.status_of(attempts) == rules.status_of(attempts[::-1]) == status


def test_tasks_on_one_subject_are_tried_each_for_itself() -> None:
    fetched, let_in = tried("a", 3, "FAILED"), tried("a", 1, "SUCCEEDED", task_name="let_in")
    assert rules.last_of_each([fetched, let_in]) == [let_in, fetched]
    later = tried("a", 3, "SUCCEEDED", started_at=LATER)
    assert rules.last_of_each([later, fetched]) == [later], "of two attempts of one number"
    assert rules.status_of([fetched, let_in]) == "PARTIAL"


def test_attempts_are_numbered_by_task_and_subject() -> None:
    attempts = [tried("a", 2, "FAILED"), tried("a", 1, "FAILED"), tried("b", 7, "FAILED")]
    assert rules.next_number(attempts, "fetch_feed", "a") == 3
    assert rules.next_number(attempts, "fetch_feed", "c") == 1
    assert rules.next_number(attempts, "let_in", "a") == 1


def test_an_attempt_ends_with_its_figures_and_its_time() -> None:
    under_way = Attempt.started("r", "page", "1", 2, NOW)
    assert (under_way.status, under_way.attempt_no, under_way.id) == ("STARTED", 2, "ATTEMPT:page:1:2:20260221200000")
    done = under_way.succeeded(17, LATER, counts={"removed": 2}, progress=5)
    assert (done.status, done.duration_ms, done.counts, done.progress) == ("SUCCEEDED", 17, {"removed": 2}, 5)
    assert (done.id, done.updated_at) == (under_way.id, NOW + timedelta(seconds=2))
    assert done.ended_ms == int(NOW.timestamp()) * 1000 + 2750


def test_a_failure_shows_the_message_of_our_own_errors_and_the_type_of_others() -> None:
    under_way = Attempt.started("r", "page", "1", 1, NOW)
    ours = under_way.failed(rules.reason_of(Unavailable("x" * 600)), 17, LATER)
    assert (ours.error_type, ours.error_message, ours.duration_ms) == ("Unavailable", "x" * 487, 17)
    assert ours.ended_ms == int(NOW.timestamp()) * 1000 + 2750
    other = under_way.failed(rules.reason_of(ValueError("a password")), 17, LATER)
    assert (other.status, other.error_type, other.error_message) == ("FAILED", "ValueError", None)


def test_the_attempt_of_a_worker_that_died_failed() -> None:
    died = Attempt.started("r", "page", "1", 1, NOW).worker_died(LATER)
    assert (died.status, died.error_type, died.error_fingerprint) == ("FAILED", "worker_died", "worker_died")
    assert died.duration_ms is None
    assert died.error_message == "no end was recorded: its worker died, or another delivery took over the run"
    with pytest.raises(InvalidTransition):
        attempt(status="SUCCEEDED").worker_died(LATER)


def ended(**fields: Any) -> JobRun:
    begun = JobRun.queued("ingest_feeds", "r", NOW).begun("call", NOW + timedelta(milliseconds=250))
    return begun.ended("SUCCEEDED", NOW + timedelta(milliseconds=1750)).changed(NOW, **fields)


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


def test_a_run_without_attempts_or_an_invocation_has_counts_of_zero_and_its_own_id() -> None:
    found = summary(ended(invocation_id=None, running_since=None), ())
    assert (found["progress"], found["sources_queried"], found["errors"]) == (0, (), ())
    metrics = found["metrics"]
    assert (metrics.invocation_id, metrics.timestamp, metrics.collision_rate) == ("r", NOW, 0.0)


def test_sources_progress_and_errors_go_by_the_last_attempt_of_each_feed() -> None:
    second = attempt(subject="b", status="SUCCEEDED", attempt_no=2)
    found = summary(ended(), [failed("c", None), failed("b"), second, failed("a")], tickers=["AAPL"])
    assert (found["progress"], found["sources_queried"]) == (3, ("a", "b", "c"))
    assert found["errors"] == ("c: timeout", "a: it was down")
    assert found["tickers_processed"] == ("AAPL",)
    assert "status" not in found
    errors = summary(ended(), [failed(f"feed-{n}") for n in range(51)])["errors"]
    assert (len(errors), errors[0]) == (50, "feed-0: it was down")


def test_a_run_that_ended_before_keeps_its_end_and_gets_new_figures() -> None:
    begun = JobRun.queued("ingest_feeds", "r", NOW).begun("call", NOW)
    first = rules.closed(begun, [fetched("a")], summary, LATER)
    again = rules.closed(first, [fetched("a"), failed("b")], summary, LATER + timedelta(hours=1))
    assert (first.status, again.status, again.progress) == ("SUCCEEDED", "PARTIAL", 2)
    assert (again.ended_at, again.duration_ms) == (first.ended_at, 2750)
    given_up = rules.closed(begun, [fetched("a")], lambda run, attempts: {"status": "PARTIAL"}, LATER)
    assert given_up.status == "PARTIAL"


def test_attempts_are_added_to_a_run_once_and_listed_in_the_order_of_their_start() -> None:
    early, again = tried("b", 1, "SUCCEEDED", run_id="r"), tried("b", 1, "SUCCEEDED", run_id="r", articles_found=2)
    late = tried("a", 1, "SUCCEEDED", run_id="r", started_at=NOW + timedelta(seconds=5), articles_found=0)
    before = ingestion_batch(run_id="r", claimed={"a": "", "b": ""})
    after = rules.with_attempts(rules.with_attempts(before, [late, early]), [again])
    assert [(each.id, each.articles_found) for each in rules.in_run(after).items] == [(early.id, 2), (late.id, 0)]
    assert [each.id for each in rules.in_run(after, "a").items] == [late.id]
    assert (after.to_document()["feeds"], after.to_document()["claimed"]) == (["a", "b"], {"a": "", "b": ""})
    assert rules.with_attempts(before, []) is before
