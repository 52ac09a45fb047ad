"""The documents that store a tool's counts: read, and made without validating what was just counted. Pure.

Validating each of these documents as its model would take a third of a recount. So the fields that a model gives to all
documents of one moment are made once (`fields_at`), and a timeline that has the usual fields is carried on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from models.stored import READABLE_VERSIONS
from models.tally import HoursOfAnalyzers, MinutesOfAnalyzers, Table, TimelineHours
from models.timeline import (
    HourDocument,
    HourRows,
    HourTable,
    StoryHours,
    StoryTable,
    StoryTableDocument,
    Timeline,
    TimelineDocument,
    WindowTables,
)
from models.values import format_time, hour_key, parse_time
from services.ports import Document


def is_of_last_recount(number: int, windows: Document | None) -> bool:
    """Whether an entry with this `recounts` is of the tool's last recount. False if its windows cannot be read."""
    if windows is None:
        return True
    last = windows.get("recounts") or 0
    return isinstance(last, int) and number >= last


def recounts_of(timeline: TimelineDocument | None) -> int:
    """The tool's `recounts`. Two timelines with the same number have the same counts."""
    return 0 if timeline is None else timeline.get("ingestion_count", 0)


def hours_of(timeline: TimelineDocument | None) -> TimelineHours:
    """Raises ValueError if the document is not a timeline."""
    hours = _table(timeline, Timeline, "hours")
    return TimelineHours(hours, (timeline or {}).get("analyzers") or {})


def minutes_of(hour: HourDocument | None) -> Table:
    """Raises ValueError if the document is not an hour table."""
    return _table(hour, HourTable, "minutes")


def _table(document: Mapping[str, Any] | None, model: type[Timeline | HourTable], field: str) -> dict[str, Any]:
    if document is None:
        return {}
    table = document.get(field)
    if document.get("entity_type") != _ENTITY_TYPES[model] or not isinstance(table, dict):
        raise ValueError(f"{document.get('id')!r} is not a document of {model.__name__}")
    return table


_ENTITY_TYPES = {model: model.model_fields["entity_type"].default for model in (Timeline, HourTable)}


def analyzers_of(hour: HourDocument | None) -> MinutesOfAnalyzers:
    return (hour or {}).get("analyzers") or {}


def rows_of(hour: HourDocument | None) -> HourRows | None:
    """None for a crowded hour. Raises ValueError for a table that an earlier version stored."""
    if hour is None:
        return {}
    if "rows" not in hour:
        raise ValueError(f"{hour.get('id')!r} is not a document of HourTable")
    return None if hour.get("crowded") else hour["rows"]


def has_rows(stored: HourDocument | None, rows: HourRows | None) -> bool:
    """Whether the stored table has these rows."""
    if stored is None:
        return rows == {}
    return "rows" in stored and rows_of(stored) == rows


_MODELS = {model.__name__: model for model in (HourTable, StoryTable, WindowTables)}


@lru_cache(maxsize=16)
def _fields_at(name: str, now: datetime) -> Mapping[str, Any]:
    """The fields that all documents of this model have if they are made now."""
    model = _MODELS[name]
    own: dict[str, Any] = {"bucket": 0} if model is StoryTable else {"hour": hour_key(now)}
    made = model.model_validate({"tool_id": "any", "created_at": now, "updated_at": now, **own})
    return made.to_document()


def _of_tool(name: str, tool_id: str, now: datetime, own: Mapping[str, Any]) -> dict[str, Any]:
    return {**_fields_at(name, now), "pk": tool_id, "tool_id": tool_id, **own}


def hour_document(
    tool_id: str,
    hour: str,
    minutes: Table,
    analyzers: MinutesOfAnalyzers,
    rows: HourRows | None,
    now: datetime,
) -> HourDocument:
    counts = {"minutes": minutes, "analyzers": analyzers, "rows": rows or {}, "crowded": rows is None}
    own = {"id": f"HOUR:{hour}", "hour": hour, **counts}
    return cast("HourDocument", _of_tool("HourTable", tool_id, now, own))


def story_document(tool_id: str, bucket: int, stories: StoryHours, now: datetime) -> StoryTableDocument:
    own = {"id": StoryTable.id_of(bucket), "bucket": bucket, "stories": stories}
    return cast("StoryTableDocument", _of_tool("StoryTable", tool_id, now, own))


def windows_fields(tool_id: str, now: datetime, times: Mapping[str, datetime | None]) -> Document:
    """A WindowTables without its counts. Times that are None are absent."""
    own = {name: format_time(time) for name, time in times.items() if time is not None}
    return _of_tool("WindowTables", tool_id, now, own)


def timeline_document(
    tool_id: str,
    before: TimelineDocument | None,
    days: Mapping[str, str],
    analyzers: HoursOfAnalyzers,
    latest: Document | None,
    now: datetime,
) -> TimelineDocument:
    """The timeline after one more recount. `latest` is the counted mention that was published last."""
    counts = {"hours": dict(days), "analyzers": analyzers}
    changes: dict[str, Any] = {"ingestion_count": recounts_of(before) + 1}
    if latest is not None and latest.get("source"):
        changes["last_ingestion_source"] = latest["source"]
    if before is not None and _is_usual(before) and isinstance(changes.get("last_ingestion_source", ""), str):
        written = format_time(now)
        times = {"updated_at": written, "last_ingestion_at": written}
        kept = {name: value for name, value in before.items() if name[0] != "_"}
        return cast("TimelineDocument", {**kept, **changes, **times, **counts})
    first: dict[str, Any] = {"tool_id": tool_id, "entity_type": "DataProduct", "created_at": now}
    changes |= {"hours": {}, "analyzers": {}, "updated_at": now, "last_ingestion_at": now}
    timeline = Timeline.from_document({**(before or first), **changes})
    return cast("TimelineDocument", {**timeline.to_document(), **counts})


_USUAL = {"id": Timeline.ID, "entity_type": "DataProduct", "product_type": "TIMELINE"}
_ALL = frozenset({*Timeline.model_fields, *Timeline.COMPUTED, "id", "pk", "_etag", "_ts"})


def _is_usual(stored: TimelineDocument) -> bool:
    """Whether the model would change nothing of this timeline but what each recount changes."""
    made, count = stored.get("created_at"), stored.get("ingestion_count")
    if not (
        stored.keys() <= _ALL
        and all(stored.get(name) == value for name, value in _USUAL.items())
        and stored.get("schema_version") in READABLE_VERSIONS
        and stored.get("pk") == stored.get("tool_id")
        and isinstance(stored.get("data_product_id"), str)
        and isinstance(stored.get("last_ingestion_source", ""), str)
        and type(count) is int
        and count >= 0
        and "ttl_timestamp" not in stored
        and isinstance(made, str)
    ):
        return False
    return format_time(parse_time(made)) == made
