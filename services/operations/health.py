"""The health of the app: what is broken, and whether the figures are right.

The `judge_*` functions are pure; Health reads their arguments, with as many reads for many feeds as for few. `GET
health` needs no key, so Health names no address, key, feed, tool or article. It names a file only that a person must
repair.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from models.cache import CacheMetadata, LastRefresh
from models.errors import ToolpulseError, Unavailable, Unusable
from models.feed import Outage
from models.operations import Audit, Heartbeat, StagePause
from models.values import CLOCKS_DIFFER, format_time, is_ahead
from services.feeds.claims import overdue_claims
from services.figures.metadata import last_refreshes
from services.mentions.due import DirtyTools, dirty_tools
from services.operations.checks import (
    STORED_AT_LEAST_EVERY,
    Check,
    Heartbeats,
    Status,
    judge_clock,
    judge_reviews,
    waiting_reviews,
)
from services.operations.feed_health import (
    NO_SUCCESS_FOR,
    count_feeds,
    judge_feeds,
    judge_web,
    last_success,
)
from services.operations.traffic import Load, StoreTraffic
from services.ports import Archive, Clock, Query, QueueDepth, Queues, Store, Where, readable
from services.store.containers import CATALOG, DOCUMENTS
from services.topology import ANALYZE_ARTICLES, QUEUES, REFRESH_TOOLS, TIMERS, Timer
from services.work.backlog import Backlog, BacklogReader, pause_of

T = TypeVar("T")
_WORST: tuple[Status, ...] = ("healthy", "degraded", "unhealthy")

REPORT_SHARED_SECONDS = 1.0
CHECK_SECONDS = 5.0
BACKLOG_SECONDS = 4.0
ARCHIVE_SECONDS = 4.0
JUST_STARTED = timedelta(seconds=60)
FIRST_RUNS_WITHIN = timedelta(minutes=15)
FETCH_OVERDUE = timedelta(hours=1)
REFRESH_OVERDUE = timedelta(minutes=30)
BACKLOG_OVERDUE = timedelta(minutes=2)
REFUSED_AT_LEAST = 10
REFUSED_SHARE = 0.01
RECORDED = ("scheduler", "clock", "web", "feeds_active", "last_successful_fetch", "audit")


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """What the check of the cache reads."""

    metadata: CacheMetadata | None
    last: LastRefresh | None
    dirty: DirtyTools


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The report of the app's health."""

    checks: Mapping[str, Check]
    version: str
    timestamp: datetime

    @property
    def status(self) -> Status:
        return max((check.status for check in self.checks.values()), key=_WORST.index)

    def shown(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "checks": {name: check.shown() for name, check in self.checks.items()},
            "version": self.version,
            "timestamp": format_time(self.timestamp),
        }


def judge_timers(timers: Sequence[Timer], beats: Mapping[str, Heartbeat], started: datetime, now: datetime) -> Check:
    """Unhealthy if a timer has not run in time, or only by a clock that was ahead. A worker that just started gives
    overdue timers a minute to run."""
    silent: list[str] = []
    waiting: list[str] = []
    failing: list[str] = []
    for timer in timers:
        beat = beats.get(timer.name)
        patience = 2 * timer.every + STORED_AT_LEAST_EVERY
        if beat is None:
            (waiting if now - started < FIRST_RUNS_WITHIN else silent).append(timer.name)
        elif now - beat.last_beat_at > patience or is_ahead(beat.last_beat_at, now):
            (waiting if now - started < JUST_STARTED else silent).append(timer.name)
        elif beat.is_failing:
            failing.append(timer.name)
    facts = {
        "timers": {name: format_time(beat.last_succeeded_at) for name, beat in beats.items() if beat.last_succeeded_at}
    }
    if silent:
        return Check("unhealthy", f"no run in time: {', '.join(silent)}", facts)
    if failing:
        return Check("degraded", f"the last run failed: {', '.join(failing)}", facts)
    if waiting:
        return Check("healthy", f"waiting for the first run since the start: {', '.join(waiting)}", facts)
    return Check("healthy", "all timers run", facts)


def judge_queues(depths: Sequence[QueueDepth]) -> Check:
    """Degraded while there are poison messages: their work is not done, and a person must decide what to do."""
    poisoned = [depth.name for depth in depths if depth.poison]
    facts = {
        "messages": {depth.name: depth.messages for depth in depths},
        "poison": {depth.name: depth.poison for depth in depths if depth.poison},
    }
    if poisoned:
        return Check("degraded", f"poison messages in {', '.join(poisoned)}: see GET queues, then redrive", facts)
    return Check("healthy", "no poison messages", facts)


def judge_no_active_feed(any_stored: bool) -> Check:
    """A new app without feeds is not ill; one whose feeds are all disabled is."""
    if any_stored:
        return Check("degraded", "no feed is enabled, so nothing is fetched", {"last_success": None})
    return Check("healthy", "no feeds yet: add one with POST feeds", {"last_success": None})


def judge_last_fetch(last_success: datetime | None, started: datetime, now: datetime) -> Check:
    facts = {"last_success": format_time(last_success) if last_success else None}
    if now - (last_success or started) <= FETCH_OVERDUE or now - started < JUST_STARTED:
        return Check("healthy", "feeds are being fetched" if last_success else "waiting for the first fetch", facts)
    return Check("degraded", "no fetch of a feed succeeded in the last hour", facts)


def judge_backlog(backlog: Backlog, started: datetime, now: datetime, pause: StagePause | None = None) -> Check:
    """Degraded if the analysis pauses, if one has been due for too long, or if an article could not be analysed:
    figures lack it then. A worker that just started gives others a minute to catch up."""
    oldest = backlog.oldest_seconds(now)
    pause = None if backlog.pending == 0 else pause  # the next article shows whether the service answers
    facts = {
        "pending_articles": backlog.pending,
        "failed_articles": backlog.failed,
        "oldest_pending_seconds": oldest,
        "paused_since": None if pause is None else format_time(pause.created_at),
        "pause_reason": None if pause is None else pause.reason,
    }
    if backlog.pending is None:
        return Check(
            "degraded", f"could not be counted within {BACKLOG_SECONDS:.0f} s: the store is slow or fails", facts
        )
    details = []
    if pause is not None:
        since = format_time(pause.created_at)
        details.append(f"{backlog.pending} articles wait since {since} for a service: {pause.reason}")
    elif oldest > BACKLOG_OVERDUE.total_seconds() and now - started >= JUST_STARTED:
        details.append(
            f"{backlog.pending} articles wait for their analysis, the first for {oldest} s: see {ANALYZE_ARTICLES} in"
            " GET queues"
        )
    if backlog.failed:
        details.append(
            f"{backlog.failed} articles could not be analysed: see GET articles?status=error, then redrive"
            f" {ANALYZE_ARTICLES}"
        )
    return Check("degraded" if details else "healthy", "; ".join(details) or "articles are analysed in time", facts)


def judge_cache(state: CacheFacts, started: datetime, now: datetime, stale: int = 0) -> Check:
    """Degraded if the last refresh failed, if none has succeeded for too long, if a tool has waited for too long to be
    recounted, or if this number of entries is stale. Missing entries are computed when they are read."""
    refreshed = state.metadata.last_refresh_at if state.metadata else None
    if refreshed is not None and is_ahead(refreshed, now):
        refreshed = None
    facts = {
        "last_refresh": format_time(refreshed) if refreshed else None,
        "last_refresh_status": state.last.status if state.last else None,
        "failed_tools": state.last.failed_tools_count if state.last else 0,
        "entries": state.metadata.total_entries if state.metadata else 0,
        "dirty_tools": state.dirty.tools,
        "unscored_mentions": state.metadata.mentions_7d.get("unscored", 0) if state.metadata else 0,
        "mostly_unscored_tools": state.metadata.mostly_unscored_count if state.metadata else 0,
    }
    details = []
    if state.last is not None and state.last.status != "SUCCEEDED":
        details.append(
            f"the last refresh was {state.last.status}, {state.last.failed_tools_count} tools were not refreshed: see"
            " GET cache/health"
        )
    if now - started >= JUST_STARTED:
        if now - (refreshed or started) > REFRESH_OVERDUE:
            details.append("the refresh is overdue: entries are served stale")
        if state.dirty.since is not None and now - state.dirty.since > BACKLOG_OVERDUE:
            seconds = int((now - state.dirty.since).total_seconds())
            details.append(
                f"{state.dirty.tools} tools have mentions that are not counted, for {seconds} s: see {REFRESH_TOOLS} in"
                " GET queues"
            )
    if stale and not details:
        details.append(f"{stale} entries are stale")
    if details:
        return Check("degraded", "; ".join(details), facts)
    well = "refreshed in time" if refreshed else "not refreshed yet"
    if facts["mostly_unscored_tools"]:
        # No fault of the app: the analyzer does not know the languages of these articles.
        well += f"; most mentions of {facts['mostly_unscored_tools']} tools are unscored: see GET cache/health"
    return Check("healthy", well, facts)


def judge_store(load: Load | None) -> Check:
    """Degraded if the store refused a share of the requests of the last minutes, because they exceeded its throughput.
    `load` is None for a store that refuses none."""
    if load is None:
        return Check("healthy", "the store answers")
    facts = {"requests": load.requests, "refused": load.refused, "waited_seconds": round(load.waited_seconds, 1)}
    if load.refused > max(REFUSED_AT_LEAST, REFUSED_SHARE * load.requests):
        return Check("degraded", "the store answers, and is throttled: raise its throughput", facts)
    return Check("healthy", "the store answers", facts)


def judge_audit(audit: Audit | None) -> Check:
    """Degraded if the last round of the audit found differences."""
    last = None if audit is None else audit.last
    if last is None:
        nothing: dict[str, Any] = {"differences": {}, "last_ended": None, "checked": 0}
        return Check("healthy", "the first audit has not ended yet", nothing)
    ended = format_time(last.ended_at) if last.ended_at else None
    facts = {"differences": last.found, "last_ended": ended, "checked": last.checked}
    if not last.found:
        return Check("healthy", "no differences", facts)
    found = ", ".join(f"{number} {kind}" for kind, number in sorted(last.found.items()))
    remedy = "`toolpulse audit` lists them, `toolpulse tools reanalyze TOOL` counts a tool anew"
    return Check("degraded", f"stored documents differ: {found}: {remedy}", facts)


@dataclass
class Health:
    """Checks the health of the app.

    `started` is when this worker started; `sources_off` are the news APIs that have no token.
    """

    store: Store
    queues: Queues
    archive: Archive
    heartbeats: Heartbeats
    backlog: BacklogReader
    traffic: StoreTraffic
    clock: Clock
    version: str
    started: datetime
    sources_off: Sequence[str] = ()
    _archive_is_used: bool = field(default=False, init=False)
    _latest: tuple[float, asyncio.Task[HealthReport]] | None = field(default=None, init=False)

    async def report(self) -> HealthReport:
        """All checks. Callers within a second share one report."""
        loop = asyncio.get_running_loop()
        if self._latest is None or loop.time() - self._latest[0] > REPORT_SHARED_SECONDS:
            self._latest = (loop.time(), loop.create_task(self._check_all()))
        return await asyncio.shield(self._latest[1])

    async def _check_all(self) -> HealthReport:
        checks: dict[str, Callable[[], Awaitable[Check]]] = {
            "database": self._database,
            "queues": self._queue_depths,
            "analysis": self._analysis,
            "cache": self._cache,
            "archive": self._full_texts,
            "quarantine": self._reviews,
        }
        self.started = min(self.started, self.clock())  # else a clock that was ahead would excuse what is overdue
        own = asyncio.gather(*map(_checked, checks.values()))
        recorded = await _checked(self._recorded)
        shared = dict.fromkeys(RECORDED, recorded) if isinstance(recorded, Check) else recorded
        return HealthReport({**dict(zip(checks, await own, strict=True)), **shared}, self.version, self.clock())

    async def _recorded(self) -> dict[str, Check]:
        """The checks of what timers, polls and audits have recorded, which share their reads."""
        now = self.clock()
        overdue_since = now - NO_SUCCESS_FOR if now - self.started >= FIRST_RUNS_WITHIN else None
        keys = [(Outage.PARTITION, Outage.ID), (Audit.PARTITION, Audit.ID)]
        feeds, latest, beats, documents, waiting = await asyncio.gather(
            count_feeds(self.store, overdue_since),
            last_success(self.store),
            self.heartbeats.list([timer.name for timer in TIMERS]),
            self.store.read_many(CATALOG.name, keys, may_be_stale=True),
            overdue_claims(self.store, now - BACKLOG_OVERDUE),
        )
        real = latest
        if latest is not None and is_ahead(latest, now):
            until = Where("last_successful_fetch", "le", format_time(now + CLOCKS_DIFFER))
            real = await last_success(self.store, until)
        outage = readable(documents[0], Outage.from_document)
        is_cut_off = outage is not None and outage.lasts
        checks = (
            judge_timers(TIMERS, beats, self.started, now),
            judge_clock(beats, latest, now),
            judge_web(outage, now),
            judge_feeds(feeds, real, self.sources_off, now, is_cut_off=is_cut_off, waiting=waiting),
            judge_last_fetch(real, self.started, now) if feeds.enabled else judge_no_active_feed(bool(feeds.stored)),
            judge_audit(readable(documents[1], Audit.from_document)),
        )
        return dict(zip(RECORDED, checks, strict=True))

    async def _database(self) -> Check:
        await self.store.ping()
        return judge_store(await self.traffic.recent())

    async def _analysis(self) -> Check:
        backlog = await self.backlog.counted(BACKLOG_SECONDS)
        pause = await pause_of(self.store, self.backlog.stage) if backlog.pending else None
        return judge_backlog(backlog, self.started, self.clock(), pause)

    async def _queue_depths(self) -> Check:
        return judge_queues(await self.queues.depths(QUEUES))

    async def _full_texts(self) -> Check:
        """An archive that nothing uses is not asked."""
        if not self._archive_is_used:
            found = await self.store.query(DOCUMENTS.name, Query(limit=1, may_be_stale=True))
            self._archive_is_used = bool(found.items)
        if not self._archive_is_used:
            return Check("healthy", "no full text is kept")
        try:
            async with asyncio.timeout(ARCHIVE_SECONDS):
                await self.archive.ping()
        except (TimeoutError, Unavailable):
            return Check("degraded", "the archive cannot be reached, so no full text is read or stored")
        return Check("healthy", "the archive answers")

    async def _reviews(self) -> Check:
        return judge_reviews(await waiting_reviews(self.store), self.clock())

    async def _cache(self) -> Check:
        metadata, last = await last_refreshes(self.store)
        state = CacheFacts(metadata, last, await dirty_tools(self.store))
        return judge_cache(state, self.started, self.clock())


async def _checked(check: Callable[[], Awaitable[T]]) -> T | Check:
    """A check that fails is unhealthy, and does not stop the others."""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except TimeoutError:
        return Check("unhealthy", f"no answer within {CHECK_SECONDS:.0f} s")
    except Unusable as error:
        return Check("unhealthy", str(error))
    except ToolpulseError as error:
        return Check("unhealthy", f"the check failed ({type(error).__name__})")
