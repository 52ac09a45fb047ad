"""How far the audit is, and what it found: one document for the whole app. services/operations/audit.py writes it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, Literal

from pydantic import Field

from models.stored import StoredDocument
from models.values import Count, Text, Time, Value

MOST_EXAMPLES = 20


class AuditExample(Value):
    """One difference: its kind, what it concerns, and what is stored and counted there."""

    kind: Text
    subject: Text
    detail: Text


class AuditRound(Value):
    """One round through everything that is stored. `found` is the number of differences by kind, with MOST_EXAMPLES of
    them in `examples`."""

    started_at: Time
    ended_at: Time | None = None
    checked: Count = 0
    found: dict[Text, Count] = Field(default_factory=dict)
    examples: tuple[AuditExample, ...] = ()

    def plus(self, checked: int, found: Sequence[AuditExample]) -> AuditRound:
        """The round after one more step."""
        counts = dict(self.found)
        for each in found:
            counts[each.kind] = counts.get(each.kind, 0) + 1
        return self.model_copy(
            update={
                "checked": self.checked + checked,
                "found": counts,
                "examples": (*self.examples, *found)[:MOST_EXAMPLES],
            }
        )

    def ended(self, now: datetime) -> AuditRound:
        return self.model_copy(update={"ended_at": now})


class Audit(StoredDocument):
    """The last round of the audit, and the checkpoint of the `present` one, if there is one: it goes on in `section`,
    behind `position`."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "AUDIT"
    ID: ClassVar[str] = "audit"

    entity_type: Literal["Audit"] = "Audit"
    section: Text | None = None
    position: Text | None = None
    present: AuditRound | None = None
    last: AuditRound | None = None
