"""Stores that delay, interrupt or fail operations, around one that works."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from models.errors import ChangedMeanwhile, Conflict, Unavailable
from services.ports import BatchOutcome, Operation, Store

WRITES = (
    "create",
    "replace",
    "upsert",
    "delete",
    "create_many",
    "write_many",
    "batch",
    "batch_many",
)
Wrapped = Callable[..., Awaitable[Any]]


class Crash(BaseException):
    """The process died here: nothing catches it."""


class _Around:
    """Every call of a method goes through `_call`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Wrapped:
        method: Wrapped = getattr(self._store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._call(name, lambda: method(*args, **kwargs))

        return call

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Operation]]]
    ) -> list[BatchOutcome]:
        """One after the other, since each is a write of its own: a process may die between two."""
        results: list[BatchOutcome] = []
        for partition, operations in batches:
            try:
                results.append(await self.batch(container, partition, operations))
            except (Conflict, ChangedMeanwhile) as error:
                results.append(error)
        return results

    async def _call(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        raise NotImplementedError


class _Hesitant(_Around):
    def __init__(self, store: Store, seed: int) -> None:
        super().__init__(store)
        self._random = random.Random(seed)

    async def _call(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        await self._others()
        answer = await call()
        await self._others()
        return answer

    async def _others(self) -> None:
        longest = 60 if self._random.random() < 0.1 else 5
        for _ in range(self._random.randrange(longest)):
            await asyncio.sleep(0)


class _Mortal(_Around):
    def __init__(self, store: Store, writes: int) -> None:
        super().__init__(store)
        self._left = writes

    async def _call(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        if name in WRITES:
            if not self._left:
                raise Crash
            self._left -= 1
        return await call()


class _Unheard(_Around):
    def __init__(self, store: Store, writes: int) -> None:
        super().__init__(store)
        self._left = writes

    async def _call(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        result = await call()
        self._left -= name in WRITES
        if self._left == -1 and name in WRITES:
            raise Unavailable("the store did not answer")
        return result


class Interrupted(_Around):
    """Does `act` before the call of that number. With `writes`, dies after as many writes more."""

    def __init__(self, store: Store, calls: int, act: Callable[[], Awaitable[Any]], writes: int | None = None) -> None:
        super().__init__(store)
        self._calls = calls
        self._act = act
        self._writes = writes
        self.has_acted = False

    async def _call(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        is_its_turn = not self._calls
        self._calls -= 1  # first: other calls go on meanwhile
        if is_its_turn:
            self.has_acted = True
            await self._act()
        if self.has_acted and self._writes is not None and name in WRITES:
            if not self._writes:
                raise Crash
            self._writes -= 1
        return await call()


def hesitant(store: Store, seed: int) -> Store:
    """Lets others go first before each operation and before its answer arrives, as a network would."""
    return cast("Store", _Hesitant(store, seed))


def mortal(store: Store, writes: int) -> Store:
    """Takes that many writes, then dies at the next."""
    return cast("Store", _Mortal(store, writes))


def unheard(store: Store, writes: int) -> Store:
    """The answer to the write after that many is lost; what was to be written is."""
    return cast("Store", _Unheard(store, writes))
