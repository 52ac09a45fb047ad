"""How runs begin and end, how tries are numbered and ended, and which status they add up to."""

from __future__ import annotations

from datetime import timedelta

import pytest

from models.errors import InvalidTransition, Unavailable
from models.run import Attempt, IngestionBatch, JobRun
from models.states import AttemptStatus, RunStatus
from services.runs import rules
from tests.documents import NOW, attempt, run

LATER = NOW + timedelta(milliseconds=2750)


def tried(subject: str, number: int, status: AttemptStatus, **fields: object) -> Attempt:
    error = "Odd" if status == "FAILED" else None
    return attempt(subject=subject, attempt_no=number, status=status, error_type=error, **fields)


def test_a_run_is_of_the_kind_of_its_workflow() -> None:
    assert type(rules.queued("ingest_feeds", "r", NOW)) is IngestionBatch
    accepted = rules.queued("merge_tool", "r", NOW, "tool", {"into": "other"})
    assert (type(accepted), accepted.status, accepted.parameters) == (JobRun, "QUEUED", {"into": "other"})


def test_a_run_that_is_begun_has_its_invocation_and_the_millisecond() -> None:
    begun = rules.begun(run(), "call", LATER)
    assert (begun.status, begun.invocation_id, begun.running_since) == ("RUNNING", "call", NOW + timedelta(seconds=2))
    assert begun.began_ms == int(NOW.timestamp()) * 1000 + 2750
    assert rules.begun(begun, "another", LATER) is begun


def test_a_failed_run_is_begun_anew_and_a_finished_one_is_not() -> None:
    failed = rules.ended(rules.begun(run(), "call", NOW), "FAILED", LATER)
    again = rules.begun(failed, None, LATER)
    assert (again.status, again.ended_at, again.ended_ms, again.invocation_id) == ("RUNNING", None, None, None)
    ends: tuple[RunStatus, ...] = ("SUCCEEDED", "PARTIAL")
    for status in ends:
        finished = rules.ended(again, status, LATER)
        assert rules.begun(finished, "call", LATER) is finished


@pytest.mark.parametrize("milliseconds", [0, 1, 999, 1000, 61_001])
def test_a_run_took_the_milliseconds_between_its_begin_and_its_end(milliseconds: int) -> None:
    since = NOW + timedelta(milliseconds=900)
    begun = rules.begun(run(), None, since)
    assert begun.duration_ms == 0
    ended = rules.ended(begun, "SUCCEEDED", since + timedelta(milliseconds=milliseconds))
    assert ended.duration_ms == milliseconds
    assert rules.ended(ended, "PARTIAL", since + timedelta(hours=1)).duration_ms == milliseconds, "its first end counts"


def test_a_run_whose_clock_went_back_took_no_time() -> None:
    ended = rules.ended(rules.begun(run(), None, LATER), "SUCCEEDED", NOW)
    assert (ended.duration_ms, ended.ended_at) == (0, ended.running_since)


def test_a_run_of_an_older_version_took_the_seconds_between_its_times() -> None:
    assert run(status="SUCCEEDED", running_since=NOW, ended_at=NOW + timedelta(seconds=3)).duration_ms == 3000
    assert run(status="FAILED", ended_at=NOW + timedelta(seconds=3)).duration_ms == 3000


def test_a_run_that_nobody_began_cannot_succeed() -> None:
    with pytest.raises(InvalidTransition):
        rules.ended(run(), "SUCCEEDED", NOW)


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


def test_the_later_of_two_attempts_of_one_number_is_the_last() -> None:
    first, second = tried("a", 1, "FAILED"), tried("a", 1, "SUCCEEDED", started_at=LATER)
    assert rules.last_of_each([second, first]) == [second]


def test_tasks_on_one_subject_are_tried_each_for_itself() -> None:
    fetched, let_in = tried("a", 3, "FAILED"), tried("a", 1, "SUCCEEDED", task_name="let_in")
    assert rules.last_of_each([fetched, let_in]) == [let_in, fetched]
    assert rules.status_of([fetched, let_in]) == "PARTIAL"


def test_attempts_are_numbered_by_task_and_subject() -> None:
    attempts = [tried("a", 2, "FAILED"), tried("a", 1, "FAILED"), tried("b", 7, "FAILED")]
    assert rules.next_number(attempts, "fetch_feed", "a") == 3
    assert rules.next_number(attempts, "fetch_feed", "c") == 1
    assert rules.next_number(attempts, "let_in", "a") == 1


def test_an_attempt_ends_with_what_came_of_it() -> None:
    under_way = rules.started("r", "page", "1", 2, NOW)
    assert (under_way.status, under_way.attempt_no, under_way.id) == ("STARTED", 2, "ATTEMPT:page:1:2:20260221200000")
    done = rules.succeeded(under_way, 17, LATER, counts={"removed": 2}, progress=5)
    assert (done.status, done.duration_ms, done.counts, done.progress) == ("SUCCEEDED", 17, {"removed": 2}, 5)
    assert (done.id, done.updated_at) == (under_way.id, NOW + timedelta(seconds=2))
    assert done.ended_ms == int(NOW.timestamp()) * 1000 + 2750


def test_a_failure_shows_our_own_words_and_of_other_errors_the_type_alone() -> None:
    under_way = rules.started("r", "page", "1", 1, NOW)
    ours = rules.failed(under_way, Unavailable("x" * 600), 17, LATER)
    assert (ours.error_type, ours.error_message, ours.duration_ms) == ("Unavailable", "x" * 500, 17)
    assert ours.ended_ms == int(NOW.timestamp()) * 1000 + 2750
    other = rules.failed(under_way, ValueError("a password"), 17, LATER)
    assert (other.status, other.error_type, other.error_message) == ("FAILED", "ValueError", None)


def test_the_attempt_of_a_worker_that_died_failed() -> None:
    died = rules.worker_died(rules.started("r", "page", "1", 1, NOW), LATER)
    assert (died.status, died.error_type, died.error_fingerprint) == ("FAILED", "worker_died", "worker_died")
    assert died.duration_ms is None
    with pytest.raises(InvalidTransition):
        rules.worker_died(attempt(status="SUCCEEDED"), LATER)
