"""Every state machine of the specifications, as tables. Deciding when to step is for services; this only forbids.

`None` stands for a state that has not been entered yet. Staying where one is is no step; where a table lists it, a
caller may ask for it by name (an analysed article is analysed again after an edit).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from models.errors import InvalidTransition


@dataclass(frozen=True, slots=True)
class Machine:
    """Which state may follow which; a state that is followed by none is final."""

    name: str
    steps: Mapping[str | None, tuple[str, ...]]

    def allows(self, current: str | None, wanted: str | None) -> bool:
        return wanted in self.steps.get(current, ())

    def step(self, current: str | None, wanted: str | None) -> None:
        """Raises InvalidTransition unless `wanted` may follow `current`."""
        if not self.allows(current, wanted):
            raise InvalidTransition(self.name, current or "none", wanted or "none")


ArticleStatus = Literal["pending", "analyzed", "error"]
ARTICLE = Machine(
    "article status",
    {"pending": ("analyzed", "error"), "analyzed": ("analyzed",), "error": ("pending",)},
)
"""analyzed → analyzed: an edit is scored again; meanwhile the article keeps the figures that it has."""

AcquisitionStatus = Literal["STUB", "ACQUIRED", "FAILED_RETRYABLE", "SKIPPED_DUPLICATE", "SKIPPED_BACKOFF"]
_TRIED: tuple[str, ...] = ("ACQUIRED", "FAILED_RETRYABLE", "SKIPPED_DUPLICATE", "SKIPPED_BACKOFF")
ACQUISITION = Machine(
    "acquisition status",
    {"STUB": _TRIED, "FAILED_RETRYABLE": _TRIED, "SKIPPED_BACKOFF": _TRIED, "ACQUIRED": ("STUB",)},
)
"""ACQUIRED → STUB: a person approved another try of what was quarantined."""

ValidationStatus = Literal["UNVALIDATED", "VALID", "QUARANTINED", "TERMINAL_INVALID"]
VALIDATION = Machine(
    "validation status",
    {
        "UNVALIDATED": ("VALID", "QUARANTINED", "TERMINAL_INVALID"),
        "QUARANTINED": ("UNVALIDATED", "TERMINAL_INVALID"),
    },
)

ReviewStatus = Literal["PENDING", "CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"]
REVIEW = Machine(
    "manual review status",
    {
        None: ("PENDING",),
        "PENDING": ("CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"),
        "CLEARED_RETRY_APPROVED": ("PENDING",),
    },
)
"""CLEARED_RETRY_APPROVED → PENDING: the approved try ended in quarantine again."""

RELEASES: Mapping[str, ReviewStatus] = {
    "UNVALIDATED": "CLEARED_RETRY_APPROVED",
    "TERMINAL_INVALID": "CLEARED_TERMINAL",
}
"""What a person must have decided before a document leaves quarantine for that state."""


def step_validation(current: ValidationStatus, wanted: ValidationStatus, review: ReviewStatus | None) -> None:
    """VALIDATION with its human gate: into quarantine only with a review pending, out of it only with one cleared."""
    VALIDATION.step(current, wanted)
    if wanted == "QUARANTINED" and review != "PENDING":
        raise InvalidTransition(VALIDATION.name, current, f"{wanted} without a pending review")
    if current == "QUARANTINED" and review != RELEASES[wanted]:
        raise InvalidTransition(VALIDATION.name, current, f"{wanted} before a person said {RELEASES[wanted]}")


CacheState = Literal["CREATED", "FRESH", "STALE", "INVALIDATED"]
CACHE_ENTRY = Machine(
    "cache entry",
    {
        None: ("CREATED",),
        "CREATED": ("FRESH", "INVALIDATED"),
        "FRESH": ("STALE", "INVALIDATED"),
        "STALE": ("FRESH", "INVALIDATED"),
        "INVALIDATED": ("CREATED",),
    },
)
"""Computed, never stored: see SentimentCacheEntry.state."""

ToolStatus = Literal["ACTIVE", "MERGED", "DEPRECATED"]
TOOL = Machine("tool status", {"ACTIVE": ("MERGED", "DEPRECATED"), "DEPRECATED": ("ACTIVE", "MERGED")})

RunStatus = Literal["QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "PARTIAL"]
RUN = Machine(
    "run status",
    {
        "QUEUED": ("RUNNING", "FAILED", "PARTIAL"),
        "RUNNING": ("SUCCEEDED", "FAILED", "PARTIAL"),
        "SUCCEEDED": ("FAILED", "PARTIAL"),
        "FAILED": ("RUNNING", "SUCCEEDED", "PARTIAL"),
        "PARTIAL": ("SUCCEEDED", "FAILED"),
    },
)
"""PARTIAL: some of the run failed, or the run was overdue and closed with what there was. FAILED → RUNNING: its poison
message was sent again. Between the three ends: an attempt that another delivery made was not counted yet."""

AttemptStatus = Literal["STARTED", "SUCCEEDED", "FAILED"]
ATTEMPT = Machine("attempt status", {"STARTED": ("SUCCEEDED", "FAILED")})

MACHINES = (ARTICLE, ACQUISITION, VALIDATION, REVIEW, CACHE_ENTRY, TOOL, RUN, ATTEMPT)
