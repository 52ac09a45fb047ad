"""The record of a numbered migration. services/operations/migrations runs them."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from models.stored import StoredDocument
from models.values import Count, Text, Time


class MigrationRecord(StoredDocument):
    """`completed_at` is null while the migration runs, and after a crash; the migration is then run again."""

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
