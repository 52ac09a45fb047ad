"""Claims the feeds that are due, fairly among hosts, for runs of ingestion; and the messages of these runs.

A claim is the id of the run that it was made for, with a time at which the claim expires by itself. Starting work on a
claimed feed is in leases.py, fetching it in services/articles/ingestion.py.
"""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self, cast
from urllib.parse import urlsplit

from models.errors import Conflict, InvalidInput, NotFound
from models.feed import FEED_KIND, Feed, FeedDocument
from models.run import INGEST_FEEDS, JobRun
from models.values import format_time
from services.feeds.leases import claimed_by, is_claimed
from services.feeds.news_apis import EnabledApi
from services.logs import log_event
from services.ports import Document, Query, Replace, Store, Where, query_all
from services.runs import rules
from services.runs.engine import RunEngine
from services.settings import Settings
from services.store.containers import FEEDS

log = logging.getLogger("toolpulse.ingest")

LEASE = timedelta(minutes=10)
"""How long a claim lasts while its message waits in the queue. The worker that receives the message renews the
claim."""

TICK_SECONDS = 30
SCANNED_PAGES = 5
PER_HOST = 8
"""Feeds of one host in each round of choosing, so that the backlog of one host does not keep all others waiting."""

MOST_FEEDS = 20
"""The most feeds in one message. With ten fetches at once, two of the longest one after the other, a run ends within
five minutes."""

_ENABLED = Where("enabled", "eq", True)


@dataclass(frozen=True, slots=True)
class ClaimedFeed:
    """One feed, and the claim under which it may be fetched."""

    feed_id: str
    claim_id: str


@dataclass(frozen=True, slots=True)
class IngestMessage:
    """A message of the queue `ingest-feeds`: the work of one run. It names either feeds, or a batch that a person
    released from quarantine."""

    run_id: str
    feeds: tuple[ClaimedFeed, ...] = ()
    quarantine_id: str | None = None

    def to_message(self) -> str:
        message: dict[str, Any] = {"run_id": self.run_id}
        if self.quarantine_id is not None:
            message["held"] = self.quarantine_id
        else:
            message["feeds"] = [{"feed_id": each.feed_id, "claim_id": each.claim_id} for each in self.feeds]
        return json.dumps(message, separators=(",", ":"))

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for a text that `to_message` never writes."""
        try:
            message = json.loads(text)
            run_id, quarantine_id = message["run_id"], message.get("held")
            feeds = tuple(ClaimedFeed(each["feed_id"], each["claim_id"]) for each in message.get("feeds", ()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput("message", "must be a JSON object with run_id, and feeds or held") from error
        texts = (run_id, *(part for each in feeds for part in (each.feed_id, each.claim_id)))
        if not all(isinstance(part, str) and part for part in texts) or not isinstance(quarantine_id, str | None):
            raise InvalidInput("message", "must name its run, feeds and claims by their ids")
        return cls(run_id, feeds, quarantine_id)


class Claims:
    def __init__(
        self,
        store: Store,
        engine: RunEngine,
        settings: Settings,
        apis: Mapping[str, EnabledApi],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._engine = engine
        self._settings = settings
        self._new_id = new_id
        self._apis = apis
        self._apis_are_feeds = not apis

    async def claim_due(self, now: datetime) -> list[IngestMessage]:
        """Claims feeds that are due, by priority, then due time. Returns the messages to queue. Writes nothing if no
        feed is due. A feed that another worker claims meanwhile is left out."""
        ticks = self._settings.fetch_cycle_interval_seconds // TICK_SECONDS
        if int(now.timestamp()) // TICK_SECONDS % ticks:
            return []
        await self._make_feeds_of_apis(now)
        due = await self._claimable(now, Where("next_fetch_time", "le", format_time(now)), most_pages=SCANNED_PAGES)
        if not due:
            return []
        waiting = await self._store.count(FEEDS.name, (Where("claimed_until", "gt", format_time(now)),))
        return await self._claim_in_batches(chosen(due, max(0, self._settings.max_queue_size - waiting)), now)

    async def claim_every(self, now: datetime) -> list[IngestMessage]:
        """Claims all enabled feeds, due or not, except those that are claimed already."""
        await self._make_feeds_of_apis(now)
        wanted = await self._claimable(now)
        return await self._claim_in_batches(chosen(wanted, len(wanted)), now)

    async def claim(self, feed_id: str, now: datetime) -> IngestMessage:
        """Claims one feed, due or not. If it is claimed already, the message names the run with the claim, and no
        feeds.

        Raises NotFound, and Conflict for a feed that is disabled.
        """
        while True:
            feed = cast(FeedDocument | None, await self._store.read(FEEDS.name, feed_id, Feed.ID))
            if feed is None:
                raise NotFound(f"feed: there is none with the id {feed_id!r}")
            if not feed["enabled"]:
                raise Conflict(f"feed: {feed_id} is disabled ({feed.get('disabled_reason')}); enable it first")
            if is_claimed(feed, now):
                return IngestMessage(feed["claim_id"] or "")
            for message in await self._claim_in_batches([feed], now):
                return message

    async def _claimable(self, now: datetime, *where: Where, most_pages: int = sys.maxsize) -> list[FeedDocument]:
        """The enabled feeds without a claim, many more than are claimed at once: `chosen` chooses among them."""
        query = Query((_ENABLED, *where), order="by_priority", limit=1000)
        found = cast(list[FeedDocument], await query_all(self._store, FEEDS.name, query, most_pages=most_pages))
        return [each for each in found if not is_claimed(each, now) and self._is_switched_on(each)]

    def _is_switched_on(self, feed: FeedDocument) -> bool:
        kind = feed.get("kind", FEED_KIND)
        return kind == FEED_KIND or kind in self._apis

    async def _claim_in_batches(self, wanted: Sequence[FeedDocument], now: datetime) -> list[IngestMessage]:
        batches = [
            await self._claim(wanted[start : start + MOST_FEEDS], now) for start in range(0, len(wanted), MOST_FEEDS)
        ]
        claimed = [each for each in batches if each.feeds]
        if claimed:
            await self._engine.accept_all([_run(each, now) for each in claimed])
        return claimed

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

    async def _claim(self, feeds: Sequence[FeedDocument], now: datetime) -> IngestMessage:
        run_id = self._new_id()
        outcomes = await self._store.batch_many(
            FEEDS.name,
            [(feed["feed_id"], [Replace(claimed_by(run_id, feed, now + LEASE), feed["_etag"])]) for feed in feeds],
        )
        ids = [feed["feed_id"] for feed, done in zip(feeds, outcomes, strict=True) if isinstance(done, list)]
        return IngestMessage(run_id, tuple(ClaimedFeed(feed_id, run_id) for feed_id in ids))


def names_taken(apis: Iterable[str], feeds: Iterable[Document | None]) -> list[str]:
    """The news APIs whose name is the id of another feed. `feeds` are the feeds with these ids."""
    found = zip(apis, feeds, strict=True)
    return [name for name, feed in found if feed is not None and feed.get("kind", FEED_KIND) != name]


def chosen(due: Iterable[FeedDocument], most: int) -> list[FeedDocument]:
    """At most `most` of these feeds, in rounds of PER_HOST from each host; within a round in the given order."""
    seen: Counter[str] = Counter()
    rounds: list[tuple[int, FeedDocument]] = []
    for feed in due:
        host = urlsplit(feed.get("redirect_url") or feed["feed_url"]).netloc
        rounds.append((seen[host] // PER_HOST, feed))
        seen[host] += 1
    rounds.sort(key=lambda each: each[0])
    return [feed for _, feed in rounds[:most]]


def _run(message: IngestMessage, now: datetime) -> JobRun:
    feed_ids = [each.feed_id for each in message.feeds]
    subject = feed_ids[0] if len(feed_ids) == 1 else None
    return rules.queued(INGEST_FEEDS, message.run_id, now, subject, {"feeds": feed_ids})
