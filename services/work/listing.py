"""Which runs and attempts a list has. The filters and orders of runs are served by indexes (containers.py)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate

from models.errors import InvalidInput
from models.run import STAGE_WORKFLOWS, Attempt, JobRun, read_run
from models.values import format_time, parse_time
from services.ports import Listed, Operator, Query, Store, Where, listed
from services.store.containers import RUNS
from services.work.rules import in_run

_CONDITIONS: Mapping[str, tuple[str, Operator]] = {
    "workflow": ("workflow_name", "eq"),
    "status": ("status", "eq"),
    "subject": ("subject", "eq"),
    "feed": ("feeds", "contains"),
    "since": ("started_at", "ge"),
    "until": ("started_at", "lt"),
}
BEGUN_WITHIN = timedelta(days=1)
"""An attempt begins within this time after its run: later, its feed was fetched by another run."""
_ID = re.compile(r"[^\x00-\x1f/\\?#]{1,200}")


@dataclass(frozen=True, slots=True)
class AttemptFilter:
    """Which attempts: those with `status`, begun from `since` until before `until`."""

    status: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def of_runs(self) -> tuple[Where, ...]:
        """Conditions that every ingestion run with such an attempt meets."""
        since = self.since if self.since is not None and self.since.year > 1 else None
        earliest = () if since is None else (Where("started_at", "ge", format_time(since - BEGUN_WITHIN)),)
        latest = () if self.until is None else (Where("started_at", "lt", format_time(self.until)),)
        return (*earliest, *latest)

    def accepts(self, attempt: Attempt) -> bool:
        return (
            self.status in (None, attempt.status)
            and (self.since is None or attempt.started_at >= self.since)
            and (self.until is None or attempt.started_at < self.until)
        )


EVERY_ATTEMPT = AttemptFilter()


def run_filter(given: Mapping[str, str]) -> tuple[Where, ...]:
    """The conditions of the filters by their names, whose choices the endpoint has checked. Raises InvalidInput that
    names the filter and what is allowed."""
    for name in ("subject", "feed"):
        if name in given and not _ID.fullmatch(given[name]):
            raise InvalidInput(name, "an id")
    since, until = asked_span(given)
    values = {**given, **{name: format_time(at) for name, at in (("since", since), ("until", until)) if at is not None}}
    return tuple(Where(*_CONDITIONS[name], value) for name, value in values.items())


def attempt_filter(given: Mapping[str, str]) -> AttemptFilter:
    """The filters by their names, whose choices the endpoint has checked. Raises InvalidInput that names the filter and
    what is allowed."""
    return AttemptFilter(given.get("status"), *asked_span(given))


def asked_time(field: str, text: str) -> datetime:
    """The time in a query parameter. Raises InvalidInput."""
    try:
        # A plus sign that was not escaped arrives as a space.
        return parse_time(text.replace(" ", "+"))
    except ValueError as error:
        raise InvalidInput(field, str(error)) from None


def asked_span(given: Mapping[str, str]) -> tuple[datetime | None, datetime | None]:
    """The times `since` and `until` of a query, if they are given. Raises InvalidInput."""
    since, until = (asked_time(name, given[name]) if name in given else None for name in ("since", "until"))
    if since is not None and until is not None and until <= since:
        raise InvalidInput("until", "a time after since")
    return since, until


_RUNS_AT_ONCE = 100
_MAX_PAGES = 20
"""Pages of runs that one list reads to find attempts that its filter accepts. It then ends early, with a cursor."""


async def page_of_runs(
    store: Store, limit: int, after: str | None, by: Sequence[Where] = (), *, with_quiet: bool = True
) -> Listed[JobRun]:
    """The runs that meet these conditions, newest first. Quiet runs, which brought nothing new, are left out unless
    `with_quiet`, or if the runs of a stage are asked for."""
    of_stage = any(each.field == "workflow_name" and each.value in STAGE_WORKFLOWS for each in by)
    quiet = () if with_quiet or of_stage else (Where("is_quiet", "missing"),)
    where = (Where("id", "eq", JobRun.ID), *by, *quiet)
    order = "by_subject" if any(each.field == "subject" for each in by) else "by_start"
    query = Query(where, order=order, reverse=True, limit=limit, after=after, may_be_stale=True)
    return listed(await store.query(RUNS.name, query), read_run, "run_id")


async def history(
    store: Store, feed_id: str, limit: int, after: str | None, by: AttemptFilter = EVERY_ATTEMPT
) -> Listed[Attempt]:
    """The attempts at a feed in all runs that the filter accepts, newest first. A page ends with a run, so it may have
    fewer than `limit`; it has more if the first run alone has more."""
    at_once = limit if by == EVERY_ATTEMPT else max(limit, _RUNS_AT_ONCE)
    unreadable: tuple[str, ...] = ()
    for _ in range(_MAX_PAGES):
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
