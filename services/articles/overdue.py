"""Finds ingestion work whose message was lost: articles not analysed, released batches not ingested, runs not ended.

Stored documents show what is overdue. Its message is sent again; for the same article at most once an hour, and at most
MOST_RESENDS times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from models.errors import ChangedMeanwhile
from models.feed import Feed
from models.run import INGEST_FEEDS, Attempt, JobRun
from models.values import format_time
from services.articles.attempts import Correction, added_by, interrupted_record
from services.feeds.claims import IngestMessage
from services.ports import Document, Query, Replace, Store, Where
from services.runs import rules
from services.runs.engine import STUCK_AFTER, RunEngine
from services.store.containers import ARTICLES, FEEDS

DUE_TOO_LONG = timedelta(minutes=5)
NOT_AGAIN_WITHIN = timedelta(hours=1)
MOST_RESENDS = 24
MOST_AT_ONCE = 500
MOST_PAGES = 10
"""More than one page, since the first articles (those due for longest) may be those that must not be sent again."""

LOST_MESSAGE = "its message was lost or given up; its feeds are claimed anew"


class OverdueIngestion:
    def __init__(self, store: Store, engine: RunEngine) -> None:
        self._store = store
        self._engine = engine

    async def articles(self, now: datetime) -> list[str]:
        """The articles whose analysis is overdue, each recorded as sent again."""
        found: list[Document] = []
        where = (Where("analysis_due_since", "le", format_time(now - DUE_TOO_LONG)), Where("deleted_at", "missing"))
        after = None
        for _ in range(MOST_PAGES):
            query = Query(where, order="by_analysis_due", limit=MOST_AT_ONCE, after=after)
            page = await self._store.query(ARTICLES.name, query)
            found += [each for each in page.items if may_be_sent_again(each, now)]
            after = page.next
            if after is None or len(found) >= MOST_AT_ONCE:
                break
        writes = [(each["source_id"], [Replace(sent_again(each, now), each["_etag"])]) for each in found[:MOST_AT_ONCE]]
        results = await self._store.batch_many(ARTICLES.name, writes) if writes else []
        # An article whose write failed was changed by another worker meanwhile.
        return [source_id for (source_id, _), result in zip(writes, results, strict=True) if isinstance(result, list)]

    async def runs(self, now: datetime, *, resend: bool = True) -> list[IngestMessage]:
        """The messages of released batches that are to be sent again, if `resend`. Other runs that never ended are
        closed."""
        again: list[IngestMessage] = []
        for run in await self._engine.overdue([INGEST_FEEDS], now):
            quarantine_id = run.parameters.get("held")
            if isinstance(quarantine_id, str):
                if resend and await self._postponed(run, now):
                    again.append(IngestMessage(run.run_id, quarantine_id=quarantine_id))
            elif run.updated_at <= now - STUCK_AFTER:
                await self._close(run, now)
        return again

    async def _postponed(self, run: JobRun, now: datetime) -> bool:
        """Whether this caller may send the run's message. Saving the run delays the time when it is overdue again, so
        that the message has time for all its deliveries."""
        if run.status == "QUEUED":
            return True
        try:
            await self._engine.save(run.changed(now))
        except ChangedMeanwhile:
            return False
        return True

    async def _close(self, run: JobRun, now: datetime) -> None:
        """Closes the run with the articles of all its attempts, recorded or not. Other runs will claim its feeds."""
        feeds = run.parameters.get("feeds")
        feed_ids = [str(each) for each in feeds] if isinstance(feeds, list) else []
        documents = await self._store.read_many(FEEDS.name, [(each, Feed.ID) for each in feed_ids])
        known = await self._engine.attempts(run.run_id)
        open_ones: list[Attempt] = []
        for document in documents:
            if document is not None:
                open_ones += await self._open_attempts(run, known, Feed.from_document(document), now)

        def summary(ended: JobRun, attempts: Sequence[Attempt]) -> Mapping[str, Any]:
            return rules.ingestion_summary(ended, attempts, given_up=LOST_MESSAGE)

        await self._engine.close_unless_changed(run, summary, added=open_ones)

    async def _open_attempts(self, run: JobRun, known: Sequence[Attempt], feed: Feed, now: datetime) -> list[Attempt]:
        """The records of the run's attempts that never saved the feed."""
        found = []
        for each in (*feed.interrupted_attempts, feed.current_attempt):
            if each is not None and each.run_id == run.run_id:
                added = await added_by(self._store, run.run_id, feed.feed_id, each.attempt_no)
                found.append(interrupted_record(known, Correction(feed.feed_id, each, added), now))
        return found


def may_be_sent_again(article: Document, now: datetime) -> bool:
    if (article.get("resends") or 0) >= MOST_RESENDS:
        return False
    before = article.get("resent_at")
    return before is None or before <= format_time(now - NOT_AGAIN_WITHIN)


def sent_again(article: Document, now: datetime) -> Document:
    return {**article, "resent_at": format_time(now), "resends": (article.get("resends") or 0) + 1}
