"""A store whose answers take so long that something else happens before one of them arrives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from services.ports import Store
from tests.functional.articles.dying import DyingStore


class Meanwhile(DyingStore):
    """`happens`, once, between the `turn`-th operation of this name on this container and its answer."""

    def __init__(
        self, store: Store, name: str, container: str, turn: int, happens: Callable[[], Awaitable[Any]]
    ) -> None:
        super().__init__(store)
        self._awaited = (name, container)
        self._turns_left = turn
        self._happens = happens
        self.happened = False

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        answer = await super()._do(name, *arguments, **options)
        if (name, arguments[0]) == self._awaited:
            self._turns_left -= 1
            if self._turns_left == 0:
                await self._happens()
                self.happened = True
        return answer
