"""Claims the feeds that are due: chooses them fairly among hosts, groups them by host, and spreads them over the tick.

A claim is an ingestion run that is not over: the feeds that it is yet to fetch are in no other run. Of their hosts, a
tick claims no other feeds; once the run has lasted for a tick, as many as the limit of requests to the host allows over
all workers, so that a feed that hangs keeps no other waiting. A claim writes nothing to feeds. If two callers
claim a feed at the same moment, both runs fetch it, and one of them saves it. Runs are due work of services/work: their
messages are sent after they are stored, and again if they are lost.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from models.errors import Conflict, NotFound
from models.feed import FEED_KIND, Feed
from models.run import INGEST_FEEDS, IngestionBatch
from models.values import format_time, is_ahead, parse_time
from services.feeds.hosts import Cooling, cooling_of
from services.feeds.news_apis import EnabledApi
from services.feeds.outages import HostStates
from services.feeds.schedule import LONGEST_BACKOFF
from services.fetch.limits import most_at_once
from services.logs import log_event
from services.ports import Document, Query, Store, Where, listed_documents, query_all
from services.settings import Settings
from services.store.containers import FEEDS, RUNS
from services.topology import INGEST_FEEDS as QUEUE
from services.work.announcing import Announcer
from services.work.runs import LEASE, RunEngine, run_stage

log = logging.getLogger("toolpulse.ingest")

TICK_SECONDS = 30
HELD = timedelta(hours=1)
"""So long an open run keeps its feeds and their hosts from other runs: one that fails again and again must not stop
them for good."""
SCANNED_PAGES = 5
MAX_FEEDS = 12
"""The most feeds in one message, unless they are of one host."""
MAX_OF_HOST = 200
"""The most feeds of one host that a tick claims, so that the backlog of one host does not keep all others waiting."""

FEW_FEEDS = 10
"""So few feeds are sent at once: each message costs an execution, and their load is small."""
AFTER_TICK_SECONDS, BEFORE_TICK_SECONDS = 1.0, 3.0
"""No messages are sent so soon after a tick or before the next: a tick itself costs as much as seconds of fetches."""
NEW_PER_SECOND = 20
"""Feeds that were never fetched do not wait for the whole tick."""

SAMPLED_IN_OUTAGE = 20
MAX_PROBES = 50
"""Disabled feeds that are tried again at one tick."""
RARELY = timedelta(minutes=5)
"""How often a worker also looks for the few feeds whose next fetch does not show that they are due."""

_ENABLED = Where("enabled", "eq", True)
_DISABLED, _BY_APP = Where("enabled", "eq", False), Where("disabled_by", "eq", "app")


INGESTION_STAGE = run_stage("ingestion", QUEUE, Where("workflow_name", "eq", INGEST_FEEDS))


@dataclass(frozen=True, slots=True)
class ClaimedSome:
    """The new runs, and the earlier runs that are yet to fetch the other feeds, by feed."""

    runs: Sequence[IngestionBatch]
    under_way: Mapping[str, str]


@dataclass
class Claims:
    """Claims feeds, and sends the messages of their runs."""

    store: Store
    engine: RunEngine
    announcer: Announcer
    hosts: HostStates
    settings: Settings
    apis: Mapping[str, EnabledApi]
    new_id: Callable[[], str]
    _apis_are_feeds: bool = field(default=False, init=False)
    _looked_at: datetime | None = field(default=None, init=False)
    # The start of a worker, its tick and requests of people claim feeds at the same moment. Each sees what the
    # others have claimed, once their runs are stored.
    _claiming: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def claim_due(self, now: datetime) -> list[IngestionBatch]:
        """Claims feeds that are due, by priority, then due time, and sends the messages of their runs, spread over the
        tick. Returns the runs. Writes nothing if no feed is due."""
        ticks = self.settings.fetch_cycle_interval_seconds // TICK_SECONDS
        if int(now.timestamp()) // TICK_SECONDS % ticks:
            return []
        async with self._claiming:
            return await self._claim_due(now)

    async def _claim_due(self, now: datetime) -> list[IngestionBatch]:
        await self._make_feeds_of_apis(now)
        due = await self._due(now)
        if not due:
            return []
        runs = await self._open(now)
        hosts = await self.hosts.listed()
        if hosts.outage is not None and hosts.outage.lasts:
            hosts = replace(hosts, outage=await self.hosts.judged(hosts, now))
        cooling = cooling_of(hosts, now)
        free = untaken(due, runs, cooling, await self._room(due, runs, now))
        if cooling.in_outage:
            free = sample(free)
        waiting = sum(len(run.claimed) for run in runs)
        groups = grouped(chosen(free, max(0, self.settings.max_queue_size - waiting)))
        delays = spread(groups)
        claimed = [self._run(each, now, delay) for each, delay in zip(groups, delays, strict=True)]
        await self.engine.add(claimed)
        fields = {"due": len(due), "taken": len(due) - len(free), "claimed": sum(len(each.claimed) for each in claimed)}
        log_event(log, logging.DEBUG, "feeds_claimed", **fields, messages=len(claimed))
        for run, delay in zip(claimed, delays, strict=True):
            await self.announcer.announce_groups(INGESTION_STAGE, [[run.run_id]], delay_seconds=delay)
        return claimed

    async def claim(self, feed_id: str, now: datetime) -> str:
        """Claims one feed, due or not, and sends the message of its run; if an open run is yet to fetch the feed, does
        nothing. Returns the id of the run.

        Raises NotFound, and Conflict for a feed that is disabled.
        """
        feed = await self.store.read(FEEDS.name, feed_id, Feed.ID)
        if feed is None:
            raise NotFound(f"feed: there is none with the id {feed_id!r}")
        if not feed["enabled"]:
            raise Conflict(f"feed: {feed_id} is disabled ({feed.get('disabled_reason')}); enable it first")
        claimed = await self._claim([feed], now)
        return claimed.under_way[feed_id] if claimed.under_way else claimed.runs[0].run_id

    async def claim_some(self, feed_ids: Sequence[str], now: datetime, *, dry_run: bool = False) -> ClaimedSome:
        """Claims these feeds, due or not, except those that are disabled or gone, and sends the messages of the runs.
        With `dry_run` nothing is stored or sent."""
        found = await self.store.read_many(FEEDS.name, [(each, Feed.ID) for each in feed_ids])
        wanted = [each for each in found if each is not None and each["enabled"] and self._is_switched_on(each)]
        return await self._claim(wanted, now, dry_run=dry_run)

    async def _claim(self, feeds: Sequence[Document], now: datetime, *, dry_run: bool = False) -> ClaimedSome:
        async with self._claiming:
            known = claimed_in(await self._open(now))
            under_way = {
                each["feed_id"]: run_id for each in feeds if (run_id := known.get(_claim_of(each))) is not None
            }
            groups = grouped(each for each in feeds if each["feed_id"] not in under_way)
            runs = [self._run(each, now) for each in groups]
            if dry_run:
                return ClaimedSome(runs, under_way)
            await self.engine.add(runs)
        await self.announcer.announce_stored(INGESTION_STAGE, [each.run_id for each in runs])
        return ClaimedSome(runs, under_way)

    async def _due(self, now: datetime) -> list[Document]:
        """The feeds that are due; now and then also disabled ones that are to be probed, and those that were
        fetched by a clock that was ahead and whose next fetch is therefore further away than a failure leads to."""
        found = await self._claimable(Where("next_fetch_time", "le", format_time(now)), "by_priority", SCANNED_PAGES)
        if self._looked_at is None or not timedelta(0) <= now - self._looked_at < RARELY:
            far = Where("next_fetch_time", "gt", format_time(now + LONGEST_BACKOFF))
            # The furthest first: a thousand servers may have asked for hours.
            later = await self._claimable(far, "by_next_fetch", 1, reverse=True)
            rare = [
                each for each in later if is_ahead(parse_time(each.get("last_fetch_time") or each["created_at"]), now)
            ]
            probed = (_DISABLED, _BY_APP, Where("probe_at", "le", format_time(now)))
            rare += (await self.store.query(FEEDS.name, Query(probed, limit=MAX_PROBES, may_be_stale=True))).items
            self._looked_at = None if rare else now  # there may be more than are claimed at once
            found += rare
        return list({each["feed_id"]: each for each in found}.values())

    async def _open(self, now: datetime) -> list[IngestionBatch]:
        """The runs that hold their feeds: they are not over, and neither an hour old nor of a clock that was ahead."""
        query = Query(INGESTION_STAGE.where, order=INGESTION_STAGE.order, limit=500)
        documents = await query_all(self.store, RUNS.name, query)
        runs = listed_documents(documents, IngestionBatch.from_document, "run_id").items
        return [
            run
            for run in runs
            if run.due_at is not None and not is_ahead(run.due_at, now + LEASE) and now - run.started_at < HELD
        ]

    async def _room(self, due: Iterable[Document], runs: Sequence[IngestionBatch], now: datetime) -> dict[str, float]:
        """How many feeds may be claimed of each host with a due feed that no open run is yet to fetch. The feeds of a
        run that has lasted for a tick are read: those that it has fetched take no room."""
        per_host, claimed = self.settings.max_concurrent_requests_per_host, claimed_in(runs)
        hosts = {each["host"] for each in due if _claim_of(each) not in claimed}
        room = {host: float(most_at_once(host, per_host) or math.inf) for host in hosts}
        for run in runs:
            limited = [host for host in run.hosts if room.get(host, math.inf) < math.inf]
            if limited and now - (run.running_since or now) < timedelta(seconds=TICK_SECONDS):
                room.update(dict.fromkeys(limited, 0))
            elif limited:
                keys = [(feed_id, Feed.ID) for feed_id in run.claimed]
                feeds = await self.store.read_many(FEEDS.name, keys, may_be_stale=True)
                held = Counter(each["host"] for each in feeds if each is not None and is_to_fetch(run, each))
                room |= {host: room[host] - held[host] for host in limited}
        return room

    async def _claimable(self, where: Where, order: str, most_pages: int, *, reverse: bool = False) -> list[Document]:
        """The enabled feeds, many more than are claimed at once: `chosen` chooses among them."""
        # A feed that was fetched in the last moments may be found again; its worker leaves it (`is_to_fetch`).
        query = Query((_ENABLED, where), order=order, reverse=reverse, may_be_stale=True)
        found = await query_all(self.store, FEEDS.name, query, most_pages=most_pages)
        return [each for each in found if self._is_switched_on(each)]

    def _is_switched_on(self, feed: Document) -> bool:
        kind = feed.get("kind", FEED_KIND)
        return kind == FEED_KIND or kind in self.apis

    def _run(self, feeds: Sequence[Document], now: datetime, delay_seconds: float = 0.0) -> IngestionBatch:
        # Those that may hang come last: an answer to another feed first shows that their host is well.
        well_first = sorted(feeds, key=lambda each: bool(each.get("consecutive_errors")))
        claimed = {each["feed_id"]: each.get("last_fetch_time") or "" for each in well_first}
        hosts = tuple(dict.fromkeys(filter(None, (each["host"] for each in feeds))))
        due_at = now + timedelta(seconds=delay_seconds)
        return IngestionBatch(
            created_at=now,
            run_id=self.new_id(),
            started_at=now,
            subject=next(iter(claimed)) if len(claimed) == 1 else None,
            claimed=claimed,
            hosts=hosts,
            due_at=due_at,
        )

    async def _make_feeds_of_apis(self, now: datetime) -> None:
        """Registers each news API with a token as a feed, once: later changes by people are kept. No other feed can get
        the name of an API as its id."""
        if self.apis and not self._apis_are_feeds:
            known = await self.store.read_many(FEEDS.name, [(name, Feed.ID) for name in self.apis])
            missing = [api for api, document in zip(self.apis.values(), known, strict=True) if document is None]
            if missing:
                await self.store.create_many(FEEDS.name, [api.feed(now).to_document() for api in missing])
            self._apis_are_feeds = True


async def overdue_claims(store: Store, due_before: datetime) -> int:
    """How many feeds are claimed by runs that have been due since before this time."""
    due = Where(INGESTION_STAGE.due, "lt", format_time(due_before))
    query = Query((*INGESTION_STAGE.where, due), order=INGESTION_STAGE.order, limit=500, may_be_stale=True)
    return sum(len(each.get("claimed", ())) for each in (await store.query(RUNS.name, query)).items)


def is_to_fetch(run: IngestionBatch, feed: Document) -> bool:
    """Whether the run claimed the feed, and nobody has fetched it since."""
    return run.claimed.get(feed["feed_id"]) == (feed.get("last_fetch_time") or "")


def chosen(due: Iterable[Document], most: int) -> list[Document]:
    """The first `most` of these feeds, with at most MAX_OF_HOST of a host."""
    of_host: Counter[str] = Counter()
    found: list[Document] = []
    for feed in due:
        host = feed["host"]
        of_host[host] += 1
        if of_host[host] <= MAX_OF_HOST:
            found.append(feed)
    return found[:most]


def claimed_in(runs: Iterable[IngestionBatch]) -> dict[tuple[str, str], str]:
    """The run that is yet to fetch a feed, by feed and last fetch."""
    return {claim: run.run_id for run in runs for claim in run.claimed.items()}


def _claim_of(feed: Document) -> tuple[str, str]:
    return feed["feed_id"], feed.get("last_fetch_time") or ""


def untaken(
    due: Iterable[Document], runs: Sequence[IngestionBatch], cooling: Cooling, room: Mapping[str, float]
) -> list[Document]:
    """The feeds that may be claimed, in the given order: none that an open run is yet to fetch or of a host that cools
    down, of the hosts of open runs as many as there is `room` for, and one at a time of a host that is probed."""
    claimed, hosts = claimed_in(runs), {host for run in runs for host in run.hosts}
    left = {host: room.get(host, 0) for host in hosts} | {host: int(host not in hosts) for host in cooling.probed}
    found: list[Document] = []
    for feed in due:
        host = feed["host"]
        if host in cooling.closed or left.get(host, 1) < 1 or _claim_of(feed) in claimed:
            continue
        if host in left:
            left[host] -= 1
        found.append(feed)
    return found


def sample(feeds: Iterable[Document]) -> list[Document]:
    """One feed of each of a few hosts, whose fetches show whether an outage is over. All others wait, and are due."""
    by_host: dict[str, Document] = {}
    for feed in sorted(feeds, key=lambda each: each["next_fetch_time"]):
        by_host.setdefault(feed["host"], feed)
    return list(by_host.values())[:SAMPLED_IN_OUTAGE]


def grouped(feeds: Iterable[Document]) -> list[list[Document]]:
    """The feeds by message: all feeds of a host are in one message, which otherwise has at most MAX_FEEDS. New feeds
    come first, then the given order."""
    hosts: dict[str, list[Document]] = {}
    for feed in feeds:
        hosts.setdefault(feed["host"], []).append(feed)
    messages: list[list[Document]] = []
    for is_new in (True, False):
        begun = len(messages)
        for of_host in hosts.values():
            if _is_new(of_host) is not is_new:
                continue
            room = (each for each in messages[begun:] if len(each) + len(of_host) <= MAX_FEEDS)
            fitting = next(room, None)
            if fitting is None:
                messages.append(list(of_host))
            else:
                fitting += of_host
    return messages


def spread(groups: Sequence[list[Document]]) -> list[float]:
    """When each message is sent, in seconds after the tick: over the whole tick, in the given order, so that the load
    is even. A few feeds are sent at once, and new feeds one message after the other as fast as they can be stored."""
    total = sum(map(len, groups))
    if total <= FEW_FEEDS:
        return [0.0] * len(groups)
    delays: list[float] = []
    at = AFTER_TICK_SECONDS
    for each in groups:
        share = (TICK_SECONDS - AFTER_TICK_SECONDS - BEFORE_TICK_SECONDS) * len(each) / total
        delays.append(round(at, 1))
        at += min(share, len(each) / NEW_PER_SECOND) if _is_new(each) else share
    return delays


def _is_new(feeds: Iterable[Document]) -> bool:
    """Whether some of the feeds were never fetched."""
    return any(not each.get("last_fetch_time") for each in feeds)
