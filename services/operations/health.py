"""The health of the app, and that of the cache in detail.

The `judge_*` functions are pure; Health and CacheHealth read their arguments. `GET health` needs no key, so Health
names no address, key or feed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict

from models.cache import (
    PERIODS,
    CacheGeneration,
    CacheMetadata,
    Period,
    SentimentCacheEntry,
    entry_id,
    generation_id,
    hit_rate,
)
from models.errors import ToolpulseError
from models.feed import Feed
from models.operations import Heartbeat
from models.tool import Tool
from models.values import format_time, parse_time
from services.feeds.claims import names_taken
from services.figures.counters import Counters
from services.figures.refresh import last_metadata
from services.operations.heartbeats import STORED_AT_LEAST_EVERY, Heartbeats
from services.ports import (
    Clock,
    Document,
    Listed,
    Query,
    QueueDepth,
    Queues,
    Store,
    Where,
    listed_documents,
    query_all,
    readable,
)
from services.store.containers import FEEDS, SENTIMENT_CACHE
from services.tools.catalog import Catalog
from services.topology import QUEUES, TIMERS, Timer

Status = Literal["healthy", "degraded", "unhealthy"]
_WORST: tuple[Status, ...] = ("healthy", "degraded", "unhealthy")

REPORT_SHARED_SECONDS = 1.0
CHECK_SECONDS = 5.0
JUST_STARTED = timedelta(seconds=60)
FIRST_RUNS_WITHIN = timedelta(minutes=15)
FETCH_OVERDUE = timedelta(hours=1)
REFRESH_OVERDUE = timedelta(minutes=30)
MOST_LISTED = 1000

_ENABLED = Where("enabled", "eq", True)


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: a status, the reason as text, and figures."""

    status: Status
    detail: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        return {"status": self.status, "detail": self.detail, **self.facts}


@dataclass(frozen=True, slots=True)
class HealthReport:
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
    """Unhealthy if a timer has not run in time. A worker that just started gives overdue timers a minute to run."""
    silent: list[str] = []
    waiting: list[str] = []
    failing: list[str] = []
    for timer in timers:
        beat = beats.get(timer.name)
        patience = 2 * timer.every + STORED_AT_LEAST_EVERY
        if beat is None:
            (waiting if now - started < FIRST_RUNS_WITHIN else silent).append(timer.name)
        elif now - beat.last_beat_at > patience:
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


def judge_feeds(active: int, sources_off: Sequence[str], taken: Sequence[str]) -> Check:
    """Degraded if a news API that has a token cannot be polled, because its name is the id of another feed."""
    detail = "feeds that are fetched when due"
    if sources_off:
        detail += f"; off, as they have no token: {', '.join(sources_off)}"
    if taken:
        detail += f"; not polled, as another feed has their id: {', '.join(taken)}"
    return Check("degraded" if taken else "healthy", detail, {"count": active, "sources_off": list(sources_off)})


def judge_last_fetch(any_feed: bool, last_success: datetime | None, started: datetime, now: datetime) -> Check:
    if not any_feed:
        return Check("healthy", "no feeds yet: add one with POST feeds", {"last_success": None})
    facts = {"last_success": format_time(last_success) if last_success else None}
    if now - (last_success or started) <= FETCH_OVERDUE or now - started < JUST_STARTED:
        return Check("healthy", "feeds are being fetched" if last_success else "waiting for the first fetch", facts)
    return Check("degraded", "no fetch of a feed succeeded in the last hour", facts)


def judge_cache(metadata: CacheMetadata | None, started: datetime, now: datetime) -> Check:
    if metadata is None:
        return Check("healthy", "not refreshed yet", {"last_refresh": None})
    refreshed = metadata.last_refresh_at
    facts = {"last_refresh": format_time(refreshed), "entries": metadata.total_entries}
    if now - refreshed <= REFRESH_OVERDUE or now - started < JUST_STARTED:
        return Check("healthy", "refreshed in time", facts)
    return Check("degraded", "the refresh is overdue: entries are served stale", facts)


def judge_entries(
    metadata: CacheMetadata | None, stale: int, unreadable: Sequence[str], started: datetime, now: datetime
) -> Check:
    """As `judge_cache`, with the number of stale entries and the generations that cannot be read: without its
    generation, no entry of a tool can be served. Missing entries are computed when they are read."""
    if unreadable:
        return Check("degraded", f"cannot be read: {', '.join(unreadable)}")
    check = judge_cache(metadata, started, now)
    if check.status != "healthy":
        return check
    if metadata is not None and metadata.last_refresh_status == "PARTIAL":
        return Check("degraded", f"the last refresh is incomplete: see its run {metadata.last_refresh_run_id}")
    return Check("degraded", f"{stale} entries are stale") if stale else check


class Lack(TypedDict):
    """An entry of an active tool that is stale or missing."""

    tool_id: str
    tool: str
    period: Period
    state: Literal["stale", "missing"]


def generations_of(documents: Iterable[Document]) -> Listed[CacheGeneration]:
    found = [each for each in documents if each.get("entity_type") == "CacheGeneration"]
    return listed_documents(found, CacheGeneration.from_document, "id")


def lacks_of(
    tools: Iterable[Tool], documents: Mapping[str, Document], generations: Listed[CacheGeneration], now: datetime
) -> list[Lack]:
    """The stale and missing entries of these tools. An entry of another generation than its tool's is missing. So are
    an entry that cannot be read, and the entries of a tool whose generation cannot be read."""
    found: list[Lack] = []
    known: dict[str, int | None] = {each.id: each.generation for each in generations.items}
    known |= dict.fromkeys(generations.unreadable)
    for tool in tools:
        generation = known.get(generation_id(tool.tool_id), 0)
        for period in PERIODS:
            entry = readable(documents.get(entry_id(tool.tool_id, period)), SentimentCacheEntry.from_document)
            is_missing = entry is None or entry.generation != generation
            if is_missing or (entry is not None and entry.is_stale(now)):
                state: Literal["stale", "missing"] = "missing" if is_missing else "stale"
                found.append(Lack(tool_id=tool.tool_id, tool=tool.primary_name, period=period, state=state))
    return found


class Health:
    """`started` is when this worker started; `sources_on` are the news APIs that have a token, `sources_off` those that
    have none."""

    def __init__(
        self,
        store: Store,
        queues: Queues,
        heartbeats: Heartbeats,
        clock: Clock,
        version: str,
        started: datetime,
        sources_on: Sequence[str] = (),
        sources_off: Sequence[str] = (),
    ) -> None:
        self._store = store
        self._queues = queues
        self._heartbeats = heartbeats
        self._clock = clock
        self._version = version
        self._started = started
        self._sources_on = tuple(sources_on)
        self._sources_off = tuple(sources_off)
        self._latest: tuple[float, asyncio.Task[HealthReport]] | None = None

    async def report(self) -> HealthReport:
        """All checks. Callers within a second share one report."""
        loop = asyncio.get_running_loop()
        if self._latest is None or loop.time() - self._latest[0] > REPORT_SHARED_SECONDS:
            self._latest = (loop.time(), loop.create_task(self._check_all()))
        return await asyncio.shield(self._latest[1])

    async def _check_all(self) -> HealthReport:
        checks: dict[str, Callable[[], Awaitable[Check]]] = {
            "database": self._database,
            "scheduler": self._scheduler,
            "feeds_active": self._feeds_active,
            "last_successful_fetch": self._last_successful_fetch,
            "queues": self._queue_depths,
            "cache": self._cache,
        }
        results = await asyncio.gather(*(_checked(check) for check in checks.values()))
        return HealthReport(dict(zip(checks, results, strict=True)), self._version, self._clock())

    async def _database(self) -> Check:
        await self._store.ping()
        return Check("healthy", "the store answers")

    async def _scheduler(self) -> Check:
        beats = await self._heartbeats.list([timer.name for timer in TIMERS])
        return judge_timers(TIMERS, beats, self._started, self._clock())

    async def _feeds_active(self) -> Check:
        enabled = await self._store.count(FEEDS.name, (_ENABLED,), may_be_stale=True)
        names = (*self._sources_on, *self._sources_off)
        feeds = await self._store.read_many(FEEDS.name, [(name, Feed.ID) for name in names])
        off = [each for each in feeds if each is not None and each.get("kind") in self._sources_off]
        taken = names_taken(self._sources_on, feeds[: len(self._sources_on)])
        return judge_feeds(enabled - sum(each["enabled"] for each in off), self._sources_off, taken)

    async def _last_successful_fetch(self) -> Check:
        active = await self._store.query(
            FEEDS.name, Query((_ENABLED,), limit=1 + len(self._sources_off), may_be_stale=True)
        )
        any_feed = any(each.get("kind") not in self._sources_off for each in active.items)
        latest = await self._store.query(
            FEEDS.name, Query(order="by_last_success", reverse=True, limit=1, may_be_stale=True)
        )
        success = parse_time(latest.items[0]["last_successful_fetch"]) if latest.items else None
        return judge_last_fetch(any_feed, success, self._started, self._clock())

    async def _queue_depths(self) -> Check:
        return judge_queues(await self._queues.depths(QUEUES))

    async def _cache(self) -> Check:
        return judge_cache(await last_metadata(self._store), self._started, self._clock())


async def _checked(check: Callable[[], Awaitable[Check]]) -> Check:
    """A check that fails is unhealthy, and does not stop the others."""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except TimeoutError:
        return Check("unhealthy", f"no answer within {CHECK_SECONDS:.0f} s")
    except ToolpulseError as error:
        return Check("unhealthy", f"the check failed ({type(error).__name__})")


class CacheHealth:
    """`started` is when this worker started."""

    def __init__(self, store: Store, catalog: Catalog, counters: Counters, clock: Clock, started: datetime) -> None:
        self._store = store
        self._catalog = catalog
        self._counters = counters
        self._clock = clock
        self._started = started

    async def report(self) -> dict[str, Any]:
        """CacheMetadata of the last refresh, its fields null before the first, with the counts and entries of now."""
        now = self._clock()
        await self._counters.flush()
        counted = await self._counters.last_24_hours()
        stored = await query_all(self._store, SENTIMENT_CACHE.name, Query(limit=1000, may_be_stale=True))
        documents = {document["id"]: document for document in stored}
        generations = generations_of(stored)
        lacks = lacks_of(await self._catalog.active(), documents, generations, now)
        stale = sum(lack["state"] == "stale" for lack in lacks)
        metadata = readable(documents.get(CacheMetadata.ID), CacheMetadata.from_document)
        check = judge_entries(metadata, stale, generations.unreadable, self._started, now)
        fields = metadata.model_dump(mode="json") if metadata else dict.fromkeys(CacheMetadata.model_fields)
        return {
            "status": check.status,
            "detail": check.detail,
            "id": CacheMetadata.ID,
            "tool_id": CacheMetadata.PARTITION,
            **fields,
            "total_entries": sum("period" in document for document in stored),
            **counted,
            "cache_hit_rate": hit_rate(counted["cache_hits_24h"], counted["cache_misses_24h"]),
            "stale_count": stale,
            "missing_count": len(lacks) - stale,
            "lacking": lacks[:MOST_LISTED],
            **({"unreadable": list(generations.unreadable)} if generations.unreadable else {}),
        }
