"""Announces articles whose analysis is due: sends their ids to the queue `analyze-articles` as soon as they are stored,
with the feed that brought them.

The stored `analysis_due_since` of an article is the truth; a message that is lost is found again by it (overdue.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

from services.logs import log_event

log = logging.getLogger("toolpulse.ingestion")

Send = Callable[[Mapping[str | None, Sequence[str]]], Awaitable[None]]
"""Sends messages for these articles, by the feed that brought them."""


class Announce(Protocol):
    """Sends messages for articles whose analysis is due. `feed_id` is None if they are announced again. Raises
    Unavailable."""

    async def __call__(self, source_ids: Iterable[str], feed_id: str | None = None) -> None: ...


class Announcements:
    """Sends what is announced while a request is under way together, in the next request. So many small announcements
    make few messages, and none of them waits for a timer."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: dict[str, str | None] = {}
        self._next: asyncio.Task[None] | None = None
        self._under_way: asyncio.Task[None] | None = None

    async def announce(self, source_ids: Iterable[str], feed_id: str | None = None) -> None:
        """Returns once messages for these articles are sent. Raises Unavailable if they could not be sent."""
        wanted = dict.fromkeys(source_ids, feed_id)
        if not wanted:
            return
        self._waiting |= wanted
        if self._next is None:
            self._next = asyncio.create_task(self._send_waiting(self._under_way))
            self._next.add_done_callback(_no_report)
        # Not cancelled with one caller: others wait for the same request.
        await asyncio.shield(self._next)

    async def _send_waiting(self, earlier: asyncio.Task[None] | None) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        source_ids, self._waiting = self._waiting, {}
        self._under_way, self._next = self._next, None
        by_feed: dict[str | None, list[str]] = {}
        for source_id, feed_id in source_ids.items():
            by_feed.setdefault(feed_id, []).append(source_id)
        await self._send(by_feed)
        log_event(log, logging.DEBUG, "articles_announced", articles=len(source_ids))


def _no_report(task: asyncio.Task[None]) -> None:
    """asyncio reports an error that nobody retrieves, as when every caller was cancelled."""
    if not task.cancelled():
        task.exception()
