"""What is kept of a tool's past: a document for each day with mentions, and how far the daily close has got."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from models.stored import StoredDocument
from models.tally import CheckedTally, Tally
from models.values import Count, Day, IdPart, Sha256, Text, Time, Value, format_time

MOST_STORIES_KEPT = 1000
"""A day with more stories of a tool keeps their number only, so that its document stays small."""


def close_id(tool_id: str, day: Day) -> str:
    return f"close:{tool_id}:{day}"


class DailyClose(Value):
    """The figures of a day as they were at `closed_at`. Never changes.

    `text` is JSON with the keys sorted and without spaces: the id of the close, the tool, the day, `closed_at`, and the
    figures. It is stored as text so that `sha256` is the hash of what is served, whatever a store does to numbers.
    """

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
        return cls(closed_at=now, text=text, sha256=hashlib.sha256(text.encode()).hexdigest())

    @property
    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)["figures"]
        return found

    def shown(self) -> dict[str, Any]:
        return {**json.loads(self.text), "sha256": self.sha256}


class FrozenDay(Value):
    """The last figures of a day, and what the figures of a longer time are added up from.

    `stories` is by a hash of the event_id: the number of mentions and the sum of their polarities. `ungrouped` is the
    same for the mentions without a story, with the sum of the squared polarities. `publishers` and `sources` have the
    number of mentions. They are absent if there were more stories than MOST_STORIES_KEPT; `figures` has their number.
    """

    frozen_at: Time
    figures: dict[str, Any]
    tally: CheckedTally = Tally()
    analyzers: tuple[Text, ...] = ()
    ungrouped: tuple[Count, int, Count] = (0, 0, 0)
    stories: dict[Text, tuple[Count, int]] | None = None
    publishers: dict[Text, Count] | None = None
    sources: dict[Text, Count] | None = None


class HistoryDay(StoredDocument):
    """One UTC day of one tool, which had mentions when it was closed or frozen."""

    CONTAINER: ClassVar[str] = "catalog"

    entity_type: Literal["HistoryDay"] = "HistoryDay"
    tool_id: IdPart
    day: Day
    closed: DailyClose | None = None
    frozen: FrozenDay | None = None

    @staticmethod
    def id_of(day: Day) -> str:
        return f"DAY:{day.replace('-', '')}"

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return self.id_of(self.day)


class FrozenHours(StoredDocument):
    """A tool's mentions by hour on its last frozen days, as a timeline has them: a text for each day (`yyyymmdd`).

    With the timeline, two months in one document each. A history needs days only; a month that is compared with the
    month before begins and ends within a day. Written with the HistoryDay of each day that is frozen.
    """

    CONTAINER: ClassVar[str] = "catalog"
    ID: ClassVar[str] = "FROZEN"

    entity_type: Literal["FrozenHours"] = "FrozenHours"
    tool_id: IdPart
    days: dict[str, Text] = Field(default_factory=dict)

    @property
    def partition(self) -> str:
        return self.tool_id


class DailyRound(Value):
    """The days that one walk through all tools closes and freezes, first and last, and where its next page begins."""

    close: tuple[Day, Day] | None = None
    freeze: tuple[Day, Day] | None = None
    after: Text | None = None


class HistoryProgress(StoredDocument):
    """How far the daily close has got: all days up to `closed_until` are closed, all from `frozen_since` to
    `frozen_until` are frozen, for all tools. A tool had no mentions on a frozen day without a document. FrozenHours has
    the hours of those from `hours_since` on, as far as it goes back: the days since the app has run and kept them."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "HISTORY"
    ID: ClassVar[str] = "progress"

    entity_type: Literal["HistoryProgress"] = "HistoryProgress"
    closed_until: Day | None = None
    frozen_since: Day | None = None
    frozen_until: Day | None = None
    round: DailyRound | None = None

    @property
    def hours_since(self) -> Day | None:
        return None if self.frozen_since is None else max(self.frozen_since, self.created_at.date().isoformat())
