"""Workers that take turns at the store, operation by operation, in an order that is drawn: any two meet anywhere."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from services.ports import Store
from tests.functional.articles.dying import DyingStore, When

STEPS_TO_THE_NEXT_OPERATION = 40
NEVER = 1_000_000_000


class Turns:
    """Who asks the store next. `takers` is who has asked at all."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._waiting: dict[int, deque[asyncio.Event]] = {}
        self._has_run = asyncio.Event()
        self.takers: set[int] = set()

    async def take(self, who: int, work: Callable[[], Awaitable[Any]]) -> Any:
        turn = asyncio.Event()
        self._waiting.setdefault(who, deque()).append(turn)
        await turn.wait()
        self.takers.add(who)
        try:
            return await work()
        finally:
            self._has_run.set()

    async def give_until_done(self, *actors: asyncio.Future[Any]) -> None:
        """Raises what an actor raised."""
        while not all(each.done() for each in actors):
            for _ in range(STEPS_TO_THE_NEXT_OPERATION):
                await asyncio.sleep(0)
            ready = sorted(who for who, turns in self._waiting.items() if turns)
            if not ready:
                await asyncio.sleep(0.001)
                continue
            self._has_run.clear()
            self._waiting[self._chance.choice(ready)].popleft().set()
            await self._has_run.wait()
        await asyncio.gather(*actors)


class TurnStore(DyingStore):
    """The store as worker `who` sees it, who may die at his k-th operation."""

    def __init__(self, store: Store, turns: Turns, who: int, k: int = NEVER, when: When = "before") -> None:
        super().__init__(store, k, when)
        self._turns = turns
        self._who = who

    async def _do(self, name: str, *arguments: Any, half: tuple[Any, ...] | None = None) -> Any:
        return await self._turns.take(self._who, lambda: super(TurnStore, self)._do(name, *arguments, half=half))
