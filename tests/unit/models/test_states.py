"""Every state machine, every pair of states: what is allowed is written here again, all else is refused."""

from __future__ import annotations

import itertools
import typing
from typing import Any

import pytest

from models import states
from models.document import eligibility_of
from models.errors import InvalidTransition
from models.states import (
    ACQUISITION,
    ARTICLE,
    ATTEMPT,
    REVIEW,
    RUN,
    TOOL,
    VALIDATION,
    Machine,
    ReviewStatus,
    ValidationStatus,
    step_validation,
)

ALLOWED: dict[str, tuple[Machine, Any, str]] = {
    "article": (
        ARTICLE,
        states.ArticleStatus,
        "pending>analyzed pending>error error>pending analyzed>analyzed analyzed>error",
    ),
    "acquisition": (
        ACQUISITION,
        states.AcquisitionStatus,
        "STUB>ACQUIRED STUB>FAILED_RETRYABLE STUB>SKIPPED_DUPLICATE STUB>SKIPPED_BACKOFF "
        "FAILED_RETRYABLE>ACQUIRED FAILED_RETRYABLE>FAILED_RETRYABLE FAILED_RETRYABLE>SKIPPED_DUPLICATE "
        "FAILED_RETRYABLE>SKIPPED_BACKOFF SKIPPED_BACKOFF>ACQUIRED SKIPPED_BACKOFF>FAILED_RETRYABLE "
        "SKIPPED_BACKOFF>SKIPPED_DUPLICATE SKIPPED_BACKOFF>SKIPPED_BACKOFF ACQUIRED>STUB "
        "STUB>SKIPPED_UNAVAILABLE FAILED_RETRYABLE>SKIPPED_UNAVAILABLE SKIPPED_BACKOFF>SKIPPED_UNAVAILABLE "
        "SKIPPED_UNAVAILABLE>STUB SKIPPED_DUPLICATE>STUB",
    ),
    "validation": (
        VALIDATION,
        states.ValidationStatus,
        "UNVALIDATED>VALID UNVALIDATED>QUARANTINED UNVALIDATED>TERMINAL_INVALID "
        "QUARANTINED>UNVALIDATED QUARANTINED>TERMINAL_INVALID VALID>UNVALIDATED TERMINAL_INVALID>UNVALIDATED",
    ),
    "review": (
        REVIEW,
        states.ReviewStatus,
        "None>PENDING PENDING>CLEARED_RETRY_APPROVED PENDING>CLEARED_TERMINAL CLEARED_RETRY_APPROVED>PENDING",
    ),
    "tool": (
        TOOL,
        states.ToolStatus,
        "ACTIVE>MERGED ACTIVE>DEPRECATED DEPRECATED>ACTIVE DEPRECATED>MERGED",
    ),
    "run": (
        RUN,
        states.RunStatus,
        "QUEUED>RUNNING QUEUED>FAILED RUNNING>QUEUED RUNNING>SUCCEEDED RUNNING>FAILED RUNNING>PARTIAL FAILED>RUNNING "
        "SUCCEEDED>FAILED SUCCEEDED>PARTIAL PARTIAL>SUCCEEDED PARTIAL>FAILED FAILED>SUCCEEDED FAILED>PARTIAL",
    ),
    "attempt": (ATTEMPT, states.AttemptStatus, "STARTED>SUCCEEDED STARTED>FAILED"),
}


def pairs(of: Any) -> list[tuple[str | None, str | None]]:
    every = (None, *typing.get_args(of))
    return list(itertools.product(every, every))


@pytest.mark.parametrize(("machine", "of", "allowed"), ALLOWED.values(), ids=ALLOWED.keys())
def test_a_machine_allows_these_steps_and_no_others(machine: Machine, of: Any, allowed: str) -> None:
    for current, wanted in pairs(of):
        if f"{current}>{wanted}" in allowed.split():
            machine.step(current, wanted)
        else:
            with pytest.raises(InvalidTransition) as caught:
                machine.step(current, wanted)
            assert caught.value.machine == machine.name


def test_every_machine_is_tried_above() -> None:
    machines = {machine.name for machine in vars(states).values() if isinstance(machine, Machine)}
    assert machines == {machine.name for machine, _, _ in ALLOWED.values()}


VALIDATIONS: tuple[ValidationStatus, ...] = typing.get_args(ValidationStatus)
REVIEWS: tuple[ReviewStatus | None, ...] = (None, *typing.get_args(ReviewStatus))


def test_quarantine_is_entered_with_a_pending_review_and_left_with_a_cleared_one() -> None:
    open_gates = {
        ("UNVALIDATED", "QUARANTINED", "PENDING"),
        ("QUARANTINED", "UNVALIDATED", "CLEARED_RETRY_APPROVED"),
        ("QUARANTINED", "TERMINAL_INVALID", "CLEARED_TERMINAL"),
        *(("VALID", "UNVALIDATED", any_review) for any_review in REVIEWS),
        *(("TERMINAL_INVALID", "UNVALIDATED", each) for each in REVIEWS if each != "CLEARED_TERMINAL"),
        *(("UNVALIDATED", end, any_review) for end in ("VALID", "TERMINAL_INVALID") for any_review in REVIEWS),
    }
    for step in itertools.product(VALIDATIONS, VALIDATIONS, REVIEWS):
        if step in open_gates:
            step_validation(*step)
        else:
            with pytest.raises(InvalidTransition):
                step_validation(*step)


def test_a_document_is_eligible_until_validated_quarantined_or_terminal() -> None:
    skipped = {"SKIPPED_DUPLICATE", "SKIPPED_UNAVAILABLE"}
    for validation, acquisition in itertools.product(VALIDATIONS, typing.get_args(states.AcquisitionStatus)):
        is_open = validation == "UNVALIDATED" and acquisition not in skipped
        assert eligibility_of(validation, acquisition) == ("ACQUIRE" if is_open else "NONE")
