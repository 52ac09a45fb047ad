"""Hosts: those that keep failing, for all workers, and how all hosts of feeds are listed.

Only connection-level failures and repeated requests to wait count (services/fetch/fetcher.py reports them): many
independent feeds share a host, and a feed's own errors and Retry-After are in the feed's document. The rules are pure;
outages.py stores what they decide. HostListing groups what `GET hosts` lists from the documents of feeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from models.errors import InvalidInput, NotFound
from models.feed import HostState, Outage
from models.resources.feeds import HostFailure, HostResource
from models.values import unix_seconds
from services import telemetry
from services.fetch.limits import HostReport
from services.ports import Clock, Document, Listed, Query, Store, Where, listed_documents, query_all, readable
from services.store.containers import CATALOG, FEEDS

OPENS_AFTER = 5
"""Failures in a row, of all workers together, after which a host cools down."""
COOL_DOWN = timedelta(minutes=1)
LONGEST_COOL_DOWN = timedelta(minutes=30)
KEPT = timedelta(days=1)
"""A host without requests for so long is forgotten."""

_MAX_PAGES = 5


@dataclass(frozen=True, slots=True)
class Cooling:
    """The failing hosts, by name: feeds of hosts in `closed` are not claimed; of a host in `probed`,
    whose cool-down is over, one feed at a time is. During an outage no host cools down, and all feeds wait but a few
    (claims.py)."""

    closed: frozenset[str] = frozenset()
    probed: frozenset[str] = frozenset()
    in_outage: bool = False


@dataclass(frozen=True, slots=True)
class Hosts:
    """What is stored of hosts: those that fail, the last outage, and those that answer with something else."""

    failing: Sequence[HostState] = ()
    outage: Outage | None = None
    wrong: Sequence[HostState] = ()


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
        state = HostState(created_at=now, host=host, failures=0, reason=report.reason)
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


def cooling_of(hosts: Hosts, now: datetime) -> Cooling:
    if hosts.outage is not None and hosts.outage.lasts:
        return Cooling(in_outage=True)
    states = [each for each in hosts.failing if each.open_until is not None]
    closed = frozenset(each.host for each in states if is_cooling(each, now))
    telemetry.record(telemetry.HOSTS_COOLING, len(closed))
    return Cooling(closed, frozenset(each.host for each in states) - closed)


async def stored_hosts(store: Store) -> Hosts:
    """One query within one partition."""
    documents = await query_all(store, CATALOG.name, Query(partition=HostState.PARTITION), most_pages=_MAX_PAGES)
    outage = next((each for each in documents if each["id"] == Outage.ID), None)
    hosts = [each for each in documents if each["entity_type"] == "HostState"]
    states = listed_documents(hosts, HostState.from_document, "host").items
    return Hosts(
        [each for each in states if not each.answers],
        readable(outage, Outage.from_document),
        [each for each in states if each.answers],
    )


HostSort = Literal["feeds", "host"]
"""`feeds`: the hosts with the most feeds first."""
HOST_SORTS: tuple[HostSort, ...] = get_args(HostSort)


class HostListing:
    """Lists and shows the hosts of feeds, and those that fail at present."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def page(
        self,
        limit: int,
        after: str | None = None,
        *,
        text: str | None = None,
        failing: bool | None = None,
        sort: HostSort = HOST_SORTS[0],
        reverse: bool = False,
    ) -> Listed[HostResource]:
        """One page of the hosts whose name has this text, and that fail, or do not fail, at present. A cursor is the
        last host of its page."""
        part = (text or "").strip().lower()
        found = [each for each in await self._grouped(()) if part in each.host]
        hosts = [each for each in found if failing in (None, each.failing is not None)]
        hosts.sort(key=lambda each: (-each.feeds if sort == "feeds" else 0, each.host), reverse=reverse)
        begin = 0
        if after is not None:
            begin = next((number for number, each in enumerate(hosts, 1) if each.host == after), -1)
            if begin < 0:
                raise InvalidInput("cursor", "the next of the page before; its host is not in the list any more")
        page = hosts[begin : begin + limit]
        return Listed(page, page[-1].host if len(hosts) > begin + limit else None)

    async def get(self, host: str) -> HostResource:
        """Raises NotFound for a host that has no feed and does not fail."""
        name = host.strip().lower()
        found = [each for each in await self._grouped((Where("host", "eq", name),)) if each.host == name]
        if not found:
            raise NotFound(f"host: no feed is fetched from {host!r}")
        return found[0]

    async def _grouped(self, where: tuple[Where, ...]) -> list[HostResource]:
        query = Query(where, order="by_host", may_be_stale=True)
        feeds: dict[str, list[Document]] = {}
        for feed in await query_all(self._store, FEEDS.name, query):
            feeds.setdefault(feed["host"], []).append(feed)
        stored, now = await stored_hosts(self._store), self._clock()
        failing = {each.host: HostFailure.of(each, is_cooling=is_cooling(each, now)) for each in stored.failing}
        return [HostResource.of(name, feeds.get(name, ()), failing.get(name)) for name in {**feeds, **failing}]
