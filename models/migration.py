"""That a numbered migration was run. Running is for scripts/migrate.py."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from models.stored import StoredDocument
from models.values import Count, Text, Time


class MigrationRecord(StoredDocument):
    """`completed_at` is absent while it runs, and after a crash: then it is run again."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "MIGRATION"

    entity_type: Literal["MigrationRecord"] = "MigrationRecord"
    number: int = Field(strict=True, ge=1, le=9999)
    name: Text
    started_at: Time
    completed_at: Time | None = None
    duration_ms: Count | None = None

    @property
    def partition(self) -> str:
        return self.PARTITION

    @property
    def id(self) -> str:
        return f"{self.number:04d}"
