"""The documents that store a tool's counts, made and read without validating what was just counted. Pure.

Validating each of these documents as its model would take a third of a recount. So the fields that a model gives to all
documents of one moment are made once, and a document is validated only if it could not be counted (`first_unreadable`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from models.errors import UnreadableDocument
from models.stored import StoredDocument
from models.tally import TimelineHours
from models.timeline import DayCounts, DaySums, Timeline, WindowTables
from models.tool import Tool
from models.values import format_time, hour_key
from services.figures.counting import Count
from services.ports import Document

_MODELS: Mapping[str, type[StoredDocument]] = {
    "DayCounts": DayCounts,
    "DaySums": DaySums,
    "DataProduct": Timeline,
    "Tool": Tool,
    "WindowTables": WindowTables,
}


def is_of_last_recount(number: int, windows: Document | None) -> bool:
    """Whether an entry with this `recounts` is of the tool's last recount. False if its windows cannot be read."""
    if windows is None:
        return True
    last = windows.get("recounts") or 0
    return isinstance(last, int) and number >= last


def recounts_of(timeline: Document | None) -> int:
    """The tool's `recounts`. Two timelines with the same number have the same counts."""
    return 0 if timeline is None else timeline.get("ingestion_count", 0)


def hours_of(timeline: Document | None) -> TimelineHours:
    """Raises UnreadableDocument if the document is not a timeline."""
    if timeline is None:
        return TimelineHours({})
    hours = timeline.get("hours")
    if not isinstance(hours, dict):
        raise UnreadableDocument("Timeline", str(timeline.get("tool_id")), "it has no table of hours")
    return TimelineHours(hours)


def first_unreadable(documents: Iterable[Document | None]) -> UnreadableDocument | None:
    """Why the first of these documents that cannot be read cannot be; None if all can."""
    for document in documents:
        if document is None:
            continue
        model = _MODELS.get(str(document.get("entity_type")))
        try:
            if model is None:
                raise UnreadableDocument("document", str(document.get("id")), "it has no known entity_type")
            model.from_document(document)
        except UnreadableDocument as error:
            return error
    return None


@lru_cache(maxsize=16)
def _fields_at(model: type[StoredDocument], now: datetime) -> Mapping[str, Any]:
    """The fields that all documents of this model have if they are made now."""
    own: dict[str, Any] = {"hour": hour_key(now)} if model is WindowTables else {}
    if model is DayCounts:
        own = {"day": f"{now:%Y%m%d}", "whole": Count().to_document(), "hours": "{}"}
    return model.model_validate({"tool_id": "any", "created_at": now, "updated_at": now, **own}).to_document()


def of_tool(model: type[StoredDocument], tool_id: str, now: datetime, own: Mapping[str, Any]) -> Document:
    """A document of this model with the fields `own`."""
    return {**_fields_at(model, now), "pk": tool_id, "tool_id": tool_id, **own}


def times(**given: datetime | None) -> dict[str, str]:
    """These times as documents have them; without those that are None."""
    return {name: format_time(time) for name, time in given.items() if time is not None}


def timeline_document(
    tool_id: str,
    before: Document | None,
    hours: TimelineHours,
    oldest: str,
    latest: Document | None,
    now: datetime,
) -> Document:
    """The timeline after one more recount, from the hour `oldest` on. `latest` is the counted mention that was
    published last."""
    stored: Mapping[str, Any] = before or Timeline(tool_id=tool_id, created_at=now, updated_at=now).to_document()
    written = format_time(now)
    changes: dict[str, Any] = {
        "updated_at": written,
        "last_ingestion_at": written,
        "ingestion_count": recounts_of(before) + 1,
        "hours": hours.stored(oldest),
    }
    if latest is not None and latest.get("source"):
        changes["last_ingestion_source"] = latest["source"]
    return {name: each for name, each in stored.items() if name[0] != "_"} | changes
