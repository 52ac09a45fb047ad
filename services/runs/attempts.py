"""The attempts of a run as they are stored. What they add up to is runs.py's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from models.feed import Feed
from models.run import Attempt
from services.articles.runs import lost, taken_back
from services.ports import Document, Query, Store, Where
from services.store.containers import FEEDS, RUNS
from services.store.listed import listed

_ATTEMPTS = Where("entity_type", "eq", "Attempt")


async def attempts_of(store: Store, run_id: str, *where: Where) -> list[Attempt]:
    """Those that can be read: another one must keep nobody from going on."""
    found: list[Attempt] = []
    after: str | None = None
    while True:
        page = await store.query(RUNS.name, Query((_ATTEMPTS, *where), partition=run_id, limit=500, after=after))
        found += listed(page, Attempt.from_document, "id").items
        after = page.next
        if after is None:
            return found


async def saved_attempts(store: Store, run_id: str) -> list[Attempt]:
    """The attempts that count: what was written of a feed that the run still holds, or has lost, is not saved."""
    found = await attempts_of(store, run_id)
    held = await held_of(store, run_id, {each.subject for each in found})
    return [each for each in found if each.subject not in held]


async def held_of(store: Store, run_id: str, feeds: Iterable[str]) -> set[str]:
    """Those of the feeds that the run has not saved: a save gives the claim back."""
    names = sorted(feeds)
    documents = await store.read_many(FEEDS.name, [(name, Feed.ID) for name in names])
    return {name for name, feed in zip(names, documents, strict=True) if feed and run_id in _holders(feed)}


def _holders(feed: Document) -> tuple[str | None, ...]:
    return feed.get("claim_id"), feed.get("unsaved_run")


async def give_up_unsaved(store: Store, run_id: str, feed_id: str, delivery: int, started_at: datetime) -> None:
    """Says that the run's attempts at a feed came to nothing that counts: whoever has the feed now counts it anew.

    A worker that dies leaves no attempt, or one that it could not follow up: `delivery` is the last that began.
    """
    found = await attempts_of(store, run_id, Where("subject", "eq", feed_id))
    given_up = [taken_back(each) for each in found]
    if all(each.attempt_no != delivery for each in found):
        given_up.append(lost(run_id, feed_id, delivery, started_at))
    await store.write_many(RUNS.name, [each.to_document() for each in given_up])
