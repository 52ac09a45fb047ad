"""How much of what came is read and taken in at once: a feed costs about twenty times its body's memory meanwhile.

Bodies that wait cost what they are. Who comes first goes first; whatever is larger than the desk has it alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

MOST_BYTES = 1_500_000
LEAST_BYTES = 64_000
"""What the smallest body counts for: the rest of a feed's work costs something, too."""

ROOM_SHARE = 0.75
ROOM_SECONDS = 0.25
"""Whoever has to wait does so for this much of the desk, so that feeds begin together and are written together: that
takes a tenth less than one at a time. But not for longer than this, if somebody is slow to leave."""


class Desk:
    def __init__(self, most_bytes: int = MOST_BYTES, room_seconds: float = ROOM_SECONDS) -> None:
        self._most = self._free = most_bytes
        self._room_seconds = room_seconds
        self._first = asyncio.Lock()
        self._left = asyncio.Event()

    @asynccontextmanager
    async def place(self, body_bytes: int) -> AsyncIterator[None]:
        """Waits until there is room for a body of that size, and keeps it."""
        taken = min(max(body_bytes, LEAST_BYTES), self._most)
        async with self._first:
            if self._free < taken:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._room_seconds):
                        await self._room(max(taken, int(self._most * ROOM_SHARE)))
                await self._room(taken)
            self._free -= taken
        try:
            yield
        finally:
            self._free += taken
            self._left.set()

    async def _room(self, wanted: int) -> None:
        while self._free < wanted:
            self._left.clear()
            await self._left.wait()
