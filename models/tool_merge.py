"""The record of a merge of two tools: who asked for it and why, and what the merged tool was detected by."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from models.stored import StoredDocument
from models.tool import ToolId
from models.values import IdPart, SourceKey, Text, Time

PREFIX = "MERGE:"
AFTER_PREFIX = "MERGE;"
"""";" is the character after ":"."""


class ToolMerge(StoredDocument):
    """A merge, in the partition of its target. Written in one batch with the target; never expires.

    `merged_tool_id` is the tool that became MERGED, `tool_id` the target. `names`, `tickers`, `keywords`, `excluded`
    and `muted_sources` are those of the merged tool, which the target got. `author` is null if nobody was named.
    """

    CONTAINER: ClassVar[str] = "catalog"

    entity_type: Literal["ToolMerge"] = "ToolMerge"
    tool_id: ToolId
    merged_tool_id: ToolId
    merged_name: Text
    names: tuple[Text, ...] = ()
    tickers: tuple[Text, ...] = ()
    keywords: tuple[Text, ...] = ()
    excluded: tuple[Text, ...] = ()
    muted_sources: tuple[SourceKey, ...] = ()
    author: Text | None = None
    reason: Text | None = None
    made_at: Time
    made_by_run: IdPart

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return merge_id(self.merged_tool_id)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.tool_id == self.merged_tool_id:
            raise ValueError("merged_tool_id must be another tool")
        return self


def merge_id(merged_tool_id: str) -> str:
    """The id of the record of this tool's merge: a tool is merged once."""
    return PREFIX + merged_tool_id
