"""The Queues port over the queue file of a data folder, for a command without an app beside it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from scripts.local_host.queues import NoSuchQueue, Queues
from scripts.local_host.values import decoded, encoded
from services.ports import QueueDepth

_POISON = "-poison"
_LONGEST_HOLD_SECONDS = 60.0
_LARGEST_PAGE = 32


class FolderQueues:
    """`is_base64`: as messageEncoding of host.json says."""

    delays = False

    def __init__(self, queues: Queues, *, is_base64: bool) -> None:
        self._queues = queues
        self._is_base64 = is_base64
        self.sent = 0

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        """Without the delay, which is there to gather the work of many messages: the command ends before."""
        if messages:
            self._queues.send([(name, encoded(each, name, self._is_base64)) for each in messages])
            self.sent += len(messages)

    async def oldest(self, name: str) -> datetime | None:
        found = self._peeked(name, _LARGEST_PAGE)
        return min((datetime.fromtimestamp(inserted, UTC) for inserted, _ in found), default=None)

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        return [QueueDepth(each, self._queues.count(each), self._queues.count(each + _POISON)) for each in names]

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        return [text for _, text in self._peeked(name + _POISON, limit)]

    async def redrive(self, name: str, limit: int) -> int:
        moved = 0
        try:
            while moved < limit:
                page = min(_LARGEST_PAGE, limit - moved)
                found = self._queues.take(name + _POISON, page, _LONGEST_HOLD_SECONDS)
                for message in found:
                    self._queues.move(message, name)
                moved += len(found)
                self.sent += len(found)
                if not found:
                    break
        except NoSuchQueue:
            pass
        return moved

    async def close(self) -> None:
        """The data folder is the caller's."""

    def _peeked(self, name: str, limit: int) -> list[tuple[float, str]]:
        """When each of the first messages was sent, and its text."""
        try:
            found = self._queues.peek(name, limit)
        except NoSuchQueue:
            return []
        return [(each.inserted, decoded(each.text, self._is_base64) or each.text) for each in found]
