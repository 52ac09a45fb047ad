"""How much of what came is read and taken in at once: a feed costs about twenty times its body's memory meanwhile.

Bodies that wait cost what they are. Who comes first goes first; whatever is larger than the desk has it alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOST_BYTES = 1_500_000
LEAST_BYTES = 64_000
"""What the smallest body counts for: the rest of a feed's work costs something, too."""


class Desk:
    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = self._free = most_bytes
        self._first = asyncio.Lock()
        self._left = asyncio.Event()

    @asynccontextmanager
    async def place(self, body_bytes: int) -> AsyncIterator[None]:
        """Waits until there is room for a body of that size, and keeps it."""
        taken = min(max(body_bytes, LEAST_BYTES), self._most)
        async with self._first:
            while self._free < taken:
                self._left.clear()
                await self._left.wait()
            self._free -= taken
        try:
            yield
        finally:
            self._free += taken
            self._left.set()
