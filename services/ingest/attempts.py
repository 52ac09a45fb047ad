"""The attempts of a run as they are stored. What they add up to is runs.py's."""

from __future__ import annotations

from models.run import Attempt
from services.ports import Query, Store, Where
from services.store.containers import RUNS

_ATTEMPTS = Where("entity_type", "eq", "Attempt")


async def attempts_of(store: Store, run_id: str, *where: Where) -> list[Attempt]:
    found: list[Attempt] = []
    after: str | None = None
    while True:
        page = await store.query(RUNS.name, Query((_ATTEMPTS, *where), partition=run_id, limit=500, after=after))
        found += [Attempt.from_document(document) for document in page.items]
        after = page.next
        if after is None:
            return found


async def forget_unsaved(store: Store, run_id: str, feed_id: str) -> None:
    """Takes back what a run wrote of a feed that it never saved, as whoever takes its claim over counts that anew.

    A save gives the claim back: as long as a run holds one, none of its attempts at that feed has been counted.
    """
    for attempt in await attempts_of(store, run_id, Where("subject", "eq", feed_id)):
        await store.delete(RUNS.name, run_id, attempt.id)
