"""Counts mentions: as rows of an hour, which are stored, and together for any time; and the documents of counts. Pure.

A count is of rows (`Count.add_rows`) or of other counts (`Count.merge`), and is the same whichever way it was made.
Rows stay as they are stored (models/timeline.py): validating a month of them as models would take ten times as long as
summing them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from operator import sub
from typing import Any, NamedTuple, Self

import orjson

from models.errors import UnreadableDocument
from models.mention import SentimentScore, scored_by
from models.stored import StoredDocument
from models.tally import Tally, day_text
from models.timeline import (
    MAX_ROWS_OF_DAY,
    MAX_ROWS_OF_HOUR,
    DayCounts,
    DaySums,
    HourRows,
    StoredCount,
    Timeline,
    WindowTables,
    timeline_product_id,
)
from models.tool import Tool
from models.values import format_time, hour_key
from services.figures.breadth import (
    NO_SUMS,
    UNKNOWN,
    Sums,
    breadth_of,
    of_ungrouped,
    polarity_of,
    publisher_of,
    source_of,
    story_key,
    sums_of,
)
from services.ports import Document

_COLUMN = {"positive": 0, "negative": 1, "neutral": 2}
UNSCORED = 4
_MILLIONTHS = 100
"""A polarity is counted in ten-thousandths, and a tally has millionths."""


class CountedMention(NamedTuple):
    """What of a mention is counted. `column` is that of its sentiment in a Tally, `story` a key, empty without a story,
    `polarity` is in ten-thousandths."""

    analyzer: str
    publisher: str
    source: str
    story: str
    column: int
    polarity: int

    @classmethod
    def of(cls, mention: Document) -> CountedMention:
        """Raises UnreadableDocument for a document that is not a mention."""
        try:
            analyzer = scored_by(mention["analyzer"], mention["analyzer_version"])
            column, polarity = UNSCORED, 0
            if mention.get("unscored_reason") is None:
                sentiment = mention["sentiment"]
                column, polarity = _COLUMN[sentiment], polarity_of(mention["polarity"])
            event = mention.get("event_id")
            story = story_key(event) if event else ""
            return cls(analyzer, publisher_of(mention), source_of(mention), story, column, polarity)
        except (LookupError, TypeError, ValueError, AttributeError):
            SentimentScore.from_document(mention)
            raise


@dataclass(slots=True)
class MentionCount:
    """The mentions that were added: by hour, then by analyzer, publisher and source, the rows of each minute and story.
    `latest` is the mention that was published last."""

    hours: dict[str, dict[tuple[str, str, str], dict[tuple[int, str], list[Any]]]] = field(default_factory=dict)
    latest: Document | None = None

    def add(self, mention: Document) -> None:
        """Removed ones do not count. Raises UnreadableDocument for a document that is not a mention."""
        if mention.get("removed_at") is not None:
            return
        at: str = mention["published_at"]
        analyzer, publisher, source, story, column, polarity = CountedMention.of(mention)
        of_hour = self.hours.setdefault(at[:4] + at[5:7] + at[8:10] + at[11:13], {})
        group, minute = of_hour.setdefault((analyzer, publisher, source), {}), int(at[14:16])
        row = group.get((minute, story))
        if row is None:
            row = group[minute, story] = [minute, story, 0, 0, 0, 0, 0, 0]
        if column == UNSCORED:
            row[5] += 1
        else:
            row[2 + column] += 1
            row[6] += polarity
            row[7] += polarity * polarity
        if self.latest is None or at >= self.latest["published_at"]:
            self.latest = mention

    def rows(self, hour: str) -> HourRows:
        """As they are stored."""
        rows: HourRows = {}
        for (analyzer, publisher, source), group in self.hours.get(hour, {}).items():
            rows.setdefault(analyzer, {}).setdefault(publisher, {})[source] = sorted(group.values())
        return without_names(rows) if number_of(rows) > MAX_ROWS_OF_HOUR else rows

    def days(self) -> dict[str, DayCount]:
        return {
            day: DayCount.of({hour: self.rows(hour) for hour in hours})
            for day, hours in groupby(sorted(self.hours), key=lambda hour: hour[:8])
        }


def number_of(rows: HourRows) -> int:
    return sum(len(group) for by_source in rows.values() for named in by_source.values() for group in named.values())


def without_names(rows: HourRows) -> HourRows:
    """The rows of a crowded hour: by analyzer and minute only."""
    found: HourRows = {}
    for analyzer, by_publisher in rows.items():
        minutes: dict[int, list[Any]] = {}
        for row in (each for named in by_publisher.values() for group in named.values() for each in group):
            whole = minutes.setdefault(row[0], [row[0], "", 0, 0, 0, 0, 0, 0])
            whole[2:] = map(sum, zip(whole[2:], row[2:], strict=True))
        found[analyzer] = {"": {"": [minutes[at] for at in sorted(minutes)]}}
    return found


def fitted(hours: Mapping[str, HourRows]) -> dict[str, HourRows]:
    """The hours of a day, of which the largest are crowded if the day has too many rows."""
    sizes = {hour: number_of(rows) for hour, rows in hours.items()}
    found = dict(hours)
    while sum(sizes.values()) > MAX_ROWS_OF_DAY:
        largest = max(sizes, key=sizes.__getitem__)
        found[largest] = without_names(found[largest])
        sizes[largest] = number_of(found[largest])
    return found


@dataclass(slots=True)
class Count:
    """The mentions of any time, as StoredCount has them. `others` are the sums of stories that are not in `stories`.
    Nothing is known of some part of the time if `is_known` is false."""

    numbers: list[int] = field(default_factory=lambda: [0] * 5)
    analyzers: dict[str, int] = field(default_factory=dict)
    stories: dict[str, list[int]] = field(default_factory=dict)
    ungrouped: list[int] = field(default_factory=lambda: [0] * 3)
    publishers: dict[str, int] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    crowded: int = 0
    others: Sums = NO_SUMS
    is_known: bool = True

    @classmethod
    def stored(cls, document: Document) -> Count:
        """To be merged into another count, not to be changed."""
        return cls(**document)

    def to_document(self) -> Document:
        return {name: getattr(self, name) for name in StoredCount.model_fields}

    def copy(self) -> Count:
        """A count to which more can be added."""
        return Count(
            numbers=[*self.numbers],
            analyzers={**self.analyzers},
            stories={key: [*each] for key, each in self.stories.items()},
            ungrouped=[*self.ungrouped],
            publishers={**self.publishers},
            sources={**self.sources},
            crowded=self.crowded,
            others=self.others,
            is_known=self.is_known,
        )

    @property
    def is_broad(self) -> bool:
        """Whether stories, publishers and sources are known."""
        return self.is_known and not self.crowded

    @property
    def tally(self) -> Tally:
        return Tally(*self.numbers)

    @property
    def mentions(self) -> int:
        return self.tally.total + self.tally.unscored

    def add_rows(self, rows: HourRows, since: int = 0, until: int = 60) -> None:
        """Adds the minutes of an hour from `since` up to, but without, `until`."""
        numbers, stories, ungrouped = self.numbers, self.stories, self.ungrouped
        for analyzer, by_publisher in rows.items():
            for publisher, by_source in by_publisher.items():
                for source, group in by_source.items():
                    judged = of_group = 0
                    for minute, story, positive, negative, neutral, unscored, polarity, squares in group:
                        if not since <= minute < until:
                            continue
                        numbers[0] += positive
                        numbers[1] += negative
                        numbers[2] += neutral
                        numbers[3] += polarity * _MILLIONTHS
                        numbers[4] += unscored
                        scored = positive + negative + neutral
                        of_group += scored
                        judged += scored + unscored
                        if story and scored:
                            known = stories.setdefault(story, [0, 0])
                            known[0] += scored
                            known[1] += polarity
                        elif scored:
                            ungrouped[0] += scored
                            ungrouped[1] += polarity
                            ungrouped[2] += squares
                    if judged:
                        _add_to(self.analyzers, analyzer, judged)
                    if not publisher:
                        self.crowded += judged
                    elif of_group:
                        _add_to(self.publishers, publisher, of_group)
                        _add_to(self.sources, source, of_group)

    def merge(self, other: Count, sign: int = 1) -> None:
        """Adds the mentions of another time. With the sign -1, takes them away again."""
        self.is_known = self.is_known and other.is_known
        self.crowded += sign * other.crowded
        _add(self.numbers, other.numbers, sign)
        _add(self.ungrouped, other.ungrouped, sign)
        stories = self.stories
        for key, (mentions, polarity) in other.stories.items():
            known = stories.get(key)
            if known is None:
                stories[key] = [sign * mentions, sign * polarity]
            else:
                known[0] += sign * mentions
                known[1] += sign * polarity
                if not known[0]:
                    del stories[key]
        for counts, others in (
            (self.analyzers, other.analyzers),
            (self.publishers, other.publishers),
            (self.sources, other.sources),
        ):
            for name, mentions in others.items():
                _add_to(counts, name, sign * mentions)

    def sums(self) -> Sums:
        return self.others.plus(sums_of(self.stories.values()), of_ungrouped(*self.ungrouped))

    def breadth(self) -> Mapping[str, Any]:
        if not self.is_broad:
            return UNKNOWN
        return breadth_of(self.sums(), self.tally.unscored, self.publishers, self.sources)

    def figures(self) -> dict[str, Any]:
        """The numbers as entries and points of a history show them; all null if they are not known."""
        found = {**self.tally.figures(), **self.breadth(), "analyzers": sorted(self.analyzers)}
        return found if self.is_known else dict.fromkeys(found)


class DayCount:
    """The mentions of one UTC day: all together, and the rows of its hours, which are parsed when they are needed. Of a
    new count, `tallies` has the hours as a timeline needs them."""

    __slots__ = ("_hours", "tallies", "text", "whole")

    def __init__(self, whole: Count, text: str, tallies: Mapping[int, Tally] | None = None) -> None:
        self.whole = whole
        self.text = text
        self.tallies = tallies or {}
        self._hours: Mapping[str, HourRows] | None = None

    @classmethod
    def of(cls, hours: Mapping[str, HourRows]) -> Self:
        count, kept, tallies = Count(), fitted(hours), dict[int, Tally]()
        for hour, rows in kept.items():
            before = count.tally
            count.add_rows(rows)
            tallies[int(hour[8:])] = Tally(*map(sub, count.tally, before))
        return cls(count, orjson.dumps(kept, option=orjson.OPT_SORT_KEYS).decode(), tallies)

    @classmethod
    def stored(cls, document: Document) -> Self:
        return cls(Count.stored(document["whole"]), document["hours"])

    @property
    def hours(self) -> Mapping[str, HourRows]:
        if self._hours is None:
            self._hours = orjson.loads(self.text)
        return self._hours

    @property
    def timeline_text(self) -> str:
        """The day as a timeline stores it."""
        return day_text(self.tallies)


def _add(numbers: list[int], others: Sequence[int], sign: int = 1) -> None:
    for at, number in enumerate(others):
        numbers[at] += sign * number


def _add_to(counts: dict[str, int], name: str, number: int) -> None:
    number += counts.get(name, 0)
    if number:
        counts[name] = number
    else:
        counts.pop(name, None)


_MODELS: Mapping[str, type[StoredDocument]] = {
    "DayCounts": DayCounts,
    "DaySums": DaySums,
    "DataProduct": Timeline,
    "Tool": Tool,
    "WindowTables": WindowTables,
}
"""Validating each document that is made would take a third of a recount: only one that could not be counted is."""


def recounts_of(timeline: Document | None) -> int:
    """The tool's `recounts`. Two timelines with the same number have the same counts."""
    return 0 if timeline is None else timeline.get("ingestion_count", 0)


def days_of(timeline: Document | None) -> Mapping[str, str]:
    """The texts of its days. Raises UnreadableDocument if the document is not a timeline."""
    days = {} if timeline is None else timeline.get("hours")
    if not isinstance(days, dict):
        raise UnreadableDocument("Timeline", str((timeline or {}).get("tool_id")), "it has no table of days")
    return days


@contextmanager
def reading(documents: Iterable[Document | None]) -> Iterator[None]:
    """Turns an error of the block into UnreadableDocument if one of these documents cannot be read. If all can, the
    error is one of the program, and stays."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError):
        for document in (each for each in documents if each is not None):
            model = _MODELS.get(str(document.get("entity_type")))
            if model is None:
                raise UnreadableDocument("document", str(document.get("id")), "it has no known entity_type") from None
            model.from_document(document)
        raise


@lru_cache(maxsize=16)
def _fields_at(model: type[StoredDocument], now: datetime) -> Mapping[str, Any]:
    """The fields that all documents of this model have if they are made now."""
    own: dict[str, Any] = {"hour": hour_key(now)} if model is WindowTables else {}
    if model is DayCounts:
        own = {"day": f"{now:%Y%m%d}", "whole": Count().to_document(), "hours": "{}"}
    return model.model_validate({"tool_id": "any", "created_at": now, "updated_at": now, **own}).to_document()


def of_tool(
    model: type[StoredDocument], tool_id: str, now: datetime, own: Mapping[str, Any], before: Document | None = None
) -> Document:
    """A document of this model with the fields `own`, and for the others those that it had `before`."""
    kept = {} if before is None else {name: each for name, each in before.items() if name[0] != "_"}
    return {**_fields_at(model, now), **kept, "pk": tool_id, "tool_id": tool_id, **own}


def times(**given: datetime | None) -> dict[str, str]:
    """These times as documents have them; without those that are None."""
    return {name: format_time(time) for name, time in given.items() if time is not None}


def timeline_document(
    tool_id: str, before: Document | None, days: Mapping[str, str], latest: Document | None, now: datetime
) -> Document:
    """The timeline after one more recount, with the texts of its days. `latest` is the counted mention that was
    published last."""
    own: dict[str, Any] = {
        "data_product_id": timeline_product_id(tool_id),
        "ingestion_count": recounts_of(before) + 1,
        "hours": dict(sorted(days.items())),
        **times(updated_at=now, last_ingestion_at=now),
    }
    if latest is not None and latest.get("source"):
        own["last_ingestion_source"] = latest["source"]
    return of_tool(Timeline, tool_id, now, own, before)
