"""Counting mentions by minute, and the stored tables of counts. Pure.

A timeline has up to 768 hours: checking each as a model takes ten times as long as all else that is done to it, so
the models check everything but the numbers, and the numbers stay as they are stored: `[positive, negative, neutral,
polarity_millionths]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from models.timeline import MILLIONTHS, HourTable, Tally, Timeline
from services.ports import Document

Numbers = list[int]
Table = dict[str, Numbers]
"""By hour in a timeline, by minute in an hour's table; nothing is listed where nothing was said."""

_COLUMN = {"positive": 0, "negative": 1, "neutral": 2}


def total(tables: Iterable[Numbers]) -> Tally:
    return Tally(*(sum(column) for column in zip(*tables, strict=True)))


@dataclass(slots=True)
class Count:
    """What was counted so far. `removed` are the tombstones that were met; `latest` is the last mention."""

    minutes: dict[str, Table] = field(default_factory=dict)
    removed: list[Document] = field(default_factory=list)
    latest: Document | None = None

    def add(self, mentions: Iterable[Document]) -> None:
        """ValueError for what is no mention."""
        for mention in mentions:
            try:
                if mention.get("removed_at") is not None:
                    self.removed.append(mention)
                    continue
                at: str = mention["published_at"]
                hour = at[:4] + at[5:7] + at[8:10] + at[11:13]
                numbers = self.minutes.setdefault(hour, {}).setdefault(at[14:16], [0, 0, 0, 0])
                numbers[_COLUMN[mention["sentiment"]]] += 1
                numbers[3] += round(mention["polarity"] * MILLIONTHS)
            except (KeyError, TypeError) as error:
                raise ValueError(f"mention {mention.get('id')!r} cannot be counted: {error}") from error
            self.latest = mention

    def of_hour(self, hour: str) -> Numbers | None:
        """None if nothing was said."""
        minutes = self.minutes.get(hour)
        return list(total(minutes.values())) if minutes else None


def hours_in(timeline: Document | None) -> Table:
    """ValueError if it is none."""
    return _table(timeline, Timeline, "hours")


def minutes_in(hour: Document | None) -> Table:
    """ValueError if it is none."""
    return _table(hour, HourTable, "minutes")


def _table(document: Document | None, model: type[Timeline | HourTable], payload: str) -> Table:
    if document is None:
        return {}
    table = document.get(payload)
    if document.get("entity_type") != model.model_fields["entity_type"].default or not isinstance(table, dict):
        raise ValueError(f"{document.get('id')!r} is no {model.__name__}")
    return table


def hour_document(tool_id: str, hour: str, before: Document | None, minutes: Table, now: datetime) -> Document:
    if before is None:
        table = HourTable(tool_id=tool_id, hour=hour, created_at=now, updated_at=now)
    else:
        table = HourTable.from_document({**before, "minutes": {}}).changed(now)
    return {**table.to_document(), "minutes": minutes}


def timeline_document(
    tool_id: str, before: Document | None, hours: Mapping[str, Numbers], latest: Document | None, now: datetime
) -> Document:
    if before is None:
        timeline = Timeline(tool_id=tool_id, created_at=now, updated_at=now)
    else:
        timeline = Timeline.from_document({**before, "hours": {}})
    changes: dict[str, Any] = {"last_ingestion_at": now, "ingestion_count": timeline.ingestion_count + 1}
    if latest is not None and latest.get("source"):
        changes["last_ingestion_source"] = latest["source"]
    return {**timeline.changed(now, **changes).to_document(), "hours": dict(hours)}
