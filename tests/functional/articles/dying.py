"""A store that dies at its k-th operation, as a process that is killed: before it, half-way through, or after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from services.ports import Store

if TYPE_CHECKING:
    from services.store.sqlite import SqliteStore as _Typed
else:
    _Typed = object

When = Literal["before", "halfway", "after"]
NEVER = 1_000_000_000
_OF_MANY = ("batch_many", "create_many", "write_many")


class Died(BaseException):
    """The process is gone."""


class DyingStore(_Typed):
    """A Store. `operations` counts; from the k-th on nothing more happens. Stores that do something else at an
    operation override `_do`, which each of them calls with its name."""

    def __init__(self, store: Store, k: int = NEVER, when: When = "before") -> None:
        self._store = store
        self._k = k
        self._when = when
        self.operations = 0

    @property
    def is_dead(self) -> bool:
        return self.operations >= self._k

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        if self.is_dead:
            raise Died
        self.operations += 1
        call = getattr(self._store, name)
        if not self.is_dead:
            return await call(*arguments, **options)
        if self._when == "after":
            await call(*arguments, **options)
        elif self._when == "halfway" and name in _OF_MANY:
            container, many = arguments
            await call(container, many[: (len(many) + 1) // 2])
        raise Died

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Store, name):
            raise AttributeError(name)
        return partial(self._do, name)

    async def close(self) -> None:
        """The caller closes the real store."""


class DiesSavingFeeds(DyingStore):
    """Dies after the articles and the attempt are stored."""

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        if (name, arguments[0]) == ("batch", "feeds"):
            self._k = self.operations
        return await super()._do(name, *arguments, **options)
