"""How a try at a feed begins, and how the feed is saved after it.

Several tries may work on a feed at once: articles are stored right whoever stores them, and one of the tries saves the
feed, since a feed that was fetched meanwhile is not saved again. A worker that works on a feed alone counts its own
death first, and takes it back when it survives: so a feed that kills its workers is known by its document.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from models.errors import ChangedMeanwhile, Conflict, Unavailable
from models.feed import Feed
from models.run import JobRun
from models.values import is_ahead
from services.logs import log_event
from services.ports import Clock, Document, Operation, Replace, Store, Upsert
from services.store.change import change, until_unchanged
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

MAX_DEATHS = 3
"""After so many deaths in a row of workers that worked on it alone, a feed is given up."""

_DISABLING = frozenset(
    {"enabled", "disabled_reason", "disabled_at", "disabled_by", "disabled_cause", "probes", "probe_at"}
    | {"verdict", "verdict_since", "verdict_reason"}
)
"""Fields that belong together: if a person disabled or enabled the feed meanwhile, all are as that person's change left
them."""


@dataclass(frozen=True, slots=True)
class FeedTry:
    """One try at a feed: the feed as the try has it, and the document as it is stored. `started_at` is later than the
    last fetch, even if the clocks of the workers differ."""

    feed: Feed
    document: Document
    run_id: str
    attempt_no: int
    task_name: str
    started_at: datetime


class FeedSaves:
    """Begins tries at feeds, and saves the feeds after them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begun(self, document: Document, run: JobRun, task_name: str) -> FeedTry:
        """A try at the feed that was read as `document`. Writes nothing."""
        feed = Feed.from_document(document)
        started_at = _after_last_fetch(feed, self._clock())
        return FeedTry(feed, document, run.run_id, run.invocations, task_name, started_at)

    async def alone(self, one: FeedTry) -> FeedTry | None:
        """Counts a death of this worker, until the feed is saved or `survived` is called. None if the feed was fetched
        meanwhile, or is gone."""
        is_mine = False

        def decide(stored: Document | None) -> Document | None:
            nonlocal is_mine
            is_mine = stored is not None and _fetched(stored) == _fetched(one.document)
            deaths = one.feed.worker_deaths + 1
            return {**stored, "worker_deaths": deaths} if stored is not None and is_mine else None

        stored = await change(self._store, FEEDS.name, one.feed.feed_id, Feed.ID, decide, known=one.document)
        return None if stored is None or not is_mine else replace(one, document=stored)

    async def survived(self, one: FeedTry) -> None:
        """Takes back the death that `alone` has counted, if the feed was not saved since."""

        def decide(stored: Document | None) -> Document | None:
            if stored is None or stored.get("worker_deaths") != one.feed.worker_deaths + 1:
                return None
            return {**stored, "worker_deaths": one.feed.worker_deaths}

        await change(self._store, FEEDS.name, one.feed.feed_id, Feed.ID, decide)

    async def add(self, feed_id: str, decide: Callable[[Feed, datetime], Feed]) -> None:
        """Saves what `decide` makes of the feed and the time, whoever fetched the feed meanwhile."""

        def decided(stored: Document | None) -> Document | None:
            if stored is None:
                return None
            feed = Feed.from_document(stored)
            return decide(feed, _after_last_fetch(feed, self._clock())).to_document()

        await change(self._store, FEEDS.name, feed_id, Feed.ID, decided)

    async def save(self, one: FeedTry, after: Feed, seen: Document | None = None) -> bool:
        """Saves the feed as `after`, with its `seen` document if there is one; False if the feed was fetched meanwhile.
        Changes that a person made to the feed since it was read are kept."""
        feed_id, wanted, known = one.feed.feed_id, after.to_document(), one.document

        async def once() -> bool:
            nonlocal wanted, known
            writes: list[Operation] = [Replace(wanted, known["_etag"])]
            if seen is not None:
                writes.append(Upsert(seen))
            try:
                await self._store.batch(FEEDS.name, feed_id, writes)
            except (ChangedMeanwhile, Conflict, Unavailable) as error:
                fresh = await self._store.read(FEEDS.name, feed_id, Feed.ID)
                if fresh is None:
                    return False
                if all(fresh.get(name) == value for name, value in wanted.items()):
                    return True  # only the response was lost
                if _fetched(fresh) != _fetched(one.document):
                    return False
                wanted, known = _merged(wanted, known, fresh), fresh
                raise ChangedMeanwhile(str(error)) from error
            return True

        return await until_unchanged(once, f"feed {feed_id}")


def log_skipped(feed_id: str, reason: str) -> None:
    log_event(log, logging.DEBUG, "feed_skipped", feed_id=feed_id, reason=reason)


def _after_last_fetch(feed: Feed, now: datetime) -> datetime:
    """`now`, or a second after the last fetch. The time of a clock that was ahead does not count: the feed would be due
    by that clock again."""
    last = feed.last_fetch_time
    return now if last is None or is_ahead(last, now) else max(now, last + timedelta(seconds=1))


def _merged(wanted: Document, before: Document, fresh: Document) -> Document:
    """`wanted`, but with all changes that others made to the feed since `before`."""
    theirs = {name for name in before.keys() | fresh.keys() if before.get(name) != fresh.get(name)}
    if theirs & {"enabled", "disabled_by"}:
        theirs |= _DISABLING
    merged = {**wanted, **{name: fresh.get(name) for name in theirs if name != "updated_at"}}
    return {name: value for name, value in merged.items() if value is not None}


def _fetched(feed: Mapping[str, Any]) -> tuple[Any, ...]:
    """A worker that finds another value here has lost the feed to another try."""
    return feed.get("feed_url"), feed.get("last_fetch_time")
