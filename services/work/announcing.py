"""Sends the messages of stages. They only wake workers up: losing one costs at most a minute."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence

from models.errors import Unavailable
from services.logs import log_event
from services.ports import Document, Queues
from services.work.stage import Stage

log = logging.getLogger("toolpulse.work")

MAX_REMEMBERED = 20_000


class Announcer:
    """Sends messages for due items. What waits in a delayed message that this process sent is not sent again.

    Call it after the items were made due: whoever gets the message finds them. `seconds` measures time that passes.
    """

    def __init__(self, queues: Queues, seconds: Callable[[], float] = time.monotonic) -> None:
        self._queues = queues
        self.seconds = seconds
        self._waiting: dict[tuple[str, str], float] = {}
        self._delays: dict[str, float] = {}

    async def announce(self, stage: Stage, keys: Iterable[str]) -> list[str]:
        """Returns the keys for which messages were sent. Raises Unavailable: the items stay due then."""
        return await self.announce_groups(stage, [list(dict.fromkeys(keys))])

    async def announce_stored(self, stage: Stage, keys: Sequence[str]) -> None:
        """As `announce`, for items that were accepted: if the queue does not answer, a sweep announces them later."""
        try:
            await self.announce(stage, keys)
        except Unavailable as error:
            log_event(log, logging.WARNING, "work_not_announced", stage=stage.name, items=len(keys), error=str(error))

    async def announce_documents(
        self, stage: Stage, documents: Iterable[Document], *, delay_seconds: float | None = None
    ) -> list[str]:
        """As `announce`, for the documents of due items; in messages by group, if the stage has groups."""
        groups: dict[str, dict[str, None]] = {}
        for each in documents:
            group = "" if stage.group is None else stage.group(each)
            groups.setdefault(group, {})[each[stage.key]] = None
        return await self.announce_groups(stage, groups.values(), delay_seconds=delay_seconds)

    async def announce_groups(
        self, stage: Stage, groups: Iterable[Iterable[str]], *, delay_seconds: float | None = None
    ) -> list[str]:
        began = self.seconds()
        delay = self._delays.get(stage.name, stage.delay_seconds) if delay_seconds is None else delay_seconds
        wanted = [[key for key in keys if self._waiting.get((stage.name, key), 0.0) <= began] for keys in groups]
        messages = [message for keys in wanted for message in stage.messages(keys)]
        await self.send(stage, messages, delay_seconds=delay)
        sent = [key for keys in wanted for key in keys]
        if stage.delay_seconds and delay_seconds is None and self._queues.delays:
            if len(self._waiting) > MAX_REMEMBERED:
                self._waiting = {each: until for each, until in self._waiting.items() if until > began}
            self._waiting |= {(stage.name, key): began + delay for key in sent}
        return sent

    def slow_down(self, stage: Stage, seconds: float) -> None:
        """The messages that this process sends from now on wait for so long."""
        self._delays[stage.name] = seconds

    async def send(self, stage: Stage, messages: Sequence[str], *, delay_seconds: float = 0.0) -> None:
        """Sends these messages, whatever waits."""
        if messages:
            await self._queues.send(stage.queue, messages, delay_seconds=delay_seconds)
