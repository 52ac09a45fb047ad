"""Every state machine of the specifications, as a table. Services decide about steps; this module refuses wrong ones.

`None` is the state before the first one. A document that keeps its state makes no step. A step from a state to itself
is allowed where a table lists it: an analysed article is analysed again after an edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from models.errors import InvalidTransition


@dataclass(frozen=True, slots=True)
class Machine:
    """A state machine. The states that may follow each state; a state without followers is final."""

    name: str
    steps: Mapping[str | None, tuple[str, ...]]

    def step(self, current: str | None, wanted: str | None) -> None:
        """Raises InvalidTransition unless `wanted` may follow `current`."""
        if wanted not in self.steps.get(current, ()):
            raise InvalidTransition(self.name, current or "none", wanted or "none")


ArticleStatus = Literal["pending", "analyzed", "error"]
ARTICLE = Machine(
    "article status",
    {"pending": ("analyzed", "error"), "analyzed": ("analyzed", "error"), "error": ("pending",)},
)
"""analyzed → analyzed: an edited article is scored again, and keeps its scores until then. analyzed → error: the
analysis of an edit was given up; the article still keeps its scores."""

AcquisitionStatus = Literal[
    "STUB", "ACQUIRED", "FAILED_RETRYABLE", "SKIPPED_DUPLICATE", "SKIPPED_BACKOFF", "SKIPPED_UNAVAILABLE"
]
_TRIED: tuple[str, ...] = (
    *("ACQUIRED", "FAILED_RETRYABLE", "SKIPPED_DUPLICATE", "SKIPPED_BACKOFF", "SKIPPED_UNAVAILABLE"),
)
ACQUISITION = Machine(
    "acquisition status",
    {
        "STUB": _TRIED,
        "FAILED_RETRYABLE": _TRIED,
        "SKIPPED_BACKOFF": _TRIED,
        "ACQUIRED": ("STUB",),
        "SKIPPED_DUPLICATE": ("STUB",),
        "SKIPPED_UNAVAILABLE": ("STUB",),
    },
)
"""Back to STUB: a person asked for another try, or approved that of a quarantined document; or the article was
edited."""

ValidationStatus = Literal["UNVALIDATED", "VALID", "QUARANTINED", "TERMINAL_INVALID"]
VALIDATION = Machine(
    "validation status",
    {
        "UNVALIDATED": ("VALID", "QUARANTINED", "TERMINAL_INVALID"),
        "QUARANTINED": ("UNVALIDATED", "TERMINAL_INVALID"),
        "VALID": ("UNVALIDATED",),
        "TERMINAL_INVALID": ("UNVALIDATED",),
    },
)
"""VALID and TERMINAL_INVALID → UNVALIDATED: the article was edited, or a person asked for another try. What a review
dropped stays dropped."""

ReviewStatus = Literal["PENDING", "CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"]
REVIEW = Machine(
    "manual review status",
    {
        None: ("PENDING",),
        "PENDING": ("CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"),
        "CLEARED_RETRY_APPROVED": ("PENDING",),
    },
)
"""CLEARED_RETRY_APPROVED → PENDING: the approved try was quarantined again."""

RELEASES: Mapping[str, ReviewStatus] = {
    "UNVALIDATED": "CLEARED_RETRY_APPROVED",
    "TERMINAL_INVALID": "CLEARED_TERMINAL",
}
"""The decision that a document needs to leave quarantine for each state."""


def step_validation(current: ValidationStatus, wanted: ValidationStatus, review: ReviewStatus | None) -> None:
    """VALIDATION with the review: a quarantined document needs a pending review, and a cleared one to leave."""
    VALIDATION.step(current, wanted)
    if wanted == "QUARANTINED" and review != "PENDING":
        raise InvalidTransition(VALIDATION.name, current, f"{wanted} without a pending review")
    if current == "QUARANTINED" and review != RELEASES[wanted]:
        raise InvalidTransition(VALIDATION.name, current, f"{wanted} before its review is {RELEASES[wanted]}")
    if current == "TERMINAL_INVALID" and review == "CLEARED_TERMINAL":
        raise InvalidTransition(VALIDATION.name, current, f"{wanted}: its review dropped it")


ToolStatus = Literal["ACTIVE", "MERGED", "DEPRECATED"]
TOOL = Machine(
    "tool status",
    {"ACTIVE": ("MERGED", "DEPRECATED"), "DEPRECATED": ("ACTIVE", "MERGED"), "MERGED": ()},
)

RunStatus = Literal["QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "PARTIAL"]
RUN = Machine(
    "run status",
    {
        "QUEUED": ("RUNNING", "FAILED"),
        "RUNNING": ("QUEUED", "SUCCEEDED", "FAILED", "PARTIAL"),
        "SUCCEEDED": ("FAILED", "PARTIAL"),
        "FAILED": ("RUNNING", "SUCCEEDED", "PARTIAL"),
        "PARTIAL": ("SUCCEEDED", "FAILED"),
    },
)
"""PARTIAL: some of the work failed, or the run was overdue and was closed. RUNNING → QUEUED: an ingestion goes on with
another message. FAILED → RUNNING: its poison message was sent again. Steps between SUCCEEDED, FAILED and PARTIAL: an
attempt of another delivery was recorded after the end."""

AttemptStatus = Literal["STARTED", "SUCCEEDED", "FAILED"]
ATTEMPT = Machine("attempt status", {"STARTED": ("SUCCEEDED", "FAILED")})
