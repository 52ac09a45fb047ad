"""What is kept of a tool's past besides the counts of its days: closes, the hours of a month, how far closes are."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from models.stored import StoredDocument
from models.values import Day, IdPart, Sha256, Text, Time, format_time


def close_id(tool_id: str, day: Day) -> str:
    return f"close:{tool_id}:{day}"


class DailyClose(StoredDocument):
    """The figures of one UTC day of one tool as they were at `closed_at`. Never changes.

    `text` is JSON with the keys sorted and without spaces: the id of the close, the tool, the day, `closed_at`, and the
    figures. It is stored as text so that `sha256` is the hash of what is served, whatever a store does to numbers.
    """

    CONTAINER: ClassVar[str] = "catalog"

    entity_type: Literal["DailyClose"] = "DailyClose"
    tool_id: IdPart
    day: Day
    closed_at: Time
    text: Text
    sha256: Sha256

    @classmethod
    def of(cls, tool_id: str, day: Day, figures: dict[str, Any], now: datetime) -> Self:
        said = {
            "id": close_id(tool_id, day),
            "tool_id": tool_id,
            "day": day,
            "closed_at": format_time(now),
            "figures": figures,
        }
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        return cls(created_at=now, updated_at=now, tool_id=tool_id, day=day, closed_at=now, text=text, sha256=sha256)

    @staticmethod
    def id_of(day: Day) -> str:
        return f"CLOSE:{day.replace('-', '')}"

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return self.id_of(self.day)

    @property
    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)["figures"]
        return found

    def shown(self) -> dict[str, Any]:
        return {**json.loads(self.text), "sha256": self.sha256}


class EarlierHours(StoredDocument):
    """A tool's mentions by hour in the month before its timeline, as a timeline has them: a text for each day
    (`yyyymmdd`). A recount moves the days here that become too old for the timeline. With the timeline, two months in
    one document each, for a month that is compared with the month before."""

    CONTAINER: ClassVar[str] = "catalog"
    ID: ClassVar[str] = "EARLIER"

    entity_type: Literal["EarlierHours"] = "EarlierHours"
    tool_id: IdPart
    days: dict[str, Text] = Field(default_factory=dict)

    @property
    def partition(self) -> str:
        return self.tool_id


class HistoryProgress(StoredDocument):
    """How far the daily close has got: for all tools, the days from `since` to `closed_until` are closed, without a day
    in between on which nothing ran. A tool without counts of such a day had no mentions on it. `after` is where the
    next page of tools begins on the day after."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "HISTORY"
    ID: ClassVar[str] = "progress"

    entity_type: Literal["HistoryProgress"] = "HistoryProgress"
    since: Day
    closed_until: Day
    after: Text | None = None
