"""What the endpoints answer with, by the names of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.feeds.bulk import ACTIONS
from triggers.declared import Schema, Shape


def _object(title: str, properties: Mapping[str, Schema] | None = None, **more: Any) -> dict[str, Any]:
    """An object with all of these properties; without any, one that has more than is said."""
    if properties is None:
        return {"title": title, "type": "object", **more}
    return {"title": title, "type": "object", "properties": dict(properties), "required": list(properties), **more}


def _text(about: str, **more: Any) -> Schema:
    return {"type": "string", "description": about, **more}


def _maybe(about: str, kind: str = "string") -> Schema:
    return {"type": [kind, "null"], "description": about}


def _count(about: str) -> Schema:
    return {"type": "integer", "minimum": 0, "description": about}


def _many(of: Any, about: str) -> Schema:
    return {"type": "array", "items": of, "description": about}


_RUN_ID = _text("The run: `GET /api/v1/runs/{run_id}` shows its progress.")
RUN_STARTED: Schema = _object("RunStarted", {"run_id": _RUN_ID})

ARTICLE: Shape = _object("Article")
ARTICLE_ALONE: Shape = _object("Article")
ATTEMPT: Shape = _object("Attempt")
CACHE_HEALTH: Shape = _object("CacheHealth")
CLOSED_DAY: Shape = _object("ClosedDay")
CORRECTION: Shape = _object("Correction")
DOCUMENT: Shape = _object("Document")
DOCUMENT_ALONE: Shape = _object("Document")
FEED: Shape = _object("Feed")
FEED_CHANGED: Shape = _object("Feed")
GROUPING_CORRECTION: Shape = _object("GroupingCorrection")
HISTORY_OF_TOOL: Shape = _object("HistoryOfTool")
LEDGER_ENTRY: Shape = _object("LedgerEntry")
MENTION: Shape = _object("Mention")
MERGE: Shape = _object("ToolMerge")
MERGE_UNDONE: Shape = _object("ToolMerge")
POINT: Shape = _object("Point")
QUARANTINE_ITEM: Shape = _object("QuarantineItem")
QUARANTINE_PREVIEW: Shape = _object("QuarantinePreview")
QUARANTINE_REVIEWED: Shape = _object("QuarantineItem")
REFERENCE: Shape = _object("Reference")
RUN: Shape = _object("Run")
RUN_ALONE: Shape = _object("Run")
SENTIMENT: Shape = _object("Sentiment")
SIGNAL: Shape = _object("Signal")
STORY: Shape = _object("Story")
STORY_ALONE: Shape = _object("Story")
TOOL: Shape = _object("Tool")
TOOL_ADDED: Shape = _object("Tool")
TOOL_ALONE: Shape = _object("Tool")
TOOL_CHANGED: Shape = _object("Tool")
TOOL_PREVIEW: Shape = _object("ToolPreview")
EVIDENCE_FACTS: Mapping[str, Schema] = {}
PRECISION: Mapping[str, Schema] = {}
REFERENCE_FACTS: Mapping[str, Schema] = {}
SPAN_FACTS: Mapping[str, Schema] = {}
WINDOW_FACTS: Mapping[str, Schema] = {}

HEALTH: Schema = _object(
    "Health",
    {
        "status": _text("Whether the app is well.", enum=["healthy", "degraded", "unhealthy"]),
        "version": _text("The version of the app."),
        "timestamp": _text("When this was found.", format="date-time"),
        "checks": {
            "type": "object",
            "description": "By what was checked. docs/operations.md says what to do about each.",
            "additionalProperties": {
                "type": "object",
                "properties": {"status": {"type": "string"}, "detail": {"type": "string"}},
                "required": ["status", "detail"],
            },
        },
    },
)
_VALUE = _object(
    "PresetValue",
    {
        "name": _text("Its name."),
        "about": _text("What it is."),
        "pattern": _text("A regular expression of all that is allowed."),
        "example": _text("An example."),
    },
)
PRESET: Schema = _object(
    "Preset",
    {
        "preset": _text("Its name."),
        "about": _text("What its feeds have."),
        "url": _text("The URL, with the values in braces."),
        "source_name": _text("The name of the source, with the values in braces."),
        "values": _many(_VALUE, "The values that it takes."),
    },
)
_NAMED = _object("NamedFeed", {"feed_id": _text("The feed."), "source_name": _text("Its name.")})
_REFUSED = _object(
    "RefusedOutline",
    {
        "line": _maybe("The line in the document.", "integer"),
        "url": _maybe("Its URL."),
        "source_name": _maybe("Its name."),
        "reason": _text("Why it was refused."),
    },
)
FEED_IMPORT: Schema = _object(
    "FeedImport",
    {
        "added": _many(_NAMED, "The new feeds."),
        "known": _many(_NAMED, "Feeds that were there, which stay as they are."),
        "refused": _many(_REFUSED, "Outlines that are no feeds."),
    },
)
BULK_RESULT: Schema = _object(
    "BulkResult",
    {
        "feed_id": _text("The feed."),
        "outcome": _text(
            "`unchanged`: the feed is so already, or `run_id` is about to fetch it.",
            enum=["changed", "unchanged", "refused"],
        ),
        "reason": _maybe("Why it was refused."),
        "run_id": _maybe("The run that fetches it."),
    },
)
BULK_FACTS: Mapping[str, Schema] = {
    "action": _text("The action.", enum=list(ACTIONS)),
    "dry_run": {"type": "boolean", "description": "True: nothing was changed."},
}
QUEUE: Schema = _object(
    "Queue",
    {
        "name": _text("Its name."),
        "messages": _count("How many wait."),
        "poison": _count("How many failed five times."),
        "poison_messages": _many({}, "Up to five of them."),
    },
)
REDRIVEN: Schema = _object(
    "Redriven", {"name": _text("The queue."), "moved": _count("How many messages and articles were sent.")}
)
