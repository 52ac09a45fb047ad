"""What is held back until a person has looked: a feed's suspicious batch, or a document that fits no profile."""

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
HeldKind = Literal["BATCH", "DOCUMENT"]


def quarantine_id(kind: HeldKind, subject: str, what: str) -> str:
    """The same for the same thing held again; `what` (a body's hash, a revision) may be any text."""
    return f"{kind}:{subject}:{hashlib.sha256(what.encode()).hexdigest()[:16]}"


class QuarantineItem(StoredDocument):
    """One held thing, alone in its partition. `subject` is the feed or the article; `payload` is what is held.

    CLEARED_RETRY_APPROVED lets it in, CLEARED_TERMINAL drops it. Until then it does not expire. Of a batch,
    `payload` is a sample and the whole is in `parts` beside it; `released_at` is when it was let in.
    """

    CONTAINER: ClassVar[str] = "quarantine"
    STATES: ClassVar[Mapping[str, Machine]] = {"manual_review_status": REVIEW}

    entity_type: Literal["QuarantineItem"] = "QuarantineItem"
    quarantine_id: IdPart
    kind: HeldKind
    subject: IdPart
    reason_code: QuarantineReason | Literal["FLOOD"]
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

    def reviewed(self, now: datetime, decision: ReviewStatus, note: str | None = None) -> Self:
        """Decided by a person; raises InvalidTransition if it was before."""
        REVIEW.step(self.manual_review_status, decision)
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
            raise ValueError("reviewed_at and ttl_timestamp must be there if, and only if, it was reviewed")
        return self


class QuarantinePart(StoredDocument):
    """A piece of what a QuarantineItem holds, in the item's partition; gone once the item is let in or dropped."""

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
