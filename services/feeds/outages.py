"""Whether this installation cannot reach the web: then no feed is blamed for its failed fetches.
`HostStates` stores what these rules and those of hosts.py decide.

The rule is over distinct hosts and what is stored, so that all workers see the same. An outage begins when at least
HOSTS_AT_LEAST hosts that began to fail within AT_ONCE still do; when of all hosts that were tried since the first of
them at least SHARE fail; and when they are at least TRIED of all hosts that were tried within AT_ONCE. Two kinds of
failures count: those to connect (lookups, connections, TLS, timeouts); and errors and pages instead of feeds that were
read before, as a proxy gives them, or a page to log in to. Hosts that are dead for long are no evidence, since they did
not begin to fail at once; nor are hosts that answer wrong and of which any feed was read since. The outage lasts until
less than SHARE of the hosts that were tried in the last minutes fail; while none is tried, it lasts.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from models.errors import ChangedMeanwhile, Conflict
from models.feed import Feed, HostState, Outage, host_id
from models.values import format_time, parse_time, unix_seconds
from services.feeds.hosts import Hosts, after_report, stored_hosts
from services.fetch.limits import HostReport
from services.fetch.outcome import NO_ANSWER, FetchStatus
from services.logs import log_event
from services.ports import Document, Query, Store, Where, readable
from services.store.change import change
from services.store.containers import CATALOG, FEEDS

if TYPE_CHECKING:
    from services.feeds.outcome import Failure

log = logging.getLogger("toolpulse.ingest")

HOSTS_AT_LEAST = 3
"""Two hosts may fail at once by chance, or be one server."""
SHARE = 0.8
"""Not all: feeds of the own network may still answer."""
TRIED = 0.6
"""Right after some hosts began to fail, the others may just not have been tried."""
AT_ONCE = timedelta(minutes=20)
"""Longer than the longest interval of a healthy feed."""
RECENT = timedelta(minutes=5)
BEFORE = timedelta(minutes=15)
"""Errors of so long before the first host of the evidence failed are forgiven: a timeout counts as a failure of its
host only when the host has answered nothing for five minutes."""
RETRY = timedelta(minutes=2)
"""The wait after a failure in an outage, and up to twice as long by chance."""
COUNTED_EVERY = timedelta(minutes=1)
KEPT = timedelta(days=1)
"""An outage that is over, or that nobody has looked at, is forgotten after so long."""

WRONG: frozenset[str] = frozenset(
    {
        FetchStatus.SERVER_ERROR,
        FetchStatus.CLIENT_ERROR,
        FetchStatus.UNAUTHORIZED,
        FetchStatus.BLOCKED,
        FetchStatus.NOT_FOUND,
        FetchStatus.GONE,
        FetchStatus.BAD_RESPONSE,
        FetchStatus.REDIRECT_LOOP,
        *("html", "not_a_feed", "not_json", "empty"),
    }
)
"""The kinds of failures that are somebody else's answer, if most hosts give them at once."""
OURS_PERHAPS = NO_ANSWER | WRONG

KNOWN_FOR = timedelta(seconds=30)
"""For how long a worker relies on its list of failing hosts when it looks for those that have succeeded."""
_PAGE = 200
_MAX_PAGES = 5

_ASKED_TO_WAIT = frozenset({"429", "503"})


def failing_lately(hosts: Iterable[HostState], now: datetime) -> list[HostState]:
    """The hosts that failed in the last minutes, each once, those that began to fail first before others."""
    found = [each for each in hosts if each.reason not in _ASKED_TO_WAIT and now - each.updated_at <= RECENT]
    once = {each.host: each for each in found}
    return sorted(once.values(), key=lambda each: each.created_at)


def may_begin(failing: Sequence[HostState], now: datetime) -> list[HostState]:
    """Those of the failing hosts that began to fail at once; none if they are too few."""
    begun = [each for each in failing if now - each.created_at <= AT_ONCE]
    return begun if len(begun) >= HOSTS_AT_LEAST else []


def begun_outage(begun: Sequence[HostState], answered: Mapping[str, datetime], now: datetime) -> Outage | None:
    """The outage that began with the earliest of these hosts for which the rule holds. `answered` is when hosts last
    answered, as far as that is within AT_ONCE."""
    for number, first in enumerate(begun):
        failing = begun[number:]
        if len(failing) < HOSTS_AT_LEAST:
            return None
        answering = _answering(failing, answered, first.created_at)
        tried = len(failing) + _answering(failing, answered, now - AT_ONCE)
        if _is_most(len(failing), answering) and len(failing) >= TRIED * tried:
            return Outage(created_at=now, since=first.created_at, **_evidence(failing, answering))
    return None


def continued_outage(
    outage: Outage, failing: Sequence[HostState], answered: Mapping[str, datetime], now: datetime
) -> Outage:
    """The outage by what was tried in the last minutes: unchanged if nothing was."""
    answering = _answering(failing, answered, now - RECENT)
    if not failing and not answering:
        return outage
    # What the evidence was stays on record.
    changes = _evidence(failing, answering) if _is_most(len(failing), answering) else {"until": now}
    return outage.changed(max(now, outage.updated_at), **changes, ttl_timestamp=unix_seconds(now + KEPT))


def _answering(failing: Sequence[HostState], answered: Mapping[str, datetime], since: datetime) -> int:
    names = {each.host for each in failing}
    return sum(at >= since and host not in names for host, at in answered.items())


def _is_most(failing: int, answering: int) -> bool:
    return failing >= SHARE * (failing + answering)


def _evidence(failing: Sequence[HostState], answering: int) -> dict[str, Any]:
    reasons = Counter(each.reason.partition(":")[0] for each in failing)
    return {"failing": len(failing), "answering": answering, "reasons": dict(reasons)}


def is_news(before: Outage | None, after: Outage) -> bool:
    if before is None or not before.lasts or not after.lasts:
        return True
    return after.updated_at - before.updated_at >= COUNTED_EVERY


class HostStates:
    """What is stored of hosts: those that fail, and the outage for which they are evidence.

    `reports` gives what this worker's requests have shown of hosts since the last call.
    """

    def __init__(self, store: Store, reports: Callable[[], Mapping[str, HostReport]]) -> None:
        self._store = store
        self._reports = reports
        self._failing: frozenset[str] = frozenset()
        self._listed_at: datetime | None = None
        self._outage: Outage | None = None

    @property
    def in_outage(self) -> bool:
        """What this worker relies on until it lists the hosts again."""
        return self._outage is not None and self._outage.lasts

    async def listed(self) -> Hosts:
        found = await stored_hosts(self._store)
        self._outage = found.outage
        return found

    async def noticed(self, feed: Feed, failure: Failure, now: datetime) -> Outage | None:
        """The outage after this failure: its host is stored at once, and the others are looked at. An answer that shows
        nothing of a feed is evidence only if the feed was read before: many wrong URLs may be added at once."""
        if failure.kind not in OURS_PERHAPS:
            return None
        if failure.kind in WRONG:
            if failure.status_code is None:
                return None  # no request was sent: a credential is missing
            await self._note_wrong(feed, failure.kind, now)
        known = self._outage
        if known is not None and known.lasts and timedelta(0) <= now - known.updated_at < COUNTED_EVERY:
            return known
        await self._note_reports(now)
        return await self.judged(await self.listed(), now)

    async def _note_wrong(self, feed: Feed, kind: str, now: datetime) -> None:
        """Stores a wrong answer of the feed's host, at most once a minute. Of two workers the later one counts."""
        if feed.last_successful_fetch is None:
            return
        host, until = feed.host, unix_seconds(now + KEPT)
        wrong = HostState(created_at=now, ttl_timestamp=until, host=host, failures=1, reason=kind, answers=True)
        stored = await self._store.read(CATALOG.name, HostState.PARTITION, wrong.id)
        known = readable(stored, HostState.from_document)
        if known is not None and known.created_at > feed.last_successful_fetch:
            if now - known.updated_at < COUNTED_EVERY:
                return
            wrong = known.changed(now, reason=kind, ttl_timestamp=until)
        await self._store.upsert(CATALOG.name, wrong.to_document())

    def _not_answering(self, failing: Sequence[HostState], answered: Mapping[str, datetime]) -> list[HostState]:
        """Without those that gave wrong answers and of which a feed was read since the first of these."""
        return [
            each
            for each in failing
            if not each.answers or (at := answered.get(each.host)) is None or at < each.created_at
        ]

    async def note(self, now: datetime) -> None:
        """Stores what this worker's requests have shown of hosts, once their feeds are saved. In an outage, they may
        show that it is over."""
        await self._note_reports(now)
        if self.in_outage:
            await self.judged(await self.listed(), now)

    async def _note_reports(self, now: datetime) -> None:
        """Writes only for hosts that fail, and for the first success of a host that failed. Reports are lost with an
        error; the next ones follow soon."""
        reports = self._reports()
        if not reports:
            return
        if self._listed_at is None or not timedelta(0) <= now - self._listed_at < KNOWN_FOR:
            self._failing, self._listed_at = frozenset(each.host for each in (await self.listed()).failing), now
        concerned = {host: each for host, each in reports.items() if each.failures or host in self._failing}
        await asyncio.gather(*(self._note(host, report, now) for host, report in concerned.items()))

    async def _note(self, host: str, report: HostReport, now: datetime) -> None:
        if not report.failures:
            await self._store.delete(CATALOG.name, HostState.PARTITION, host_id(host))
            self._failing -= {host}
            return
        self._failing |= {host}

        def decide(stored: Document | None) -> Document | None:
            state = readable(stored, HostState.from_document)
            after = after_report(host, state, report, now, in_outage=self.in_outage)
            return None if after is None or after is state else after.to_document()

        await change(self._store, CATALOG.name, HostState.PARTITION, host_id(host), decide)

    async def judged(self, hosts: Hosts, now: datetime) -> Outage | None:
        """The outage that lasts now, by what is stored of hosts; None without one. Stores what has changed."""
        outage, failing = hosts.outage, failing_lately((*hosts.wrong, *hosts.failing), now)
        after = outage
        if outage is not None and outage.lasts:
            answered = await self._answered(now - RECENT, len(failing))
            after = continued_outage(outage, self._not_answering(failing, answered), answered, now)
        elif begun := may_begin(failing, now):
            answered = await self._answered(now - AT_ONCE, len(begun))
            after = begun_outage(self._not_answering(begun, answered), answered, now) or outage
        if after is not None and after is not outage and is_news(outage, after):
            await self._store_outage(outage, after)
        self._outage = after
        return after if after is not None and after.lasts else None

    async def _answered(self, since: datetime, failing: int) -> dict[str, datetime]:
        """When hosts last answered since then; not all, if so many did that most do not fail."""
        found: dict[str, datetime] = {}
        after = None
        for _ in range(_MAX_PAGES):
            where = (Where("last_successful_fetch", "ge", format_time(since)),)
            query = Query(where, order="by_last_success", reverse=True, limit=_PAGE, after=after, may_be_stale=True)
            page = await self._store.query(FEEDS.name, query)
            for feed in page.items:
                found.setdefault(feed["host"], parse_time(feed["last_successful_fetch"]))
            after = page.next
            if after is None or len(found) > 2 * failing + 1:
                break
        return found

    async def _store_outage(self, before: Outage | None, after: Outage) -> None:
        """If another worker stores it first, that is as good."""
        with suppress(Conflict, ChangedMeanwhile):
            if before is None:
                await self._store.create(CATALOG.name, after.to_document())
            else:
                await self._store.replace(CATALOG.name, after.to_document(), before.stored_etag or "")
        if after.lasts:
            facts = {"failing": after.failing, "answering": after.answering, "reasons": after.reasons}
            log_event(log, logging.ERROR, "web_unreachable", since=format_time(after.since), **facts)
        else:
            log_event(log, logging.WARNING, "web_reachable", since=format_time(after.since))
