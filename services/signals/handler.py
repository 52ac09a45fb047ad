"""Handles the messages of `generate-ideas`: decides the signals of the stories that were updated.

A message is a hint. At its first delivery, a story without a mark is left out: its signals were decided meanwhile, or
it never had two articles. A story that fails does not stop the others: it gets a message of its own, and in the end a
poison message that names it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.errors import InvalidInput, ToolpulseError, Unavailable
from models.signal import due_id
from models.story import day_of
from services import deadline
from services.logs import log_event
from services.ports import Store
from services.signals.writing import SignalWriter
from services.store.containers import STORIES
from services.stories.announcing import ideas_messages

log = logging.getLogger("toolpulse.signals")

AT_ONCE = 8


class SignalsFailed(ToolpulseError):
    """The signals of one story could not be decided. The queue must deliver its message again."""


@dataclass(frozen=True, slots=True)
class Handled:
    """How many stories were decided, how many signals were written, and the messages to send: for stories that failed,
    and for those that had no turn in time."""

    stories: int
    signals: int
    messages: tuple[str, ...] = ()


class SignalsHandler:
    def __init__(self, store: Store, writer: SignalWriter, seconds: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._writer = writer
        self._seconds = seconds

    async def handle(self, event_ids: Sequence[str], delivery: int) -> Handled:
        """Raises Unavailable if the store does not answer, SignalsFailed if the only story fails, and InvalidInput for
        what is no id of a story."""
        began = self._seconds()
        marked = await self._marked(event_ids)
        wanted = list(marked) if delivery == 1 else list(event_ids)
        left: list[str] = []
        failed: list[str] = []
        unavailable: list[Unavailable] = []
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(event_id: str) -> int:
            async with gate:
                if deadline.is_near():
                    left.append(event_id)
                    return 0
                try:
                    return await self._writer.write(event_id)
                except Unavailable as error:
                    unavailable.append(error)
                    return 0
                except Exception:
                    # A fault in one story must not stop the others; id and traceback are logged.
                    log.exception("signals_not_decided event_id=%s", event_id)
                    failed.append(event_id)
                    return 0

        signals = sum(await asyncio.gather(*(one(each) for each in wanted)))
        if unavailable:
            raise unavailable[0]
        done = len(wanted) - len(left) - len(failed)
        if wanted:
            took = round(1000 * (self._seconds() - began))
            log_event(log, logging.INFO, "signals_decided", stories=done, signals=signals, milliseconds=took)
        if failed and len(event_ids) == 1:
            raise SignalsFailed(f"the signals of {failed[0]} could not be decided")
        alone = [message for each in sorted(failed) for message in ideas_messages([each])]
        return Handled(done, signals, (*alone, *ideas_messages(sorted(left))))

    async def _marked(self, event_ids: Sequence[str]) -> dict[str, None]:
        """The stories with a mark, in this order."""
        try:
            keys = [(day_of(each), due_id(each)) for each in event_ids]
        except ValueError as error:
            raise InvalidInput("event_ids", str(error)) from None
        found = await self._store.read_many(STORIES.name, keys) if keys else []
        return {each: None for each, mark in zip(event_ids, found, strict=True) if mark is not None}
