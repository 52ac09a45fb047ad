"""A store as it is over a network: others go first before an operation, and before its answer arrives."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, cast

from services.ports import Store

LONGEST = 5
SELDOM = 0.1
VERY_LONG = 60


class _Far:
    def __init__(self, store: Store, chance: random.Random) -> None:
        self._store = store
        self._chance = chance

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            await self._others()
            answer = await method(*args, **kwargs)
            await self._others()
            return answer

        return call

    async def _others(self) -> None:
        longest = VERY_LONG if self._chance.random() < SELDOM else LONGEST
        for _ in range(self._chance.randrange(longest)):
            await asyncio.sleep(0)


def far(store: Store, chance: random.Random) -> Store:
    return cast("Store", _Far(store, chance))
