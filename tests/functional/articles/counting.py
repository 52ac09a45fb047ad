"""A store that counts its operations, and can begin to fail."""

from __future__ import annotations

from typing import Any

from models.errors import Unavailable
from services.ports import Store
from tests.functional.articles.dying import DyingStore

_READS = ("read", "read_many", "query", "count", "ping")


class CountingStore(DyingStore):
    """Every call is one operation, however many documents it is about."""

    def __init__(self, store: Store, *, fail_writes_from: int = 1_000_000) -> None:
        super().__init__(store)
        self._fail_writes_from = fail_writes_from
        self.writes = 0

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        if name not in _READS:
            self.writes += 1
            if self.writes >= self._fail_writes_from:
                raise Unavailable("the store is away")
        return await super()._do(name, *arguments, **options)
