"""Sends the messages of stages. They only wake workers up: losing one costs at most a minute."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from services.ports import Document, Queues
from services.work.stage import Stage

MOST_REMEMBERED = 20_000


class Announcer:
    """Sends messages for due items. What waits in a delayed message that this process sent is not sent again.

    Call it after the items were made due: whoever gets the message finds them. `seconds` measures time that passes.
    """

    def __init__(self, queues: Queues, seconds: Callable[[], float] = time.monotonic) -> None:
        self._queues = queues
        self._seconds = seconds
        self._waiting: dict[tuple[str, str], float] = {}

    async def announce(self, stage: Stage, keys: Iterable[str]) -> list[str]:
        """Returns the keys for which messages were sent. Raises Unavailable: the items stay due then."""
        began = self._seconds()
        wanted = [key for key in dict.fromkeys(keys) if self._waiting.get((stage.name, key), 0.0) <= began]
        await self.send(stage, stage.messages(wanted), delay_seconds=stage.delay_seconds)
        if stage.delay_seconds:
            if len(self._waiting) > MOST_REMEMBERED:
                self._waiting = {each: until for each, until in self._waiting.items() if until > began}
            self._waiting |= {(stage.name, key): began + stage.delay_seconds for key in wanted}
        return wanted

    async def announce_documents(self, stage: Stage, documents: Iterable[Document]) -> list[str]:
        """As `announce`, for the documents of due items."""
        groups: dict[str, list[str]] = {}
        for each in documents:
            groups.setdefault("" if stage.group is None else stage.group(each), []).append(each[stage.key])
        return [key for keys in groups.values() for key in await self.announce(stage, keys)]

    async def send(self, stage: Stage, messages: Sequence[str], *, delay_seconds: float = 0.0) -> None:
        if messages:
            await self._queues.send(stage.queue, messages, delay_seconds=delay_seconds)
