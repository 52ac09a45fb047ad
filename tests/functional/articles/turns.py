"""Workers that take turns at the store, operation by operation, in a random order: any two operations may meet."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from services.ports import Store
from tests.functional.articles.dying import NEVER, DyingStore, When

STEPS_TO_THE_NEXT_OPERATION = 40


class Turns:
    """Decides which worker's operation is next. `takers` are the workers that have done one."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._waiting: dict[int, deque[asyncio.Event]] = {}
        self._has_run = asyncio.Event()
        self.takers: set[int] = set()

    async def take(self, worker: int, work: Callable[[], Awaitable[Any]]) -> Any:
        turn = asyncio.Event()
        self._waiting.setdefault(worker, deque()).append(turn)
        await turn.wait()
        self.takers.add(worker)
        try:
            return await work()
        finally:
            self._has_run.set()

    async def give_until_done(self, *actors: asyncio.Future[Any]) -> None:
        """Raises the error of an actor."""
        while not all(each.done() for each in actors):
            for _ in range(STEPS_TO_THE_NEXT_OPERATION):
                await asyncio.sleep(0)
            ready = sorted(worker for worker, turns in self._waiting.items() if turns)
            if not ready:
                await asyncio.sleep(0.001)
                continue
            self._has_run.clear()
            self._waiting[self._chance.choice(ready)].popleft().set()
            await self._has_run.wait()
        await asyncio.gather(*actors)


class TurnStore(DyingStore):
    """The store of worker `worker`, which may die at its k-th operation."""

    def __init__(self, store: Store, turns: Turns, worker: int, k: int = NEVER, when: When = "before") -> None:
        super().__init__(store, k, when)
        self._turns = turns
        self._worker = worker

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        return await self._turns.take(self._worker, lambda: super(TurnStore, self)._do(name, *arguments, **options))
