"""The history of a feed: the attempts at it in all runs, newest first."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from models.run import Attempt, JobRun, read_run
from services.ports import Listed, Query, Store, Where, listed
from services.runs.recorded import in_run
from services.store.containers import RUNS

_EARLIER = "earlier:"
"""Begins the cursors into attempts that earlier versions stored as documents of their own."""


async def history(store: Store, feed_id: str, limit: int, after: str | None) -> Listed[Attempt]:
    """The attempts at a feed in all runs, newest first. A page ends with a run, so it may have fewer than `limit`;
    it has more if the first run alone has more."""
    if after is not None and after.startswith(_EARLIER):
        return await _earlier_history(store, feed_id, limit, after.removeprefix(_EARLIER) or None)
    page = await _history(store, feed_id, limit, after)
    if page.next is not None:
        return page
    earlier = await _earlier_history(store, feed_id, max(1, limit - len(page.items)), None)
    if len(page.items) >= limit:
        return replace(page, next=_EARLIER if earlier.items else None)
    unreadable = (*page.unreadable, *earlier.unreadable)
    return replace(earlier, items=[*page.items, *earlier.items], unreadable=unreadable)


async def _history(store: Store, feed_id: str, limit: int, after: str | None) -> Listed[Attempt]:
    """The attempts that are stored in runs. A page without attempts is the last one."""
    while True:
        runs = await _runs_of(store, feed_id, limit, after)
        found = [in_run(run, feed_id) for run in runs.items]
        numbers = accumulate(len(each.items) for each in found)
        fitting = max(1, sum(number <= limit for number in numbers))
        if fitting < len(found):
            found = found[:fitting]
            runs = await _runs_of(store, feed_id, fitting, after)
        items = [attempt for one in found for attempt in reversed(one.items)]
        if items or runs.next is None:
            unreadable = (*runs.unreadable, *(name for one in found for name in one.unreadable))
            return Listed(items, runs.next, unreadable)
        after = runs.next


async def _runs_of(store: Store, feed_id: str, limit: int, after: str | None) -> Listed[JobRun]:
    where = (Where("feeds", "contains", feed_id), Where("id", "eq", JobRun.ID))
    query = Query(where, order="by_start", reverse=True, limit=limit, after=after)
    return listed(await store.query(RUNS.name, query), read_run, "run_id")


async def _earlier_history(store: Store, feed_id: str, limit: int, after: str | None) -> Listed[Attempt]:
    """The attempts that earlier versions stored as documents of their own."""
    where = (Where("subject", "eq", feed_id), Where("entity_type", "eq", "Attempt"))
    query = Query(where, order="by_subject", reverse=True, limit=limit, after=after)
    found = listed(await store.query(RUNS.name, query), Attempt.from_document, "id")
    return replace(found, next=_EARLIER + found.next if found.next else None)
