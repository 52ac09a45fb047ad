"""The generation of each tool's entries: raised by whatever makes them wrong, so that no older one is served again."""

from __future__ import annotations

from models.cache import CacheGeneration
from models.errors import ChangedMeanwhile, Conflict
from services.ports import Clock, Document, Store
from services.store.containers import SENTIMENT_CACHE

_TRIES = 50  # each lost try is another's raise, so that many at once must all be meant


class Generations:
    """`known` is the highest that this process has seen: what is older must not be served or remembered by it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, int] = {}

    def known(self, tool_id: str) -> int:
        return self._known.get(tool_id, 0)

    def learn(self, tool_id: str, document: Document | None) -> int:
        """The generation in what was read under `key`."""
        generation = 0 if document is None else CacheGeneration.from_document(document).generation
        if generation > self.known(tool_id):
            self._known[tool_id] = generation
        return generation

    @staticmethod
    def key(tool_id: str) -> tuple[str, str]:
        """Where it is stored, beside the entries."""
        return tool_id, f"{tool_id}:generation"

    async def current(self, tool_id: str) -> int:
        return self.learn(tool_id, await self._store.read(SENTIMENT_CACHE.name, *self.key(tool_id)))

    async def raise_(self, tool_id: str) -> int:
        """The new generation. When this returns, no entry of an older one is served by this process."""
        for _ in range(_TRIES):
            now = self._clock()
            document = await self._store.read(SENTIMENT_CACHE.name, *self.key(tool_id))
            try:
                if document is None:
                    first = CacheGeneration(tool_id=tool_id, generation=1, created_at=now, updated_at=now)
                    raised = await self._store.create(SENTIMENT_CACHE.name, first.to_document())
                else:
                    held = CacheGeneration.from_document(document)
                    after = held.changed(now, generation=held.generation + 1)
                    raised = await self._store.replace(
                        SENTIMENT_CACHE.name, after.to_document(), held.stored_etag or ""
                    )
            except (Conflict, ChangedMeanwhile):
                continue
            return self.learn(tool_id, raised)
        raise ChangedMeanwhile(f"the generation of {tool_id} keeps changing: try again")
