"""The record of a merge of two tools: who asked for it and why, what the target got, and whether it was undone."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import JsonValue, model_validator

from models.stored import StoredDocument
from models.tool import ToolId
from models.values import Day, Flag, IdPart, SourceKey, Text, Time

PREFIX = "MERGE:"
AFTER_PREFIX = "MERGE;"
"""";" is the character after ":"."""


class ToolMerge(StoredDocument):
    """A merge, in the partition of its target. Written in one batch with the target; never expires.

    `merged_tool_id` is the tool that became MERGED, `tool_id` the target. `names`, `tickers`, `keywords`, `excluded`
    and `muted_sources` are what the target got from it. `took_discovery`: it also got its first article;
    `target_discovery_date` and `target_discovery_reference` are the first article that the target had before.
    `was_deprecated`: the merged tool was not watched. `target_was_deprecated`: the target was no longer watched before
    the merge had ended, and is watched until then. `author` is null if nobody was named, and in the record of a
    merge that an earlier version made.
    """

    CONTAINER: ClassVar[str] = "catalog"

    entity_type: Literal["ToolMerge"] = "ToolMerge"
    tool_id: ToolId
    merged_tool_id: ToolId
    merged_name: Text
    was_deprecated: Flag | None = None
    target_was_deprecated: Flag | None = None
    names: tuple[Text, ...] = ()
    tickers: tuple[Text, ...] = ()
    keywords: tuple[Text, ...] = ()
    excluded: tuple[Text, ...] = ()
    muted_sources: tuple[SourceKey, ...] = ()
    target_discovery_date: Day | None = None
    target_discovery_reference: IdPart | None = None
    took_discovery: Flag | None = None
    author: Text | None = None
    reason: Text | None = None
    made_at: Time
    made_by_run: IdPart
    undone_at: Time | None = None
    undone_by: Text | None = None
    undone_reason: Text | None = None
    undone_by_run: IdPart | None = None

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return merge_document_id(self.merged_tool_id, self.made_by_run)

    @property
    def is_active(self) -> bool:
        return self.undone_at is None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.tool_id == self.merged_tool_id:
            raise ValueError("merged_tool_id must be another tool")
        if (self.undone_at is None) != (self.undone_by is None):
            raise ValueError("undone_at and undone_by must be there together, or neither")
        return self


def merge_document_id(merged_tool_id: str, run_id: str) -> str:
    return f"{PREFIX}{merged_tool_id}:{run_id}"


class CarriedCorrection(StoredDocument):
    """A correction of a merged tool as it was before it was carried over to the target. It stays with the merged tool,
    so that the correction can return."""

    CONTAINER: ClassVar[str] = "catalog"

    entity_type: Literal["CarriedCorrection"] = "CarriedCorrection"
    tool_id: ToolId
    correction_id: IdPart
    correction: dict[str, JsonValue]

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return carried_correction_id(self.correction_id)


def carried_correction_id(correction_id: str) -> str:
    return f"CARRIED:{correction_id}"
