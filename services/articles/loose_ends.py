"""What got lost between a write and a send: articles that nobody analysed, batches not let in, runs that never ended.

State is the truth and events are hints, so what is overdue is sent again; not while its queue still holds messages, not
the same article twice within the hour, and not for ever.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.errors import ChangedMeanwhile
from models.run import IngestionBatch
from models.values import format_time
from services.articles.messages import FeedBatch
from services.articles.runs import abandoned
from services.ports import Document, Query, Store, Where
from services.runs.attempts import saved_attempts
from services.store.containers import ARTICLES, RUNS
from services.store.listed import listed

PENDING_TOO_LONG = timedelta(minutes=5)
NOT_AGAIN_WITHIN = timedelta(hours=1)
MOST_RESENDS = 24
MOST_AT_ONCE = 500
SCANNED_PAGES = 10

HELD_TOO_LONG = timedelta(minutes=5)
RUN_TOO_LONG = timedelta(minutes=15)
LOOKED_BACK = timedelta(days=2)
WRITING_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many messages wait in the two queues of ingestion."""

    articles: int
    feeds: int


class LooseEnds:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def articles(self, waiting: Waiting, now: datetime) -> list[str]:
        """The articles whose analysis is overdue, so that their message must have been lost; each is marked."""
        if waiting.articles:
            return []
        found: list[Document] = []
        where = (
            Where("status", "eq", "pending"),
            Where("created_at", "le", format_time(now - PENDING_TOO_LONG)),
            Where("deleted_at", "missing"),
        )
        after = None
        for _ in range(SCANNED_PAGES):
            query = Query(where, order="by_status", limit=MOST_AT_ONCE, after=after)
            page = await self._store.query(ARTICLES.name, query)
            found += [each for each in page.items if _may_be_sent(each, now)]
            after = page.next
            if after is None or len(found) >= MOST_AT_ONCE:
                break
        gate = asyncio.Semaphore(WRITING_AT_ONCE)
        marked = await asyncio.gather(*(self._mark(each, now, gate) for each in found[:MOST_AT_ONCE]))
        return [each["source_id"] for each, done in zip(found, marked, strict=False) if done]

    async def batches(self, waiting: Waiting, now: datetime) -> list[FeedBatch]:
        """Held batches that were approved and still wait for their message, or whose message was given up. Other runs
        that never ended are closed."""
        where = (
            Where("workflow_name", "eq", "ingest_feeds"),
            Where("status", "in", ("QUEUED", "RUNNING")),
            Where("started_at", "ge", format_time(now - LOOKED_BACK)),
            Where("started_at", "le", format_time(now - HELD_TOO_LONG)),
        )
        page = await self._store.query(RUNS.name, Query(where, order="by_start", limit=500))
        again: list[FeedBatch] = []
        for run in listed(page, IngestionBatch.from_document, "run_id").items:
            held = run.parameters.get("held")
            if isinstance(held, str):
                if not waiting.feeds and (run.status == "QUEUED" or await self._is_given_up(run, now)):
                    again.append(FeedBatch(run.run_id, held=held))
            elif now - run.updated_at > RUN_TOO_LONG:
                await self._close(run, now)
        return again

    async def _is_given_up(self, run: IngestionBatch, now: datetime) -> bool:
        """Whether its message was: its feed may have been another's for longer than a message is tried. Marked, so that
        it is sent again no sooner than that."""
        if now - run.updated_at <= RUN_TOO_LONG:
            return False
        try:
            await self._store.replace(RUNS.name, run.changed(now).to_document(), run.stored_etag or "")
        except ChangedMeanwhile:
            return False
        return True

    async def _mark(self, article: Document, now: datetime, gate: asyncio.Semaphore) -> bool:
        resends = (article.get("resends") or 0) + 1
        marked = {**article, "resent_at": format_time(now), "resends": resends}
        async with gate:
            try:
                await self._store.replace(ARTICLES.name, marked, article["_etag"])
            except ChangedMeanwhile:
                return False  # somebody is at it
            return True

    async def _close(self, run: IngestionBatch, now: datetime) -> None:
        """Its feeds' claims have run out, so they are fetched by other runs."""
        words = "its message was lost or given up; its feeds are claimed anew"
        attempts = await saved_attempts(self._store, run.run_id)
        ended = abandoned(run, attempts, words, now)
        try:
            await self._store.replace(RUNS.name, ended.to_document(), run.stored_etag or "")
        except ChangedMeanwhile:
            return  # it has gone on after all


def _may_be_sent(article: Document, now: datetime) -> bool:
    before = article.get("resent_at")
    if (article.get("resends") or 0) >= MOST_RESENDS:
        return False
    return before is None or before <= format_time(now - NOT_AGAIN_WITHIN)
