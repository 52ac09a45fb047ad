"""The outage of this installation as it is stored: noticed after failed fetches, ended at ticks.

outages.py has the rule.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from models.errors import ChangedMeanwhile, Conflict
from models.feed import Feed
from models.host import Outage
from models.values import format_time, parse_time
from services.feeds.hosts import Hosts, HostStates, host_of
from services.feeds.outages import (
    AT_ONCE,
    COUNTED_EVERY,
    OURS_PERHAPS,
    RECENT,
    WRONG,
    begun_outage,
    continued_outage,
    failing_lately,
    is_news,
    may_begin,
    not_answering,
)
from services.logs import log_event
from services.ports import Query, Store, Where
from services.store.containers import CATALOG, FEEDS

if TYPE_CHECKING:
    from services.feeds.outcome import Failure


log = logging.getLogger("toolpulse.ingest")

_PAGE = 200
_MOST_PAGES = 5


class Outages:
    def __init__(self, store: Store, hosts: HostStates) -> None:
        self._store = store
        self._hosts = hosts
        self._known: Outage | None = None

    async def noticed(self, feed: Feed, failure: Failure, now: datetime) -> Outage | None:
        """The outage after this failure: its host is stored at once, and the others are looked at. An answer that shows
        nothing of a feed is evidence only if the feed was read before: many wrong URLs may be added at once."""
        if failure.kind not in OURS_PERHAPS:
            return None
        if failure.kind in WRONG:
            if failure.status_code is None:
                return None  # no request was sent: a credential is missing
            if feed.last_successful_fetch is not None:
                self._hosts.answered_wrong(host_of(feed.fetch_url), failure.kind, feed.last_successful_fetch)
        known = self._known
        if known is not None and known.lasts and timedelta(0) <= now - known.updated_at < COUNTED_EVERY:
            return known
        await self._hosts.note(now)
        return await self.judged(await self._hosts.listed(), now)

    async def note(self, now: datetime) -> None:
        """Stores what this worker's requests have shown of hosts, once their feeds are saved. In an outage, they may
        show that it is over."""
        await self._hosts.note(now)
        if self._hosts.in_outage:
            await self.judged(await self._hosts.listed(), now)

    async def judged(self, hosts: Hosts, now: datetime) -> Outage | None:
        """The outage that lasts now, by what is stored of hosts; None without one. Stores what has changed."""
        outage, failing = hosts.outage, failing_lately((*hosts.failing, *hosts.wrong), now)
        after = outage
        if outage is not None and outage.lasts:
            answered = await self._answered(now - RECENT, len(failing))
            after = continued_outage(outage, not_answering(failing, answered), answered, now)
        elif begun := may_begin(failing, now):
            answered = await self._answered(now - AT_ONCE, len(begun))
            after = begun_outage(not_answering(begun, answered), answered, now) or outage
        if after is not None and after is not outage and is_news(outage, after):
            await self._store_outage(outage, after)
        self._known = after
        self._hosts.note_outage(after)
        return after if after is not None and after.lasts else None

    async def _answered(self, since: datetime, failing: int) -> dict[str, datetime]:
        """When hosts last answered since then; not all, if so many did that most do not fail."""
        found: dict[str, datetime] = {}
        after = None
        for _ in range(_MOST_PAGES):
            where = (Where("last_successful_fetch", "ge", format_time(since)),)
            query = Query(where, order="by_last_success", reverse=True, limit=_PAGE, after=after, may_be_stale=True)
            page = await self._store.query(FEEDS.name, query)
            for feed in page.items:
                host = host_of(feed.get("redirect_url") or feed["feed_url"])
                found.setdefault(host, parse_time(feed["last_successful_fetch"]))
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
