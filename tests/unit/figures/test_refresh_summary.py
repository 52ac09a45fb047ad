"""What the batches of a refresh add up to."""

from __future__ import annotations

from typing import Any

import pytest

from models.run import Attempt
from services.figures.refresh_runs import OVERDUE, done_batches, status_of, summary
from tests.documents import attempt, run


def batch(name: str, number: int = 1, status: str = "SUCCEEDED", **fields: Any) -> Attempt:
    error = "worker_died" if status == "FAILED" else None
    return attempt(
        task_name="refresh_tools", subject=name, attempt_no=number, status=status, error_type=error, **fields
    )


WELL = batch("0001", progress=2, counts={"entries_written": 8, "tools_failed": 0}, tool_ids=("a", "b"))
ODD = batch("0002", progress=1, counts={"entries_written": 4, "tools_failed": 1}, errors=("c: not refreshed",))
DIED = batch("0002", status="FAILED")
UNDER_WAY = batch("0002", status="STARTED")


def test_a_batch_is_done_when_one_of_its_attempts_succeeded() -> None:
    again = batch("0002", 2)
    assert done_batches([DIED, WELL, again]) == [WELL, again]
    assert done_batches([DIED, UNDER_WAY]) == []


@pytest.mark.parametrize(
    ("attempts", "batches", "status"),
    [
        ([WELL], 1, "SUCCEEDED"),
        ([WELL], 2, "PARTIAL"),
        ([WELL, DIED], 2, "PARTIAL"),
        ([WELL, ODD], 2, "PARTIAL"),
        ([], 1, "FAILED"),
        ([DIED], 1, "FAILED"),
        ([UNDER_WAY], 1, "FAILED"),
    ],
)
def test_a_refresh_is_partial_if_a_batch_is_missing_or_a_tool_failed(
    attempts: list[Attempt], batches: int, status: str
) -> None:
    assert status_of(run(batches=batches), attempts) == status


def test_a_run_adds_up_its_batches_and_names_what_is_missing() -> None:
    assert summary(run(batches=3), [ODD, DIED, WELL]) == {
        "status": "PARTIAL",
        "progress": 3,
        "metrics": {"entries_written": 12, "tools_failed": 1},
        "errors": ("1 of 3 batches did not end in time", "c: not refreshed"),
    }


def test_fifty_errors_are_kept() -> None:
    many = [batch(f"{n:04}", errors=(f"tool-{n}: not refreshed",)) for n in range(60)]
    errors = summary(run(batches=61), many)["errors"]
    assert (len(errors), errors[0]) == (50, "1 of 61 batches did not end in time")


def test_a_tick_finds_the_run_of_the_tick_before_overdue_though_timers_are_not_exact() -> None:
    assert OVERDUE.total_seconds() == 14 * 60
