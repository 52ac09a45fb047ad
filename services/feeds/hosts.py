"""Hosts that keep failing, for all workers: when a host cools down, and when one feed may probe it.

Only connection-level failures and repeated requests to wait count (services/fetch/fetcher.py reports them): many
independent feeds share a host, and a feed's own errors and Retry-After are in the feed's document. The rules are pure;
HostStates stores what they decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.host import HostState, Outage, host_id
from models.values import unix_seconds
from services import telemetry
from services.fetch.addresses import checked_url, host_key
from services.fetch.limits import HostReport
from services.ports import Document, Query, Store, listed_documents, query_all, readable
from services.store.change import change
from services.store.containers import CATALOG

OPENS_AFTER = 5
"""Failures in a row, of all workers together, after which a host cools down."""
COOL_DOWN = timedelta(minutes=1)
LONGEST_COOL_DOWN = timedelta(minutes=30)
KEPT = timedelta(days=1)
"""A host without requests for so long is forgotten."""

KNOWN_FOR = timedelta(seconds=30)
"""For how long a worker relies on its list of failing hosts when it looks for those that have succeeded."""
_PAGE = 1000
_MOST_PAGES = 5


@dataclass(frozen=True, slots=True)
class Cooling:
    """The failing hosts, by their keys (`host_of`): feeds of hosts in `closed` are not claimed; of a host in `probed`,
    whose cool-down is over, one feed at a time is. During an outage no host cools down, and all feeds wait but a few
    (claims.py)."""

    closed: frozenset[str] = frozenset()
    probed: frozenset[str] = frozenset()
    in_outage: bool = False


@dataclass(frozen=True, slots=True)
class Hosts:
    """What is stored of hosts: those that fail, and the last outage."""

    failing: Sequence[HostState] = ()
    outage: Outage | None = None


def host_of(url: str) -> str:
    """The key of a URL's host; empty for a text that is not a URL."""
    checked = checked_url(url)
    return "" if isinstance(checked, str) else host_key(checked)


def is_cooling(state: HostState, now: datetime) -> bool:
    """An end that is further away than the longest cool-down was written by a wrong clock, and does not count."""
    return state.open_until is not None and now < state.open_until <= now + LONGEST_COOL_DOWN


def after_report(
    host: str, state: HostState | None, report: HostReport, now: datetime, *, in_outage: bool = False
) -> HostState | None:
    """The state of the host after the report; None after a success without later failures. In an outage, no host cools
    down: it would be left alone for long once the web is back.

    Failures during a cool-down change nothing: their requests were sent before it began. Each cool-down is twice as
    long as the one before.
    """
    if not report.failures:
        return None
    if report.succeeded or state is None:
        state = HostState(created_at=now, updated_at=now, host=host, failures=0, reason=report.reason)
    elif is_cooling(state, now) and not in_outage:
        return state
    failures = state.failures + report.failures
    changes = {"failures": failures, "reason": report.reason, "ttl_timestamp": unix_seconds(now + KEPT)}
    if in_outage:
        return state.changed(now, **changes, open_until=None, openings=0)
    if failures < OPENS_AFTER:
        return state.changed(now, **changes)
    pause = max(COOL_DOWN * 2 ** min(state.openings, 10), timedelta(seconds=report.retry_after))
    until = now + min(pause, LONGEST_COOL_DOWN)
    return state.changed(now, **changes, open_until=until, openings=state.openings + 1)


class HostStates:
    """`reports` gives what this worker's requests have shown of hosts since the last call."""

    def __init__(self, store: Store, reports: Callable[[], Mapping[str, HostReport]]) -> None:
        self._store = store
        self._reports = reports
        self._known: frozenset[str] = frozenset()
        self._known_at: datetime | None = None
        self.in_outage = False

    def cooling(self, hosts: Hosts, now: datetime) -> Cooling:
        if hosts.outage is not None and hosts.outage.lasts:
            return Cooling(in_outage=True)
        states = [each for each in hosts.failing if each.open_until is not None]
        closed = frozenset(each.host for each in states if is_cooling(each, now))
        telemetry.record(telemetry.HOSTS_COOLING, len(closed))
        return Cooling(closed, frozenset(each.host for each in states) - closed)

    async def listed(self) -> Hosts:
        """One query within one partition."""
        query = Query(partition=HostState.PARTITION, limit=_PAGE)
        documents = await query_all(self._store, CATALOG.name, query, most_pages=_MOST_PAGES)
        outage = next((each for each in documents if each["id"] == Outage.ID), None)
        failing = [each for each in documents if each["entity_type"] == "HostState"]
        found = Hosts(
            listed_documents(failing, HostState.from_document, "host").items,
            readable(outage, Outage.from_document),
        )
        self.note_outage(found.outage)
        return found

    def note_outage(self, outage: Outage | None) -> None:
        """What this worker relies on when it stores failures, until it lists the hosts again."""
        self.in_outage = outage is not None and outage.lasts

    async def note(self, now: datetime) -> None:
        """Stores what this worker's requests have shown since the last call. Writes only for hosts that fail, and for
        the first success of a host that failed. Reports are lost with an error; the next ones follow soon."""
        reports = self._reports()
        if not reports:
            return
        if self._known_at is None or not timedelta(0) <= now - self._known_at < KNOWN_FOR:
            self._known, self._known_at = frozenset(each.host for each in (await self.listed()).failing), now
        concerned = {host: each for host, each in reports.items() if each.failures or host in self._known}
        await asyncio.gather(*(self._note(host, report, now) for host, report in concerned.items()))

    async def _note(self, host: str, report: HostReport, now: datetime) -> None:
        if not report.failures:
            await self._store.delete(CATALOG.name, HostState.PARTITION, host_id(host))
            self._known -= {host}
            return
        self._known |= {host}

        def decide(stored: Document | None) -> Document | None:
            state = readable(stored, HostState.from_document)
            after = after_report(host, state, report, now, in_outage=self.in_outage)
            return None if after is None or after is state else after.to_document()

        await change(self._store, CATALOG.name, HostState.PARTITION, host_id(host), decide)
