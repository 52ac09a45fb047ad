"""What is known of an article that mentions a tool (Reference and NovaReference of the specification), and the days of
which it is kept when mentions and articles have expired."""

from __future__ import annotations

from typing import ClassVar, Literal, Self
from uuid import UUID, uuid5

from pydantic import model_validator

from models.stored import StoredDocument
from models.tool import ReferenceRole, Tool
from models.values import Count, Day, IdPart, Text, Time, Value

ADDED_BY = "analyze_articles"
"""The workflow that finds articles about tools."""


class Reference(Value):
    """One article that mentions a tool; `source_id` is the article's id.

    `source` is the publisher, or the feed if the publisher is unknown. `source_identifier` is the URL, or the article's
    id if there is none.
    """

    source_id: IdPart
    source: Text | None = None
    source_identifier: Text
    title: Text | None = None
    published_at: Time
    role: ReferenceRole
    event_id: IdPart | None = None
    created_at: Time

    def role_for(self, tool: Tool) -> ReferenceRole:
        """The tool knows its first article; the stored role may be older."""
        if tool.discovery_reference == self.source_id:
            return "DISCOVERY"
        return "TIMELINE_SOURCE" if self.role == "DISCOVERY" else self.role


def reference_id(tool_id: str, source_id: str) -> str:
    """The same UUID for the same tool and article, always."""
    return str(uuid5(UUID(tool_id), source_id))


class ReferenceDay(StoredDocument):
    """The references of one tool of one UTC day, latest first. Does not expire.

    `not_kept` is how many references did not fit into the document, at most.
    """

    CONTAINER: ClassVar[str] = "catalog"

    entity_type: Literal["ReferenceDay"] = "ReferenceDay"
    tool_id: IdPart
    day: Day
    references: tuple[Reference, ...] = ()
    not_kept: Count = 0

    @staticmethod
    def id_of(day: Day) -> str:
        return f"REFS:{day.replace('-', '')}"

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return self.id_of(self.day)

    @model_validator(mode="after")
    def _are_of_that_day(self) -> Self:
        if any(each.published_at.date().isoformat() != self.day for each in self.references):
            raise ValueError("references must be published on that day")
        return self
