"""Claims the feeds that are due: chooses them fairly among hosts, groups them by host, and spreads them over the tick.

A claim is an ingestion run that is not over: its feeds are in no other run, and no tick claims other feeds of their
hosts, so that the limit of requests to a host holds over all workers. A claim writes nothing to feeds. If two callers
claim a feed at the same moment, both runs fetch it, and one of them saves it. A message is sent before its run is
stored: after a crash in between the worker stores the run.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, Self

from models.errors import Conflict, InvalidInput, NotFound
from models.feed import FEED_KIND, Feed
from models.run import INGEST_FEEDS, IngestionBatch, JobRun
from models.values import CLOCKS_DIFFER, format_time
from services.feeds.hosts import Cooling, HostStates, host_of
from services.feeds.leases import leasing_run
from services.feeds.news_apis import EnabledApi
from services.feeds.outages import Outages
from services.feeds.probing import is_probe
from services.feeds.schedule import LONGEST_BACKOFF
from services.logs import log_event
from services.ports import Document, Query, Queues, Store, Where, query_all
from services.settings import Settings
from services.store.containers import FEEDS
from services.topology import INGEST_FEEDS as QUEUE
from services.work import rules
from services.work.runs import RunEngine

log = logging.getLogger("toolpulse.ingest")

CLAIM = timedelta(minutes=10)
"""How long a claim lasts after its run was written. Longer than the delay of a message and two deliveries of it."""

TICK_SECONDS = 30
SCANNED_PAGES = 5
PER_HOST = 8
"""Feeds of one host in each round of choosing, so that the backlog of one host does not keep all others waiting."""

MOST_FEEDS = 20
"""The most feeds in one message, unless they are of one host."""
MOST_OF_HOST = 200
"""The most feeds of one host in one message. What does not fit into the time of an invocation is sent again."""

FEW_FEEDS = 10
"""So few feeds are sent at once: each message costs an execution, and their load is small."""
PACE_SECONDS = 0.3
"""A worker waits so long between two feeds of a message, so that it writes feeds evenly."""
AFTER_TICK_SECONDS, BEFORE_TICK_SECONDS = 1.0, 3.0
"""No messages are sent so soon after a tick or before the next: a tick itself costs as much as seconds of fetches."""
NEW_PER_SECOND = 20
"""Feeds that were never fetched do not wait for the whole tick."""

SAMPLED_IN_OUTAGE = 20
MOST_PROBES = 50
"""Disabled feeds that are tried again at one tick."""

_ENABLED = Where("enabled", "eq", True)
_DISABLED = Where("enabled", "eq", False)


@dataclass(frozen=True, slots=True)
class ClaimedFeed:
    """One feed. `fetched` is its `last_fetch_time` when it was claimed, empty before the first fetch: a feed that was
    fetched since then is left alone."""

    feed_id: str
    fetched: str


@dataclass(frozen=True, slots=True)
class IngestMessage:
    """A message of the queue `ingest-feeds`: the work of one run. It names either feeds with their hosts, or a batch
    that a person released from quarantine. The worker begins the feeds one by one over `over_seconds`."""

    run_id: str
    feeds: tuple[ClaimedFeed, ...] = ()
    quarantine_id: str | None = None
    hosts: tuple[str, ...] = ()
    over_seconds: float = 0.0

    def to_message(self) -> str:
        message: dict[str, Any] = {"run_id": self.run_id}
        if self.quarantine_id is not None:
            message["held"] = self.quarantine_id
        else:
            message["feeds"] = [{"feed_id": each.feed_id, "fetched": each.fetched} for each in self.feeds]
            if self.hosts:
                message["hosts"] = self.hosts
            if self.over_seconds:
                message["over"] = self.over_seconds
        return json.dumps(message, separators=(",", ":"))

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for a text that `to_message` never writes."""
        try:
            message = json.loads(text)
            run_id, quarantine_id = message["run_id"], message.get("held")
            feeds = tuple(ClaimedFeed(each["feed_id"], each["fetched"]) for each in message.get("feeds", ()))
            hosts, over = tuple(message.get("hosts", ())), message.get("over", 0.0)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput("message", "must be a JSON object with run_id, and feeds or held") from error
        texts = (run_id, *(each.feed_id for each in feeds), *hosts)
        if not all(isinstance(part, str) and part for part in texts) or not isinstance(over, int | float):
            raise InvalidInput("message", "must name its run, feeds and hosts")
        if not all(isinstance(each.fetched, str) for each in feeds) or not isinstance(quarantine_id, str | None):
            raise InvalidInput("message", "must give ids and times as text")
        return cls(run_id, feeds, quarantine_id, hosts, over)

    def of(self, feed_ids: Iterable[str]) -> Self:
        """The message for the rest of the work: these of its feeds, at once."""
        wanted = set(feed_ids)
        feeds = tuple(each for each in self.feeds if each.feed_id in wanted)
        return type(self)(self.run_id, feeds, self.quarantine_id, self.hosts)


class Planned(NamedTuple):
    """The feeds of one message: when it is sent, in seconds after the tick, and over how many seconds they begin."""

    feeds: list[Document]
    delay_seconds: float = 0.0
    over_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Taken:
    """What must not be claimed: the feeds of open runs, and hosts. Of each host in `probed`, one feed at a time is
    claimed."""

    feeds: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    probed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ClaimedSome:
    """The messages of new claims; and the runs that are yet to fetch the other feeds, by feed."""

    messages: Sequence[IngestMessage]
    under_way: Mapping[str, str]


class Claims:
    """Claims feeds, and sends the messages of their runs."""

    def __init__(
        self,
        store: Store,
        engine: RunEngine,
        queues: Queues,
        hosts: HostStates,
        outages: Outages,
        settings: Settings,
        apis: Mapping[str, EnabledApi],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._engine = engine
        self._queues = queues
        self._hosts = hosts
        self._outages = outages
        self._settings = settings
        self._new_id = new_id
        self._apis = apis
        self._apis_are_feeds = not apis
        # The start of a worker, its tick and requests of people claim feeds at the same moment. Each sees what the
        # others have claimed, once their runs are stored.
        self._claiming = asyncio.Lock()

    async def claim_due(self, now: datetime) -> list[IngestMessage]:
        """Claims feeds that are due, by priority, then due time, and sends their messages, spread over the tick.
        Returns the messages. Writes nothing if no feed is due."""
        ticks = self._settings.fetch_cycle_interval_seconds // TICK_SECONDS
        if int(now.timestamp()) // TICK_SECONDS % ticks:
            return []
        async with self._claiming:
            return await self._claim_due(now)

    async def _claim_due(self, now: datetime) -> list[IngestMessage]:
        await self._make_feeds_of_apis(now)
        due = await self._due(now)
        if not due:
            return []
        runs = await self._open(now)
        hosts = await self._hosts.listed()
        if hosts.outage is not None and hosts.outage.lasts:
            hosts = replace(hosts, outage=await self._outages.judged(hosts, now))
        cooling = self._hosts.cooling(hosts, now)
        free = untaken(due, taken(runs, cooling))
        if cooling.in_outage:
            free = sample(free)
        waiting = sum(len(run.claimed) for run in runs)
        plan = spread(grouped(chosen(free, max(0, self._settings.max_queue_size - waiting))))
        log_event(
            log,
            logging.DEBUG,
            "feeds_claimed",
            due=len(due),
            taken=len(due) - len(free),
            claimed=sum(len(each.feeds) for each in plan),
            messages=len(plan),
        )
        sent: list[IngestMessage] = []
        try:
            for each in plan:
                message = self._message(each)
                await self._queues.send(QUEUE, [message.to_message()], delay_seconds=each.delay_seconds)
                sent.append(message)
        finally:
            await self._engine.accept_all([_run(each, now) for each in sent])
        return sent

    async def claim_every(self, now: datetime) -> list[IngestMessage]:
        """Claims all enabled feeds, due or not, except those of open runs. The caller does the work of the messages,
        and sends none."""
        await self._make_feeds_of_apis(now)
        wanted = await self._claimable(now)
        runs = await self._open(now)
        free = untaken(wanted, Taken(taken(runs, Cooling()).feeds))
        messages = [self._message(Planned(each)) for each in grouped(chosen(free, len(free)), sys.maxsize)]
        await self._engine.accept_all([_run(each, now) for each in messages])
        return messages

    async def claim(self, feed_id: str, now: datetime) -> IngestMessage:
        """Claims one feed, due or not; the caller sends the message. If an open run is yet to fetch the feed, the
        message names that run, and no feeds.

        Raises NotFound, and Conflict for a feed that is disabled.
        """
        feed = await self._store.read(FEEDS.name, feed_id, Feed.ID)
        if feed is None:
            raise NotFound(f"feed: there is none with the id {feed_id!r}")
        if not feed["enabled"]:
            raise Conflict(f"feed: {feed_id} is disabled ({feed.get('disabled_reason')}); enable it first")
        leased_by = leasing_run(feed, now)
        if leased_by is not None:
            return IngestMessage(leased_by)
        async with self._claiming:
            for run in await self._open(now):
                if is_to_fetch(run, feed):
                    return IngestMessage(run.run_id)
            message = self._message(Planned([feed]))
            await self._engine.accept_all([_run(message, now)])
        return message

    async def claim_some(self, feed_ids: Sequence[str], now: datetime, *, dry_run: bool = False) -> ClaimedSome:
        """Claims these feeds, due or not, except those that are disabled or gone. The caller sends the messages. With
        `dry_run` nothing is stored."""
        found = await self._store.read_many(FEEDS.name, [(each, Feed.ID) for each in feed_ids])
        wanted = [each for each in found if each is not None and each["enabled"]]
        under_way = {each["feed_id"]: run_id for each in wanted if (run_id := leasing_run(each, now)) is not None}
        async with self._claiming:
            for run in await self._open(now):
                under_way |= {each["feed_id"]: run.run_id for each in wanted if is_to_fetch(run, each)}
            free = [each for each in wanted if each["feed_id"] not in under_way and self._is_switched_on(each)]
            messages = [self._message(Planned(each)) for each in grouped(free)]
            if not dry_run:
                await self._engine.accept_all([_run(each, now) for each in messages])
        return ClaimedSome(messages, under_way)

    async def _due(self, now: datetime) -> list[Document]:
        """The feeds that are due, disabled ones that are to be probed, and those that were fetched by a clock that was
        ahead, whose times of the next fetch are wrong. The last are known by their last success; if all their fetches
        failed, by a next fetch that is further away than a failure leads to."""
        ahead = format_time(now + CLOCKS_DIFFER)
        far = Where("next_fetch_time", "gt", format_time(now + LONGEST_BACKOFF))
        due, succeeded, later, probes = await asyncio.gather(
            self._claimable(now, Where("next_fetch_time", "le", format_time(now)), most_pages=SCANNED_PAGES),
            self._claimable(now, Where("last_successful_fetch", "gt", ahead), most_pages=1),
            self._claimable(now, far, most_pages=1),
            self._probes(now),
        )
        failed = [each for each in later if (each.get("last_fetch_time") or "") > ahead]
        return list({each["feed_id"]: each for each in (*due, *succeeded, *failed, *probes)}.values())

    async def _probes(self, now: datetime) -> list[Document]:
        """Disabled feeds that are to be tried again."""
        where = (_DISABLED, Where("probe_at", "le", format_time(now)))
        page = await self._store.query(FEEDS.name, Query(where, limit=MOST_PROBES, may_be_stale=True))
        return [each for each in page.items if is_probe(each, now) and leasing_run(each, now) is None]

    async def _open(self, now: datetime) -> list[IngestionBatch]:
        runs = await self._engine.open_within(INGEST_FEEDS, CLAIM, now)
        return [run for run in runs if isinstance(run, IngestionBatch)]

    async def _claimable(self, now: datetime, *where: Where, most_pages: int = sys.maxsize) -> list[Document]:
        """The enabled feeds that no attempt works on, many more than are claimed at once: `chosen` chooses among
        them."""
        # A feed that was fetched in the last moments may be found again; its worker leaves it (ClaimedFeed.fetched).
        query = Query((_ENABLED, *where), order="by_priority", limit=1000, may_be_stale=True)
        found = await query_all(self._store, FEEDS.name, query, most_pages=most_pages)
        return [each for each in found if leasing_run(each, now) is None and self._is_switched_on(each)]

    def _is_switched_on(self, feed: Document) -> bool:
        kind = feed.get("kind", FEED_KIND)
        return kind == FEED_KIND or kind in self._apis

    def _message(self, planned: Planned) -> IngestMessage:
        # Those that may hang come last: an answer to another feed first shows that their host is well.
        well_first = sorted(planned.feeds, key=lambda each: bool(each.get("consecutive_errors")))
        feeds = tuple(ClaimedFeed(each["feed_id"], each.get("last_fetch_time") or "") for each in well_first)
        hosts = tuple(dict.fromkeys(filter(None, map(host_of_feed, planned.feeds))))
        return IngestMessage(self._new_id(), feeds, hosts=hosts, over_seconds=planned.over_seconds)

    async def _make_feeds_of_apis(self, now: datetime) -> None:
        """Registers each news API with a token as a feed, once: later changes by people are kept.

        An API whose name is the id of another feed is registered by the first worker that starts after the removal of
        that feed.
        """
        if not self._apis_are_feeds:
            known = await self._store.read_many(FEEDS.name, [(name, Feed.ID) for name in self._apis])
            missing = [api for api, document in zip(self._apis.values(), known, strict=True) if document is None]
            if missing:
                await self._store.create_many(FEEDS.name, [api.feed(now).to_document() for api in missing])
            for name in names_taken(self._apis, known):
                log_event(log, logging.ERROR, "news_api_name_taken", feed_id=name)
            self._apis_are_feeds = True


def is_to_fetch(run: IngestionBatch, feed: Document) -> bool:
    """Whether the run, which is open, claimed the feed and has not fetched it yet."""
    return feed["feed_id"] in run.claimed and (feed.get("last_fetch_time") or "") < format_time(run.started_at)


def names_taken(apis: Iterable[str], feeds: Iterable[Document | None]) -> list[str]:
    """The news APIs whose name is the id of another feed. `feeds` are the feeds with these ids."""
    found = zip(apis, feeds, strict=True)
    return [name for name, feed in found if feed is not None and feed.get("kind", FEED_KIND) != name]


def chosen(due: Iterable[Document], most: int) -> list[Document]:
    """At most `most` of these feeds, in rounds of PER_HOST from each host; within a round in the given order."""
    seen: Counter[str] = Counter()
    rounds: list[tuple[int, Document]] = []
    for feed in due:
        host = host_of_feed(feed)
        rounds.append((seen[host] // PER_HOST, feed))
        seen[host] += 1
    rounds.sort(key=lambda each: each[0])
    return [feed for _, feed in rounds[:most]]


def taken(runs: Iterable[IngestionBatch], cooling: Cooling) -> Taken:
    """What open runs and failing hosts keep from being claimed."""
    feeds, hosts = set[str](), set(cooling.closed)
    for run in runs:
        feeds.update(run.claimed)
        hosts.update(run.hosts)
    return Taken(frozenset(feeds), frozenset(hosts), cooling.probed)


def untaken(due: Iterable[Document], not_these: Taken) -> list[Document]:
    """The feeds that may be claimed, in the given order."""
    probed: set[str] = set()
    found: list[Document] = []
    for feed in due:
        host = host_of_feed(feed)
        if feed["feed_id"] in not_these.feeds or host in not_these.hosts or host in probed:
            continue
        if host in not_these.probed:
            probed.add(host)
        found.append(feed)
    return found


def sample(feeds: Iterable[Document]) -> list[Document]:
    """One feed of each of a few hosts, whose fetches show whether an outage is over. All others wait, and are due."""
    by_host: dict[str, Document] = {}
    for feed in sorted(feeds, key=lambda each: each["next_fetch_time"]):
        by_host.setdefault(host_of_feed(feed), feed)
    return list(by_host.values())[:SAMPLED_IN_OUTAGE]


def grouped(feeds: Iterable[Document], most_of_host: int = MOST_OF_HOST) -> list[list[Document]]:
    """The feeds by message: all feeds of a host are in one message, which otherwise has at most MOST_FEEDS. Of more
    feeds of one host than `most_of_host`, the others are left out. New feeds come first, then the given order."""
    hosts: dict[str, list[Document]] = {}
    for feed in feeds:
        of_host = hosts.setdefault(host_of_feed(feed), [])
        if len(of_host) < most_of_host:
            of_host.append(feed)
    messages: list[list[Document]] = []
    for is_new in (True, False):
        begun = len(messages)
        for of_host in hosts.values():
            if _is_new(of_host) is not is_new:
                continue
            room = (each for each in messages[begun:] if len(each) + len(of_host) <= MOST_FEEDS)
            fitting = next(room, None)
            if fitting is None:
                messages.append(list(of_host))
            else:
                fitting += of_host
    return messages


def spread(groups: Sequence[list[Document]]) -> list[Planned]:
    """When each message is sent: over the whole tick, in the given order, so that the load is even. A few feeds are
    sent at once, and new feeds one message after the other as fast as they can be stored."""
    total = sum(map(len, groups))
    if total <= FEW_FEEDS:
        return [Planned(each) for each in groups]
    plan: list[Planned] = []
    at = AFTER_TICK_SECONDS
    for each in groups:
        share = (TICK_SECONDS - AFTER_TICK_SECONDS - BEFORE_TICK_SECONDS) * len(each) / total
        if _is_new(each):
            plan.append(Planned(each, round(at, 1)))
            at += min(share, len(each) / NEW_PER_SECOND)
        else:
            plan.append(Planned(each, round(at, 1), round(min(share, PACE_SECONDS * len(each)), 1)))
            at += share
    return plan


def _is_new(feeds: Iterable[Document]) -> bool:
    """Whether some of the feeds were never fetched."""
    return any(not each.get("last_fetch_time") for each in feeds)


def host_of_feed(feed: Mapping[str, Any]) -> str:
    """The host that the feed is fetched from, as limits and failures are counted by."""
    return _host_of(feed.get("redirect_url") or feed["feed_url"])


_host_of = lru_cache(maxsize=20_000)(host_of)


def _run(message: IngestMessage, now: datetime) -> JobRun:
    feed_ids = [each.feed_id for each in message.feeds]
    return rules.queued_ingestion(message.run_id, now, feed_ids, message.hosts)
