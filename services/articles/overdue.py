"""Finds ingestion work whose message was lost: articles not analysed, released batches not ingested, runs not ended.

Stored documents show what is overdue, and its message is sent again.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from models.errors import ChangedMeanwhile, Conflict
from models.feed import Feed
from models.operations import OverdueAnnouncement
from models.run import INGEST_FEEDS, Attempt, IngestionBatch, JobRun
from models.values import CLOCKS_DIFFER, format_time, is_ahead
from services import deadline
from services.articles.announcing import Announce
from services.articles.attempts import Correction, added_by, interrupted_record, is_removed, unlisted_attempts
from services.feeds.claims import IngestMessage
from services.feeds.last_attempt import record_of
from services.logs import log_event
from services.ports import Document, Query, Queues, Store, Where, pages, readable
from services.runs import rules
from services.runs.engine import SENT_WITHIN, STUCK_AFTER, RunEngine, was_written_within
from services.store.containers import ARTICLES, CATALOG, FEEDS
from services.topology import ANALYZE_ARTICLES, LAST_DELIVERY

log = logging.getLogger("toolpulse.upkeep")

DUE_TOO_LONG = timedelta(minutes=1)
"""An analysis that has been due for longer is overdue, unless its message waits in the queue."""
_PAGE = 500

LOST_MESSAGE = "its message was lost or given up; its feeds are claimed anew"


def overdue_range(
    now: datetime, oldest_waiting: datetime | None, last: OverdueAnnouncement | None
) -> tuple[datetime | None, datetime] | None:
    """The articles to announce again: those that are due since a time after the first (None: any) up to the second;
    None for no article.

    `oldest_waiting` is when the oldest message that waits in the queue was sent: the messages of articles that are due
    since longer have left the queue. Articles that were announced again are left alone until the messages of `last`
    have left the queue, but for a minute at least. A `last` of a clock that was ahead does not count.
    """
    until = now - DUE_TOO_LONG
    if oldest_waiting is not None:
        until = min(until, oldest_waiting - SENT_WITHIN)
    if last is None or last.announced_at <= until or is_ahead(last.announced_at, now):
        return None, until
    return (last.due_until, until) if last.due_until < until else None


class OverdueArticles:
    """Announces the articles whose analysis is overdue. Several workers may call this at once: a document in the store
    decides which of them announces."""

    def __init__(self, store: Store, queues: Queues, announce: Announce) -> None:
        self._store = store
        self._queues = queues
        self._announce = announce

    async def announce(self, now: datetime) -> int:
        """Announces every overdue article, and returns their number."""
        key = OverdueAnnouncement.PARTITION, OverdueAnnouncement.ID
        document = await self._store.read(CATALOG.name, *key)
        last = readable(document, OverdueAnnouncement.from_document)
        overdue = overdue_range(now, await self._queues.oldest(ANALYZE_ARTICLES), last)
        if overdue is None:
            return 0
        after, until = overdue
        spans = [[Where("analysis_due_since", "le", format_time(until))]]
        if after is not None:
            spans[0].append(Where("analysis_due_since", "gt", format_time(after)))
        else:
            # The articles of a clock that was ahead are due as well.
            spans.append([Where("analysis_due_since", "gt", format_time(now + CLOCKS_DIFFER))])
        announced = 0
        async for articles in self._due_in(spans):
            if not announced and not await self._is_first(last, document, after, until, now):
                return 0
            await self._announce([each["source_id"] for each in articles])
            announced += len(articles)
            if deadline.is_near():
                break  # the rest is announced once these messages have left the queue
        if announced:
            log_event(log, logging.WARNING, "overdue_articles_announced", articles=announced)
        return announced

    async def _due_in(self, spans: Sequence[Sequence[Where]]) -> AsyncIterator[Sequence[Document]]:
        """The articles whose analysis is due since a time in one of the spans, by pages."""
        for span in spans:
            query = Query((*span, Where("deleted_at", "missing")), order="by_analysis_due", limit=_PAGE)
            async for page in pages(self._store, ARTICLES.name, query):
                if page.items:
                    yield page.items

    async def _is_first(
        self,
        last: OverdueAnnouncement | None,
        document: Document | None,
        after: datetime | None,
        until: datetime,
        now: datetime,
    ) -> bool:
        """Records the announcement; False if another worker recorded one meanwhile."""
        # Articles that `last` covers are not announced again this time, and must not wait for longer.
        at = last.announced_at if last is not None and after is not None else now
        first = last or OverdueAnnouncement(created_at=now, updated_at=now, due_until=until, announced_at=at)
        record = first.changed(now, due_until=until, announced_at=at).to_document()
        try:
            if document is None:
                await self._store.create(CATALOG.name, record)
            else:
                await self._store.replace(CATALOG.name, record, document["_etag"])
        except (Conflict, ChangedMeanwhile):
            return False
        return True


class OverdueIngestion:
    def __init__(self, store: Store, engine: RunEngine) -> None:
        self._store = store
        self._engine = engine

    async def runs(self, now: datetime, oldest_waiting: datetime | None = None) -> list[IngestMessage]:
        """The messages of released batches that the caller must send again; see RunEngine.may_send_again. Other runs
        that never ended are closed."""
        released = []
        for run in await self._engine.overdue([INGEST_FEEDS], now):
            if isinstance(run.parameters.get("held"), str):
                released.append(run)
            elif not was_written_within(STUCK_AFTER, run, now):
                await self._close(run, now)
        again = await self._engine.may_send_again(released, now, oldest_waiting)
        return [IngestMessage(run.run_id, quarantine_id=str(run.parameters["held"])) for run in again]

    async def _close(self, run: JobRun, now: datetime) -> None:
        """Closes the run with the articles of all its attempts, recorded or not. Other runs will claim its feeds."""
        documents = await self._store.read_many(FEEDS.name, [(each, Feed.ID) for each in _feeds_of(run)])
        known = await self._engine.attempts(run.run_id)
        found: list[Attempt] = []
        for feed_id, document in zip(_feeds_of(run), documents, strict=True):
            if is_removed(document, run):
                found += await unlisted_attempts(self._store, run, feed_id, document, known, LAST_DELIVERY, now)
            if document is not None:
                saved = record_of(document, run)
                found += [saved] if saved is not None else []
                found += await self._open_attempts(run, known, Feed.from_document(document), now)

        def summary(ended: JobRun, attempts: Sequence[Attempt]) -> Mapping[str, Any]:
            return rules.ingestion_summary(ended, attempts, given_up=LOST_MESSAGE)

        await self._engine.close_unless_changed(run, summary, added=found)

    async def _open_attempts(self, run: JobRun, known: Sequence[Attempt], feed: Feed, now: datetime) -> list[Attempt]:
        """The records of the run's attempts that never saved the feed."""
        found = []
        for each in (*feed.interrupted_attempts, feed.current_attempt):
            if each is not None and each.run_id == run.run_id:
                added = await added_by(self._store, run.run_id, feed.feed_id, each.attempt_no)
                found.append(interrupted_record(known, Correction(feed.feed_id, each, added), now))
        return found


def _feeds_of(run: JobRun) -> Sequence[str]:
    """The feeds of the run. Earlier versions have them among its parameters."""
    feeds = run.parameters.get("feeds")
    if isinstance(feeds, list):
        return [str(each) for each in feeds]
    return run.claimed if isinstance(run, IngestionBatch) else ()
