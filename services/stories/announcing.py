"""Asks for the grouping of articles: sends messages of `group-headlines`, of which one waits at most, and of
`generate-ideas`.

The `grouping_due_since` of articles is the truth. A message is sent when enough articles are due, one has been due for
long, or a person has corrected some. A document, the marker, says that a message waits. The order of steps:
    sender    reads the marker, after its articles are due; if there is none, sends a message, then creates the marker;
    grouping  deletes the marker, then reads which articles are due.
So whoever finds a marker leaves its articles to the message that waits. The marker of a lost message expires, and the
next tick sends another one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, Self, get_args

from models.errors import InvalidInput
from models.story import ANNOUNCED, AnnouncedGrouping
from models.values import is_over, parse_time
from services.logs import log_event
from services.mentions.signals_due import ideas_messages
from services.ports import Clock, Document, Query, Queues, Store, Where
from services.store.containers import ARTICLES, CATALOG
from services.topology import GENERATE_IDEAS, GROUP_HEADLINES

log = logging.getLogger("toolpulse.stories")

TriggerReason = Literal["threshold_reached", "interval_elapsed", "corrected"]
TRIGGER_REASONS: tuple[TriggerReason, ...] = get_args(TriggerReason)
GROUP = "processing.group_headlines"
MOST_NAMED = 100
"""The most articles in one message."""
DELAY_SECONDS = 1.0
"""How long a message waits: its marker is there when it is worked on."""
BUSY_SECONDS = 5.0
"""How long a message waits while another worker groups."""

DUE = Where("grouping_due_since", "gt", "")
_KEY = AnnouncedGrouping.PARTITION, AnnouncedGrouping.ID


@dataclass(frozen=True, slots=True)
class GroupMessage:
    """A message of `group-headlines`. `article_ids` are the first articles that are due, `ungrouped_count` is how many
    are. The grouping goes on with all that are due then."""

    article_ids: tuple[str, ...]
    trigger_reason: TriggerReason
    ungrouped_count: int

    def to_message(self) -> str:
        fields = {
            "event": GROUP,
            "article_ids": self.article_ids,
            "trigger_reason": self.trigger_reason,
            "ungrouped_count": self.ungrouped_count,
        }
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for a text that `to_message` never writes."""
        try:
            fields = json.loads(text)
            ids, reason, count = fields["article_ids"], fields["trigger_reason"], fields["ungrouped_count"]
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInput("message", "must have article_ids, trigger_reason and ungrouped_count") from error
        if not isinstance(ids, list) or not all(isinstance(each, str) and each for each in ids):
            raise InvalidInput("message", "must have article_ids, a list of ids")
        if reason not in TRIGGER_REASONS or type(count) is not int or count < 0:
            raise InvalidInput("message", "must have a trigger_reason and the count of articles that are due")
        return cls(tuple(ids), reason, count)


@dataclass(frozen=True, slots=True)
class Ungrouped:
    """How many articles wait to be grouped, the first of them since `since`."""

    articles: int
    since: datetime | None = None

    def seconds(self, now: datetime) -> int:
        return 0 if self.since is None else max(0, int((now - self.since).total_seconds()))


async def ungrouped(store: Store) -> Ungrouped:
    """For what people look at: the last writes may be missing."""
    count = await store.count(ARTICLES.name, (DUE,), may_be_stale=True)
    oldest = (await store.query(ARTICLES.name, Query(order="by_grouping_due", limit=1, may_be_stale=True))).items
    return Ungrouped(max(count, len(oldest)), parse_time(oldest[0]["grouping_due_since"]) if oldest else None)


class GroupingAnnouncer:
    """`threshold`: so many due articles are grouped at once; fewer when the first has been due for `interval`."""

    def __init__(self, store: Store, queues: Queues, threshold: int, interval: timedelta, clock: Clock) -> None:
        self._store = store
        self._queues = queues
        self._threshold = threshold
        self._interval = interval
        self._clock = clock

    async def announce_if_many(self) -> bool:
        """To be called after articles were analysed. Whether a message was sent."""
        if await self._is_announced():
            return False
        count = await self._store.count(ARTICLES.name, (DUE,))
        return count >= self._threshold and await self._announce("threshold_reached", count)

    async def announce_overdue(self) -> bool:
        """Sends a message if an article has been due for the interval, or by a clock that was ahead."""
        oldest = await self._due(1)
        if not oldest or await self._is_announced():
            return False
        since, now = parse_time(oldest[0]["grouping_due_since"]), self._clock()
        if not is_over(since + self._interval, now, self._interval):
            return False
        return await self._announce("interval_elapsed", await self._store.count(ARTICLES.name, (DUE,)))

    async def announce_corrected(self) -> bool:
        """To be called after a person corrected articles or stories: nobody waits for the interval then. Whether a
        message was sent; none is if one waits already."""
        if await self._is_announced():
            return False
        return await self._announce("corrected", await self._store.count(ARTICLES.name, (DUE,)))

    async def begun(self) -> None:
        """To be called before the due articles of a message are read."""
        await self._store.delete(CATALOG.name, *_KEY)

    async def again(self, message: GroupMessage, *, delay_seconds: float = 0.0) -> None:
        """Sends a message for what is left of this one's work."""
        await self._send(message, max(delay_seconds, DELAY_SECONDS))

    async def updated(self, event_ids: Sequence[str]) -> None:
        """Says that these stories were updated."""
        await self._queues.send(GENERATE_IDEAS, ideas_messages(event_ids))

    async def _announce(self, reason: TriggerReason, count: int) -> bool:
        named = tuple(each["source_id"] for each in await self._due(MOST_NAMED))
        if not named:
            return False
        await self._send(GroupMessage(named, reason, max(count, len(named))), DELAY_SECONDS)
        log_event(log, logging.INFO, "grouping_announced", articles=count, reason=reason)
        return True

    async def _send(self, message: GroupMessage, delay_seconds: float) -> None:
        await self._queues.send(GROUP_HEADLINES, [message.to_message()], delay_seconds=delay_seconds)
        now = self._clock()
        await self._store.upsert(CATALOG.name, AnnouncedGrouping(created_at=now, updated_at=now).to_document())

    async def _due(self, limit: int) -> list[Document]:
        return (await self._store.query(ARTICLES.name, Query(order="by_grouping_due", limit=limit))).items

    async def _is_announced(self) -> bool:
        marker = await self._store.read(CATALOG.name, *_KEY)
        until = None if marker is None else marker.get("ttl_timestamp")
        return until is not None and not is_over(datetime.fromtimestamp(until, UTC), self._clock(), ANNOUNCED)
