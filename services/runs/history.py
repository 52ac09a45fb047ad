"""The history of a feed: the attempts at it in all runs, newest first."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from models.run import Attempt, JobRun, read_run
from services.ports import Listed, Query, Store, Where, listed
from services.runs.listing import EVERY_ATTEMPT, AttemptFilter
from services.runs.recorded import in_run
from services.store.containers import RUNS

_RUNS_AT_ONCE = 100
_MOST_PAGES = 20
"""Pages of runs that one list reads to find attempts that its filter accepts. It then ends early, with a cursor."""


async def history(
    store: Store, feed_id: str, limit: int, after: str | None, by: AttemptFilter = EVERY_ATTEMPT
) -> Listed[Attempt]:
    """The attempts at a feed in all runs that the filter accepts, newest first. A page ends with a run, so it may have
    fewer than `limit`; it has more if the first run alone has more."""
    at_once = limit if by == EVERY_ATTEMPT else max(limit, _RUNS_AT_ONCE)
    unreadable: tuple[str, ...] = ()
    for _ in range(_MOST_PAGES):
        runs = await _runs_of(store, feed_id, at_once, after, by)
        found = [_accepted(in_run(run, feed_id), by) for run in runs.items]
        numbers = accumulate(len(each.items) for each in found)
        fitting = max(1, sum(number <= limit for number in numbers))
        if fitting < len(found):
            found = found[:fitting]
            runs = await _runs_of(store, feed_id, fitting, after, by)
        items = [attempt for one in found for attempt in reversed(one.items)]
        unreadable = (*unreadable, *runs.unreadable, *(name for one in found for name in one.unreadable))
        if items or runs.next is None:
            return Listed(items, runs.next, unreadable)
        after = runs.next
    return Listed([], after, unreadable)


def _accepted(attempts: Listed[Attempt], by: AttemptFilter) -> Listed[Attempt]:
    return replace(attempts, items=[each for each in attempts.items if by.accepts(each)])


async def _runs_of(store: Store, feed_id: str, limit: int, after: str | None, by: AttemptFilter) -> Listed[JobRun]:
    where = (Where("feeds", "contains", feed_id), Where("id", "eq", JobRun.ID), *by.of_runs())
    query = Query(where, order="by_start", reverse=True, limit=limit, after=after)
    return listed(await store.query(RUNS.name, query), read_run, "run_id")
