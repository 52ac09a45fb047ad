"""Hosts that fail, counted over all workers: when they cool down, when they are probed, what is stored."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from models.feed import HostState
from services.feeds.hosts import (
    COOL_DOWN,
    KEPT,
    LONGEST_COOL_DOWN,
    OPENS_AFTER,
    Cooling,
    after_report,
    cooling_of,
    is_cooling,
)
from services.feeds.outages import KNOWN_FOR, HostStates
from services.fetch.limits import HostReport
from services.ports import Document
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests.builders import NOON
from tests.documents import host_state

HOST = "news.example"
FAILED = HostReport(failures=1, reason="timeout")
SUCCEEDED = HostReport(succeeded=True)


def state(failures: int, **changes: object) -> HostState:
    return host_state(**{"host": HOST, "failures": failures, "openings": 0, "open_until": None} | changes)


def failed(before: HostState | None, report: HostReport = FAILED, now: datetime = NOON) -> HostState:
    """The state after a report of failures."""
    after = after_report(HOST, before, report, now)
    assert after is not None
    return after


def test_the_limits() -> None:
    assert (5, timedelta(minutes=1), timedelta(minutes=30)) == (OPENS_AFTER, COOL_DOWN, LONGEST_COOL_DOWN)
    assert (timedelta(days=1), timedelta(seconds=30)) == (KEPT, KNOWN_FOR)


def test_a_success_leaves_no_state() -> None:
    assert after_report(HOST, state(9), SUCCEEDED, NOON) is None


def test_failures_add_up_and_the_fifth_begins_a_cool_down() -> None:
    first = failed(None, HostReport(failures=3, reason="timeout"))
    assert (first.host, first.failures, first.open_until, first.reason) == (HOST, 3, None, "timeout")
    fourth = failed(first, HostReport(failures=1, reason="dns"))
    assert (fourth.failures, fourth.open_until, fourth.openings, fourth.reason) == (4, None, 0, "dns")
    fifth = failed(fourth)
    assert (fifth.failures, fifth.open_until, fifth.openings) == (5, NOON + COOL_DOWN, 1)


def test_failures_after_a_success_are_counted_from_one() -> None:
    after = failed(state(4), HostReport(succeeded=True, failures=1, reason="reset"))
    assert (after.failures, after.open_until) == (1, None)


def test_each_probe_that_fails_doubles_the_cool_down_up_to_the_longest() -> None:
    current, now, pauses = state(4), NOON, []
    for _ in range(8):
        after = failed(current, FAILED, now)
        assert after.open_until is not None
        pauses.append((after.open_until - now).total_seconds() / 60)
        assert is_cooling(after, now)
        current, now = after, after.open_until
        assert not is_cooling(after, now)
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize(("asked", "seconds"), [(0.0, 60), (300.0, 300), (1e9, 1800)])
def test_a_cool_down_is_as_long_as_the_host_asked_for_within_bounds(asked: float, seconds: int) -> None:
    after = failed(None, HostReport(failures=5, reason="429", retry_after=asked))
    assert after.open_until == NOON + timedelta(seconds=seconds)


def test_an_end_that_a_wrong_clock_wrote_does_not_count() -> None:
    ahead = state(5, openings=1, open_until=NOON + LONGEST_COOL_DOWN + timedelta(seconds=1))
    assert not is_cooling(ahead, NOON)
    assert is_cooling(ahead, NOON + timedelta(seconds=1))
    after = failed(ahead)
    assert after.open_until == NOON + 2 * COOL_DOWN, "the next failure corrects it"


class Worker:
    """One process: what its requests showed, and what it stores of it."""

    def __init__(self, store: SqliteStore) -> None:
        self.reports: dict[str, HostReport] = {}
        self.states = HostStates(store, self._take)

    def _take(self) -> dict[str, HostReport]:
        taken, self.reports = self.reports, {}
        return taken


async def stored(store: SqliteStore, host: str = HOST) -> Document | None:
    return await store.read(CATALOG.name, HostState.PARTITION, host_state(host=host).id)


async def cooling(states: HostStates, now: datetime) -> Cooling:
    return cooling_of(await states.listed(), now)


async def test_once_the_cool_down_is_over_the_host_may_be_probed(store: SqliteStore) -> None:
    worker = Worker(store)
    worker.reports = {HOST: HostReport(failures=5, reason="timeout"), "b.example": FAILED}
    await worker.states.note(NOON)
    assert await cooling(worker.states, NOON + COOL_DOWN) == Cooling(probed=frozenset({HOST}))
    document = await stored(store)
    assert document is not None
    await store.upsert(CATALOG.name, document | {"open_until": "2027-02-21T12:00:00Z"})
    assert await cooling(worker.states, NOON) == Cooling(probed=frozenset({HOST})), "a clock was wrong"


async def test_the_first_success_deletes_the_host_whichever_worker_sees_it(store: SqliteStore) -> None:
    one, other = Worker(store), Worker(store)
    one.reports = {HOST: HostReport(failures=5, reason="timeout")}
    await one.states.note(NOON)
    other.reports = {HOST: SUCCEEDED}
    await other.states.note(NOON)
    assert await stored(store) is None
    one.reports = {HOST: SUCCEEDED}
    await one.states.note(NOON)


async def test_a_worker_learns_within_half_a_minute_which_hosts_fail(store: SqliteStore) -> None:
    one, other = Worker(store), Worker(store)
    other.reports = {HOST: SUCCEEDED}
    await other.states.note(NOON)
    one.reports = {HOST: FAILED}
    await one.states.note(NOON)
    other.reports = {HOST: SUCCEEDED}
    await other.states.note(NOON + KNOWN_FOR - timedelta(seconds=1))
    assert await stored(store) is not None
    other.reports = {HOST: SUCCEEDED}
    await other.states.note(NOON + KNOWN_FOR)
    assert await stored(store) is None
    one.reports = {HOST: FAILED}
    await one.states.note(NOON)
    other.reports = {HOST: SUCCEEDED}
    await other.states.note(NOON - timedelta(days=1))
    assert await stored(store) is None, "also if the clock was set back"


async def test_workers_that_report_at_the_same_time_lose_no_host(store: SqliteStore) -> None:
    workers = [Worker(store) for _ in range(3)]
    for worker in workers:
        worker.reports = {HOST: HostReport(failures=2, reason="timeout")}
    await asyncio.gather(*(worker.states.note(NOON) for worker in workers))
    document = await stored(store)
    assert document is not None
    assert document["failures"] == 6
    assert (await cooling(workers[0].states, NOON)).closed == {HOST}
