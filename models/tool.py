"""A tool, its names, its merges and its references. services/tools finds names in texts."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID, uuid5

from pydantic import AfterValidator, Field, model_validator

from models.states import TOOL, Machine, ToolStatus
from models.stored import StoredDocument
from models.values import Count, Day, Flag, IdPart, SourceKey, Text, Time, Value, optional


def normalize_name(name: str) -> str:
    """Equal for names that differ in case or spacing only. Punctuation counts: C, C# and C++ are three names."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(plain.split())


def name_key(normalized_name: str) -> str:
    """The partition of a name. Hashed, since names may have characters that keys must not have."""
    return "NAME:" + hashlib.sha256(normalized_name.encode()).hexdigest()[:32]


def _uuid(text: str) -> str:
    try:
        if str(UUID(text)) == text:
            return text
    except ValueError:
        pass
    raise ValueError("must be a UUID in lower case with hyphens")


ToolId = Annotated[str, AfterValidator(_uuid)]


def is_tool_id(text: str) -> bool:
    """Whether the text has the form of a tool's id."""
    try:
        return _uuid(text) == text
    except ValueError:
        return False


class OfTool(StoredDocument):
    """A document of a tool in the container `catalog`."""

    tool_id: IdPart

    @property
    def partition(self) -> str:
        return self.tool_id


class NameRule(Value):
    """When a name counts."""

    case_sensitive: Flag = Field(default=False, description="Whether the name counts only in this case.")
    context: tuple[Text, ...] = Field(
        default=(), description="The name counts only near one of these words; empty: everywhere."
    )


class Reviews(Value):
    """How many mentions people have reviewed that one version of an analyzer scored."""

    reviewed: Count = Field(default=0, description="Mentions with a verdict.")
    about_tool: Count = Field(default=0, description="Those whose verdict is not `not_this_tool`.")
    scored: Count = Field(
        default=0,
        description="Mentions about the tool to which the analyzer had given a sentiment, and the person too.",
    )
    sentiment_right: Count = Field(default=0, description="Those for which both are the same.")

    def plus(self, other: Reviews, sign: int = 1) -> Reviews:
        """The sum, or with the sign -1 the difference, which is never below 0."""
        names = Reviews.model_fields
        return Reviews(**{name: max(0, getattr(self, name) + sign * getattr(other, name)) for name in names})

    def shown(self) -> dict[str, int | float | None]:
        """The numbers and the shares that follow; a share is null while there is nothing to measure it by."""
        return {
            "reviewed": self.reviewed,
            "about_tool": self.about_tool,
            "precision": round(self.about_tool / self.reviewed, 4) if self.reviewed else None,
            "scored": self.scored,
            "sentiment_right": self.sentiment_right,
            "sentiment_accuracy": round(self.sentiment_right / self.scored, 4) if self.scored else None,
        }


MAX_NAMES = 100
"""The most entries that each list of a tool has."""
DETECTION_LISTS = ("tickers", "keywords", "excluded", "muted_sources")
"""The fields of a tool that list what it is detected by, besides its names."""


class Tool(OfTool):
    """A product, library or ticker. The record of a merge (`ToolMerge`) is in the partition of the tool that replaces
    the other one.

    The keys of `name_rules` are names as given. `corrections` is how often a verdict on one of the tool's mentions was
    made or undone: 0 means that there is none to be read. `reviews` counts the verdicts that are not undone, by
    analyzer and version. Both are written in one batch with the correction.
    """

    STATES: ClassVar[Mapping[str, Machine]] = {"status": TOOL}
    COMPUTED: ClassVar[tuple[str, ...]] = ("primary_name_normalized",)
    ID: ClassVar[str] = "TOOL"

    entity_type: Literal["Tool"] = "Tool"
    tool_id: ToolId = Field(description="The id, a UUID.")
    primary_name: Text = Field(description="The name by which people know the tool. It belongs to this tool only.")
    status: ToolStatus = Field(default="ACTIVE", description="`ACTIVE`, `DEPRECATED` or `MERGED`.")
    merged_into: ToolId | None = optional("The tool that replaces it, if the status is `MERGED`.")
    merging_into: ToolId | None = optional("The tool of a merge that is under way.")
    aliases: tuple[Text, ...] = Field(default=(), description="Other names of the tool.")
    tickers: tuple[Text, ...] = Field(
        default=(),
        description="Its tickers: found as `$MSFT`, as `NASDAQ: MSFT`, or among the tags and tickers of the source.",
    )
    keywords: tuple[Text, ...] = Field(
        default=(), description="Words that mean the tool too; several tools may share a keyword."
    )
    excluded: tuple[Text, ...] = Field(default=(), description="Phrases that rule the tool out.")
    muted_sources: tuple[SourceKey, ...] = Field(
        default=(), description="Feeds whose articles do not mention the tool unless another source published them too."
    )
    name_rules: dict[str, NameRule] = Field(
        default_factory=dict,
        description="By name, when it counts: only in this case, and only near one of these words.",
    )
    discovery_date: Day | None = optional(
        "The day of the first article that named the tool; not of one that is not about it, by the verdict of a person."
    )
    discovery_reference: IdPart | None = optional("The id of that first article.")
    scored_by: Text | None = optional(
        "Analyzer and version that scored the mentions; after the analyzer changed, the old one until a reanalysis."
    )
    searched_since: Time | None = optional(
        "Since when a backfill has searched the articles for the tool, if that is before the tool was created; else "
        "null."
    )
    corrections: Count = 0
    reviews: dict[Text, Reviews] = Field(default_factory=dict)

    @property
    def primary_name_normalized(self) -> str:
        return normalize_name(self.primary_name)

    @property
    def names(self) -> tuple[str, ...]:
        """The primary name and all aliases, as given."""
        return (self.primary_name, *self.aliases)

    def with_names_of(self, merged: Tool, now: datetime) -> Self:
        """The tool with the names of a merged one and their rules, tickers, keywords, exclusions, muted sources, and
        the earlier first article."""
        known = {normalize_name(name) for name in self.names}
        aliases = [name for name in merged.names if normalize_name(name) not in known]
        rules = {name: rule for name, rule in merged.name_rules.items() if name in aliases}
        changes: dict[str, Any] = {
            "aliases": (*self.aliases, *aliases),
            "name_rules": {**self.name_rules, **rules},
            **{name: tuple(dict.fromkeys((*getattr(self, name), *getattr(merged, name)))) for name in DETECTION_LISTS},
        }
        first, known_first = merged.discovery_date, self.discovery_date
        if first is not None and (known_first is None or first < known_first):
            changes |= {"discovery_date": first, "discovery_reference": merged.discovery_reference}
        return self.changed(now, **changes)

    def is_detected_as(self, other: Tool) -> bool:
        """Whether both versions of the tool are found in the same articles."""
        return all(getattr(self, name) == getattr(other, name) for name in _DETECTED_BY)

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        normalized = [normalize_name(name) for name in self.names]
        if not all(normalized) or len(set(normalized)) < len(normalized):
            raise ValueError("primary_name and aliases must each be another name, and none empty")
        if not self.name_rules.keys() <= set(self.names):
            raise ValueError("name_rules must be for the primary name or an alias")
        if (self.status == "MERGED") != (self.merged_into is not None) or self.merged_into == self.tool_id:
            raise ValueError("merged_into must name another tool if, and only if, status is MERGED")
        if self.merging_into is not None and (self.status == "MERGED" or self.merging_into == self.tool_id):
            raise ValueError("merging_into must name another tool, and only until status is MERGED")
        return self


_DETECTED_BY = ("primary_name", "aliases", "tickers", "keywords", "excluded", "muted_sources", "name_rules", "status")
"""The fields that detection depends on."""


NameSource = Literal["USER_INPUT", "INGESTION", "CONFIG", "OTHER"]


class ToolName(StoredDocument):
    """The specification's NameMapping: the tool that owns a name. Creating the document claims the name."""

    COMPUTED: ClassVar[tuple[str, ...]] = ("name_normalized",)
    ID: ClassVar[str] = "NAME"

    entity_type: Literal["NameMapping"] = "NameMapping"
    name_raw: Text = Field(description="The name as the tool lists it.")
    name_kind: Literal["PRIMARY", "ALIAS"] = Field(description="`PRIMARY`, or `ALIAS` for any other name.")
    tool_id: ToolId = Field(description="The tool.")
    source: NameSource = Field(
        default="USER_INPUT",
        description="Who gave the tool the name: `USER_INPUT`, a person who added or changed one tool; `CONFIG`, a "
        "list (`POST tools/apply`); `INGESTION`, an article; or `OTHER`. Names that a merge moves keep it. Ingestion "
        "adds no names now.",
    )

    @property
    def partition(self) -> str:
        return name_key(self.name_normalized)

    @property
    def name_normalized(self) -> str:
        return normalize_name(self.name_raw)

    @model_validator(mode="after")
    def _is_a_name(self) -> Self:
        if not self.name_normalized:
            raise ValueError("name_raw must have something besides spaces")
        return self


class CatalogVersion(StoredDocument):
    """The version of the catalog. It changes with each name or rule of detection, so that detectors are built again."""

    PARTITION: ClassVar[str] = "CATALOG"
    ID: ClassVar[str] = "VERSION"

    entity_type: Literal["CatalogVersion"] = "CatalogVersion"
    version: Text


ReferenceRole = Literal["DISCOVERY", "DOCUMENT_SOURCE", "TIMELINE_SOURCE", "OTHER"]


PREFIX = "MERGE:"
AFTER_PREFIX = "MERGE;"
"""";" is the character after ":"."""


class ToolMerge(OfTool):
    """A merge, in the partition of its target, with the names that the target got. Written in one batch with the
    target; never expires.
    """

    entity_type: Literal["ToolMerge"] = "ToolMerge"
    tool_id: ToolId = Field(description="The tool that got the names and mentions.")
    merged_tool_id: ToolId = Field(description="The tool that was merged.")
    merged_name: Text = Field(description="The name of the tool that was merged.")
    names: tuple[Text, ...] = Field(default=(), description="The names of the merged tool, which the other tool got.")
    tickers: tuple[Text, ...] = Field(default=(), description="Its tickers, which the other tool got.")
    keywords: tuple[Text, ...] = Field(default=(), description="Its keywords, which the other tool got.")
    excluded: tuple[Text, ...] = Field(default=(), description="Its excluded phrases, which the other tool got.")
    muted_sources: tuple[SourceKey, ...] = Field(default=(), description="Its muted sources, which the other tool got.")
    author: Text | None = optional("Who merged them; null if nobody was named.")
    reason: Text | None = optional("Why they were merged; null if nobody said.")
    made_at: Time = Field(description="When they were merged.")
    made_by_run: IdPart = Field(description="The run of the merge.")

    @classmethod
    def of(cls, merged: Tool, into: str, signed: Mapping[str, Any], run_id: str, now: datetime) -> Self:
        """The record of a merge, which has the author and the reason in `signed`."""
        return cls(
            created_at=now,
            tool_id=into,
            merged_tool_id=merged.tool_id,
            merged_name=merged.primary_name,
            names=merged.names,
            **{name: getattr(merged, name) for name in DETECTION_LISTS},
            author=signed.get("author"),
            reason=signed.get("reason"),
            made_at=now,
            made_by_run=run_id,
        )

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


ANALYZE = "analyze_articles"
"""The workflow of the analysis."""


ADDED_BY_WORKFLOW = (
    "The workflow that found the mention, or found it again after it was removed: `analyze_articles`, for a tool that "
    "was new or changed `backfill_tools`, for a merged one `merge_tool`, or another workflow of `GET runs`."
)


class Reference(Value):
    """One article that mentions a tool."""

    source_id: IdPart = Field(description="The id of the article.")
    source: Text | None = optional("The publisher; the feed if the publisher is unknown.")
    source_identifier: Text = Field(description="The URL; the id of the article if it has none.")
    title: Text | None = optional("The headline.")
    published_at: Time = Field(description="When the article was published or first seen, whichever is earlier.")
    role: ReferenceRole
    event_id: IdPart | None = optional("The story of the article; null if it had none.")
    added_by_workflow: IdPart = Field(default=ANALYZE, description=ADDED_BY_WORKFLOW)
    created_at: Time = Field(description="When the mention was first stored.")

    def role_for(self, tool: Tool) -> ReferenceRole:
        """The tool knows its first article; the stored role may be older."""
        if tool.discovery_reference == self.source_id:
            return "DISCOVERY"
        return "TIMELINE_SOURCE" if self.role == "DISCOVERY" else self.role


def reference_id(tool_id: str, source_id: str) -> str:
    """The same UUID for the same tool and article, always."""
    return str(uuid5(UUID(tool_id), source_id))


class ReferenceDay(OfTool):
    """The references of one tool of one UTC day, latest first. Does not expire.

    `not_kept` is how many references did not fit into the document, at most.
    """

    entity_type: Literal["ReferenceDay"] = "ReferenceDay"
    day: Day
    references: tuple[Reference, ...] = ()
    not_kept: Count = 0

    @staticmethod
    def id_of(day: Day) -> str:
        return f"REFS:{day.replace('-', '')}"

    @property
    def id(self) -> str:
        return self.id_of(self.day)

    @model_validator(mode="after")
    def _are_of_that_day(self) -> Self:
        if any(each.published_at.date().isoformat() != self.day for each in self.references):
            raise ValueError("references must be published on that day")
        return self
