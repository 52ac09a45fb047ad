"""At most one message a minute asks for the refresh of a tool that was served stale, from all instances together."""

from __future__ import annotations

from datetime import datetime, timedelta

from models.cache import RefreshAsked
from models.errors import Conflict
from services.ports import Store
from services.store.containers import SENTIMENT_CACHE

ONCE_A = timedelta(minutes=1)
_MOST = 10_000


class Revalidation:
    """What this process asked for itself costs no look into the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked: dict[str, datetime] = {}

    async def claim(self, tool_id: str, now: datetime) -> bool:
        """Whether the caller is the one to send the message."""
        last = self._asked.get(tool_id)
        if last is not None and timedelta(0) <= now - last < ONCE_A:
            return False
        if len(self._asked) >= _MOST:
            self._asked.clear()
        self._asked[tool_id] = now
        asked = RefreshAsked(tool_id=tool_id, created_at=now, updated_at=now)
        try:
            await self._store.create(SENTIMENT_CACHE.name, asked.to_document())
        except Conflict:
            return False
        return True
