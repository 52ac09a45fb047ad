"""The documents of services/work."""

from __future__ import annotations

from typing import ClassVar, Literal

from models.stored import StoredDocument
from models.values import IdPart, Time


class AnnouncedWork(StoredDocument):
    """What of one stage was last announced as overdue: all items due at or before `due_until`, at `announced_at` or
    later."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "WORK"

    entity_type: Literal["AnnouncedWork"] = "AnnouncedWork"
    stage: IdPart
    due_until: Time
    announced_at: Time

    @property
    def id(self) -> str:
        return self.stage
