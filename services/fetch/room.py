"""How many bytes of bodies a process holds at once, from the first that is read until whoever asked is through.

A small body holds what it likes: those are bounded by how many there are. What is more is taken bit by bit, and waits
while others hold all there is. Whoever has waited or held longest may always go on, so nobody waits for ever; a body
has an end of its own (the fetcher's), so that costs little.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

MOST_BYTES = 64_000_000
FREE_BYTES = 256 * 1024
STEP_BYTES = 1024 * 1024


class Room:
    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self.taken_bytes = 0
        self._queue: dict[Place, None] = {}
        self._left = asyncio.Event()

    def place(self) -> Place:
        return Place(self)

    async def take(self, place: Place, more: int) -> None:
        self._queue.setdefault(place)
        while self.taken_bytes + more > self.most_bytes and next(iter(self._queue)) is not place:
            self._left.clear()
            await self._left.wait()
        self.taken_bytes += more

    def leave(self, place: Place, taken: int) -> None:
        self._queue.pop(place, None)
        self.taken_bytes -= taken
        self._left.set()


class Place:
    """One body's. `granted_bytes` may be held now; for more, `grow` first, which took `waited_seconds` in all.
    Entered by whoever is to leave it."""

    __slots__ = ("_room", "_waits", "granted_bytes", "waited_seconds")

    def __init__(self, room: Room) -> None:
        self._room = room
        self._waits = False
        self.granted_bytes = FREE_BYTES
        self.waited_seconds = 0.0

    async def grow(self, size: int) -> None:
        """Waits until so many may be held."""
        more = -(-(size - self.granted_bytes) // STEP_BYTES) * STEP_BYTES
        if more > 0:
            self._waits = True
            now = asyncio.get_running_loop().time
            started = now()
            await self._room.take(self, more)
            self.waited_seconds += now() - started
            self.granted_bytes += more

    def leave(self) -> None:
        """The body is gone; another may be held."""
        if self._waits:
            self._room.leave(self, self.granted_bytes - FREE_BYTES)
            self._waits = False
            self.granted_bytes = FREE_BYTES

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
