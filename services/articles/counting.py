"""Counts what an attempt added, from the stored observations, whoever stored them and whatever became of the worker.

No counter is kept in step with the writes: an observation names the attempt that added it, and the figures of attempts,
runs and feeds are counted from these names.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.feed import Feed, FeedAttempt
from models.observation import attempt_key
from models.run import Attempt, attempt_id
from models.values import format_time
from services.feeds.outcome import Counted
from services.ports import Query, Store, Where, query_all
from services.runs.engine import RunEngine
from services.runs.rules import recounted_ingestion, worker_died
from services.store.containers import ARTICLES, RUNS

CLOCKS_DIFFER = timedelta(minutes=1)
"""At most, between the workers of one app."""

_PAGE = 500


@dataclass(frozen=True, slots=True)
class AddedArticles:
    """`new` articles were new to the feed; the attempt created `created` of them and joined the others."""

    new: int = 0
    created: int = 0

    @property
    def joined(self) -> int:
        return self.new - self.created


async def added_by(store: Store, run_id: str, feed_id: str, attempt_no: int) -> AddedArticles:
    mine = Where("added_by_attempt", "eq", attempt_key(run_id, feed_id, attempt_no))
    new = await store.count(ARTICLES.name, (mine,))
    created = await store.count(ARTICLES.name, (mine, Where("created_article", "eq", True))) if new else 0
    return AddedArticles(new, created)


async def count_interrupted(store: Store, engine: RunEngine, feed: Feed, now: datetime) -> Counted:
    """Counts what interrupted attempts added since they were last counted, and corrects their records and their runs.

    An attempt that another one took over from may go on for a while, so it is counted at each save for an hour.
    """
    more = 0
    counted: list[FeedAttempt] = []
    for each in feed.interrupted_attempts:
        added = await added_by(store, each.run_id, feed.feed_id, each.attempt_no)
        if added.new != each.counted:
            await record_interrupted(store, engine, feed.feed_id, each, added, now)
        more += added.new - (each.counted or 0)
        counted.append(each.model_copy(update={"counted": added.new}))
    return Counted(by_interrupted=more, interrupted_attempts=tuple(counted))


async def record_interrupted(
    store: Store, engine: RunEngine, feed_id: str, each: FeedAttempt, added: AddedArticles, now: datetime
) -> None:
    """Records an attempt of which nothing is known but that it began, or corrects the counts of its record."""
    name = attempt_id(each.task_name, feed_id, each.attempt_no, each.started_at)
    document = await store.read(RUNS.name, each.run_id, name)
    if document is not None:
        attempt = Attempt.from_document(document)
    else:
        begun = Attempt(
            created_at=each.started_at,
            updated_at=each.started_at,
            run_id=each.run_id,
            task_name=each.task_name,
            subject=feed_id,
            attempt_no=each.attempt_no,
            started_at=each.started_at,
        )
        attempt = worker_died(begun, now)
    counts = {
        "articles_found": max(attempt.articles_found or 0, added.new),
        "articles_new": added.new,
        "articles_stored": added.created,
        "collisions_detected": added.joined,
    }
    await engine.record(each.run_id, [attempt.changed(now, **counts)])
    run = await engine.find(each.run_id)
    if run is not None and run.is_finished:
        await engine.close(each.run_id, recounted_ingestion)


async def due_since(store: Store, feed_ids: Collection[str], since: datetime) -> list[str]:
    """The articles of these feeds whose analysis became due since then, and is still due: their message may be lost."""
    where = (
        Where("analysis_due_since", "ge", format_time(since - CLOCKS_DIFFER)),
        Where("deleted_at", "missing"),
    )
    found = await query_all(store, ARTICLES.name, Query(where, order="by_analysis_due", limit=_PAGE))
    return [each["source_id"] for each in found if not set(feed_ids).isdisjoint(each["sources"])]
