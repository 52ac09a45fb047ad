"""Quarantined items, which wait for a person's review: a suspicious batch of a feed, or a full text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from models.document import QuarantineReason
from models.states import REVIEW, Machine, ReviewStatus
from models.stored import StoredDocument
from models.values import Count, IdPart, Text, Time, internal, optional, unix_seconds

KEPT_AFTER_REVIEW = timedelta(days=30)
QuarantineKind = Literal["BATCH", "DOCUMENT"]
BatchReason = Literal["FLOOD", "VOLUME"]
Decision = Literal["same_articles_new_ids", "new_articles", "drop", "CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"]
"""What a person decides. The entries of a flood are known articles under new ids, new articles, or dropped; those
beyond the daily volume are new or dropped. A full text has the two decisions of its specification."""
STATUS_AFTER: Mapping[Decision, ReviewStatus] = {
    "same_articles_new_ids": "CLEARED_RETRY_APPROVED",
    "new_articles": "CLEARED_RETRY_APPROVED",
    "drop": "CLEARED_TERMINAL",
    "CLEARED_RETRY_APPROVED": "CLEARED_RETRY_APPROVED",
    "CLEARED_TERMINAL": "CLEARED_TERMINAL",
}
_OF_BATCHES: Mapping[str, tuple[Decision, ...]] = {
    "FLOOD": ("same_articles_new_ids", "new_articles", "drop"),
    "VOLUME": ("new_articles", "drop"),
}
_OF_DOCUMENTS: tuple[Decision, ...] = ("CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL")


def quarantine_id(kind: QuarantineKind, subject: str, content: str) -> str:
    """The same content has the same id whenever it is quarantined. `content` may be any text."""
    return f"{kind}:{subject}:{hashlib.sha256(content.encode()).hexdigest()[:16]}"


class _InQuarantine(StoredDocument):
    """A document of the container `quarantine`, in the partition of its item."""

    CONTAINER: ClassVar[str] = "quarantine"

    quarantine_id: IdPart = Field(description="The id.")

    @property
    def partition(self) -> str:
        return self.quarantine_id


class QuarantineItem(_InQuarantine):
    """One quarantined batch or full text.

    A review has a `decision`, by which CLEARED_RETRY_APPROVED releases the item and CLEARED_TERMINAL drops it. Until
    then the item does not expire. Of a batch, `payload` is a sample; the entries are in `parts` QuarantineParts in the
    same partition. `left_out` are the entries of a flood that were not ingested, since each may be several known
    articles.
    """

    STATES: ClassVar[Mapping[str, Machine]] = {"manual_review_status": REVIEW}
    ID_OF: ClassVar[str] = "quarantine_id"

    entity_type: Literal["QuarantineItem"] = "QuarantineItem"
    kind: QuarantineKind = Field(description="`BATCH`: entries of a feed; `DOCUMENT`: a full text.")
    subject: IdPart = Field(description="The feed, or the article.")
    reason_code: QuarantineReason | BatchReason = Field(
        description="Why the item is here. Of a batch `FLOOD` or `VOLUME`; of a full text `UNKNOWN_PROFILE`, "
        "`MISSING_CRITICAL_METADATA`, `CHECKSUM_MISMATCH` or `OTHER`."
    )
    reason: Text = Field(description="Why the item is here, in words.")
    item_count: Count = Field(default=0, description="Number of entries.")
    payload: JsonValue = optional("`samples`: URL and headline of up to 20 entries.")
    parts: Count = internal("Number of stored documents that have the entries.", default=0)
    released_at: Time | None = optional("When the batch was ingested, or when the full text followed its review.")
    left_out: Count = Field(default=0, description="Ambiguous entries that were not ingested.")
    manual_review_status: ReviewStatus = Field(
        default="PENDING", description="`PENDING`, `CLEARED_RETRY_APPROVED` or `CLEARED_TERMINAL`."
    )
    decision: Decision | None = optional(
        "The decision of the review; null before it. A reviewed item is deleted after 30 days."
    )
    reviewed_by: Text | None = optional("Who decided; null before the review.")
    reviewed_at: Time | None = optional("When it was decided; null before the review.")
    review_note: Text | None = optional("Why it was decided so; null before the review.")

    @property
    def waits_for_ingestion(self) -> bool:
        return self.manual_review_status == "CLEARED_RETRY_APPROVED" and self.released_at is None

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What a person can decide."""
        return _OF_DOCUMENTS if self.kind == "DOCUMENT" else _OF_BATCHES[self.reason_code]

    def reviewed(self, now: datetime, decision: Decision, by: str, note: str) -> Self:
        """The item with a person's decision. Raises InvalidTransition if it was reviewed before."""
        return self.changed(
            now,
            manual_review_status=STATUS_AFTER[decision],
            decision=decision,
            reviewed_by=by,
            reviewed_at=now,
            review_note=note,
            ttl_timestamp=unix_seconds(now + KEPT_AFTER_REVIEW),
        )

    def reopened(self, now: datetime) -> Self:
        """The item waiting for another review: the try that a person approved ended in quarantine again."""
        nothing = ("decision", "reviewed_by", "reviewed_at", "review_note", "released_at", "ttl_timestamp")
        return self.changed(now, manual_review_status="PENDING", **dict.fromkeys(nothing))

    @model_validator(mode="after")
    def _is_kept_until_reviewed(self) -> Self:
        pending = self.manual_review_status == "PENDING"
        if any(pending != (each is None) for each in (self.ttl_timestamp, self.reviewed_at, self.decision)):
            raise ValueError("decision, reviewed_at and ttl_timestamp must be set if, and only if, it was reviewed")
        return self


class QuarantinePart(_InQuarantine):
    """Some entries of a quarantined batch, in the partition of its item; deleted once the batch is ingested or
    dropped."""

    entity_type: Literal["QuarantinePart"] = "QuarantinePart"
    number: Count
    items: tuple[dict[str, JsonValue], ...]

    @property
    def id(self) -> str:
        return f"part:{self.number:04}"
