"""Announces tools whose mentions have changed: sends messages of `refresh-tools`, at most one waiting for each tool.

A document in `sentiment_cache`, the marker, coalesces the messages of all workers. Every dirty hour is recounted soon,
because of the order of steps:
    sender      marks hours dirty; reads the marker; if there is none, sends a message, then creates the marker;
    refresher   recounts and writes entries; reads the dirty hours again. If there are any, sends the next message and
                renews the marker; else deletes the marker, and reads the dirty hours once more.
A sender that finds a marker has marked its hours before, so that the refresher, which reads them after it has deleted
the marker, finds them. A sender that dies before it creates the marker has sent a message too many, never one too few.
The marker of a lost message expires, and `announce_overdue` announces the tool again.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from models.cache import AnnouncedRefresh, announced_id
from models.errors import InvalidInput
from models.values import is_over, unix_seconds
from services.logs import log_event
from services.mentions.dirty_hours import tools_dirty_for, tools_with_dirty_hours, tools_with_dirty_hours_among
from services.ports import Clock, Delete, Document, Queues, Store
from services.store.containers import SENTIMENT_CACHE
from services.topology import REFRESH_TOOLS

log = logging.getLogger("toolpulse.cache")

MOST_TOOLS = 50
"""The most tools in one message."""
DELAY_SECONDS = 1.0
"""How long a message waits for more mentions of its tools: a tool is not recounted more often than this."""
LONGEST_DELAY_SECONDS = 15.0
WAITING_SHARE = 2.0
"""The next refresh of a tool waits at least for so many times the time that the last one took: in a burst of articles,
or with a throttled store, refreshes leave most of the throughput to the analysis."""
OVERDUE = timedelta(seconds=30)
"""For how long an hour is dirty before its message counts as lost. Markers live as long."""
FAILED_FOR = timedelta(minutes=5)
"""How long the marker of a tool that could not be refreshed lives."""


@dataclass(frozen=True, slots=True)
class RefreshMessage:
    """A message of `refresh-tools`: the tools to refresh, announced or as a batch of a refresh of all tools."""

    tool_ids: tuple[str, ...]
    run_id: str | None = None
    batch: str | None = None

    def to_message(self) -> str:
        of_run = {} if self.run_id is None else {"run_id": self.run_id, "batch": self.batch}
        return json.dumps({"tool_ids": self.tool_ids, **of_run}, separators=(",", ":"))

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for a text that `to_message` never writes."""
        try:
            message = json.loads(text)
            tool_ids, of_run = message["tool_ids"], [message.get("run_id"), message.get("batch")]
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInput("message", "must be a JSON object with tool_ids") from error
        if not isinstance(tool_ids, list) or not all(isinstance(each, str) and each for each in tool_ids):
            raise InvalidInput("message", "must have tool_ids, a list of ids")
        if of_run != [None, None] and not all(isinstance(each, str) for each in of_run):
            raise InvalidInput("message", "must name run_id and batch together, or neither")
        return cls(tuple(tool_ids), *of_run)


def batches_of(tool_ids: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(tool_ids[start : start + MOST_TOOLS]) for start in range(0, len(tool_ids), MOST_TOOLS)]


def refresh_messages(tool_ids: Sequence[str]) -> list[str]:
    """The messages for tools that are announced."""
    return [RefreshMessage(batch).to_message() for batch in batches_of(tool_ids)]


def next_delay(refresh_seconds: float) -> float:
    """How long the next refresh of a tool that is still dirty waits, after one that took so many seconds."""
    return min(max(DELAY_SECONDS, WAITING_SHARE * refresh_seconds), LONGEST_DELAY_SECONDS)


def is_announced(marker: Document | None, now: datetime) -> bool:
    """Whether the tool with this marker is announced. A marker that ends later than any does is of a wrong clock."""
    until = None if marker is None else marker.get("ttl_timestamp")
    return until is not None and not is_over(datetime.fromtimestamp(until, UTC), now, FAILED_FOR)


class RefreshAnnouncer:
    """`seconds` measures how long it takes to send a message and to create its marker."""

    def __init__(
        self, store: Store, queues: Queues, clock: Clock, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._queues = queues
        self._clock = clock
        self._seconds = seconds
        self._last_took = 0.0

    async def announce(self, tool_ids: Collection[str]) -> list[str]:
        """Has these tools refreshed soon, and returns those for which a message was sent. To be called after their
        hours were marked dirty. Raises Unavailable: then the work that marked them must be done again."""
        unannounced: list[str] = []
        for batch in batches_of(sorted(set(tool_ids))):
            keys = [(tool_id, announced_id(tool_id)) for tool_id in batch]
            markers = await self._store.read_many(SENTIMENT_CACHE.name, keys)
            now = self._clock()
            unannounced += [each for each, marker in zip(batch, markers, strict=True) if not is_announced(marker, now)]
        await self._send_and_mark(unannounced, DELAY_SECONDS)
        if tool_ids:
            coalesced = len(set(tool_ids)) - len(unannounced)
            log_event(log, logging.DEBUG, "refresh_announced", tools=len(unannounced), coalesced=coalesced)
        return unannounced

    async def announce_overdue(self) -> list[str]:
        """Announces the tools with hours that have been dirty for OVERDUE: their message was lost, or is hidden since
        the worker that received it died."""
        return await self.announce(await tools_dirty_for(self._store, OVERDUE, self._clock()))

    async def announce_all(self) -> list[str]:
        """Announces all tools with dirty hours, whatever their markers say: for a worker that starts, as the one before
        may have died, and the queue keeps the messages of a dead worker hidden for minutes."""
        dirty = await tools_with_dirty_hours(self._store)
        await self._send_and_mark(dirty, DELAY_SECONDS)
        return dirty

    async def refreshed(self, tool_ids: Sequence[str], refresh_seconds: float) -> None:
        """To be called after the entries of these tools (MOST_TOOLS at most) were written, which took so many seconds.
        Tools that are dirty again are announced again."""
        dirty = await tools_with_dirty_hours_among(self._store, tool_ids)
        await self._send_and_mark(sorted(dirty), next_delay(refresh_seconds))
        await self._unmark([tool_id for tool_id in tool_ids if tool_id not in dirty])

    async def failed(self, tool_ids: Sequence[str]) -> None:
        """Leaves tools that could not be refreshed alone for FAILED_FOR. The refresh of all tools tries them too."""
        await self._mark(tool_ids, self._clock() + FAILED_FOR)

    async def _send_and_mark(self, tool_ids: Sequence[str], delay_seconds: float) -> None:
        if not tool_ids:
            return
        began, delay_seconds = self._seconds(), max(delay_seconds, next_delay(self._last_took))
        await self._queues.send(REFRESH_TOOLS, refresh_messages(tool_ids), delay_seconds=delay_seconds)
        await self._mark(tool_ids, self._clock() + OVERDUE)
        self._last_took = self._seconds() - began
        if self._last_took >= delay_seconds:
            # The message may have been worked on before its marker was created, which then nobody would delete.
            await self._unmark(tool_ids)

    async def _mark(self, tool_ids: Sequence[str], until: datetime) -> None:
        now = self._clock()
        markers = [
            AnnouncedRefresh(tool_id=tool_id, created_at=now, updated_at=now, ttl_timestamp=unix_seconds(until))
            for tool_id in tool_ids
        ]
        if markers:
            await self._store.write_many(SENTIMENT_CACHE.name, [each.to_document() for each in markers])

    async def _unmark(self, tool_ids: Sequence[str]) -> None:
        """Deletes the markers, and then reads the dirty hours: a sender that found a marker relies on that. Sends a
        message without a marker if there are any, which costs at most a message more."""
        for batch in batches_of(tool_ids):
            deletions = [(tool_id, [Delete(announced_id(tool_id))]) for tool_id in batch]
            await self._store.batch_many(SENTIMENT_CACHE.name, deletions)
            dirty = await tools_with_dirty_hours_among(self._store, batch)
            if dirty:
                await self._queues.send(REFRESH_TOOLS, refresh_messages(sorted(dirty)), delay_seconds=DELAY_SECONDS)
