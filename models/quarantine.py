"""Quarantined items, which wait for a person's review: a suspicious batch of a feed, or a full text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar, Literal, Self

from pydantic import JsonValue, model_validator

from models.document import QuarantineReason
from models.states import REVIEW, Machine, ReviewStatus
from models.stored import StoredDocument
from models.values import Count, IdPart, Text, Time, unix_seconds

KEPT_AFTER_REVIEW = timedelta(days=30)
QuarantineKind = Literal["BATCH", "DOCUMENT"]
BatchReason = Literal["FLOOD", "VOLUME"]


def quarantine_id(kind: QuarantineKind, subject: str, content: str) -> str:
    """The same content has the same id whenever it is quarantined. `content` may be any text."""
    return f"{kind}:{subject}:{hashlib.sha256(content.encode()).hexdigest()[:16]}"


class QuarantineItem(StoredDocument):
    """One quarantined batch or full text. `subject` is the feed or the article, `payload` the quarantined data.

    CLEARED_RETRY_APPROVED releases the item, CLEARED_TERMINAL drops it. Until then it does not expire. Of a batch,
    `payload` is a sample; the entries are in `parts` QuarantineParts in the same partition, and `released_at` is when
    they were ingested.
    """

    CONTAINER: ClassVar[str] = "quarantine"
    STATES: ClassVar[Mapping[str, Machine]] = {"manual_review_status": REVIEW}

    entity_type: Literal["QuarantineItem"] = "QuarantineItem"
    quarantine_id: IdPart
    kind: QuarantineKind
    subject: IdPart
    reason_code: QuarantineReason | BatchReason
    reason: Text
    item_count: Count = 0
    payload: JsonValue = None
    parts: Count = 0
    released_at: Time | None = None
    manual_review_status: ReviewStatus = "PENDING"
    reviewed_at: Time | None = None
    review_note: Text | None = None

    @property
    def partition(self) -> str:
        return self.quarantine_id

    @property
    def id(self) -> str:
        return self.quarantine_id

    @property
    def waits_for_ingestion(self) -> bool:
        return self.manual_review_status == "CLEARED_RETRY_APPROVED" and self.released_at is None

    def reviewed(self, now: datetime, decision: ReviewStatus, note: str | None = None) -> Self:
        """The item with a person's decision. Raises InvalidTransition if another decision was made before."""
        return self.changed(
            now,
            manual_review_status=decision,
            reviewed_at=now,
            review_note=note,
            ttl_timestamp=unix_seconds(now + KEPT_AFTER_REVIEW),
        )

    @model_validator(mode="after")
    def _is_kept_until_reviewed(self) -> Self:
        pending = self.manual_review_status == "PENDING"
        if pending != (self.ttl_timestamp is None) or pending != (self.reviewed_at is None):
            raise ValueError("reviewed_at and ttl_timestamp must be set if, and only if, the item was reviewed")
        return self


class QuarantinePart(StoredDocument):
    """Some entries of a quarantined batch, in the partition of its item; deleted once the batch is ingested or
    dropped."""

    CONTAINER: ClassVar[str] = "quarantine"

    entity_type: Literal["QuarantinePart"] = "QuarantinePart"
    quarantine_id: IdPart
    number: Count
    items: tuple[dict[str, JsonValue], ...]

    @property
    def partition(self) -> str:
        return self.quarantine_id

    @property
    def id(self) -> str:
        return f"part:{self.number:04}"
