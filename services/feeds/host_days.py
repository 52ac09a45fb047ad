"""Writes down by day what requests to hosts cost.

Each feed's document has the counters of its last two days, since the attempt that sent the requests: they are written
with the save of the feed, once for each attempt, whatever is delivered again. `clean_up` collects them, as it collects
the hours of fetches. Counters of a feed and day only grow, so the larger value is the later one: what is collected
twice, or by two workers, is the same.

Requests for full texts have no such document. Each message adds what it has cost, under an id of its own.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import cast

from models.errors import ChangedMeanwhile
from models.host import CountersOfHosts, HostDay
from models.values import hour_key, parse_time, unix_seconds
from services.ports import Clock, Create, Document, Operation, Replace, Store, listed_documents
from services.store.containers import CATALOG

PARTS_OF_PAGES = 4
"""The documents of one day for full texts, whose workers would wait for each other."""
KEPT_BY_FEED = timedelta(days=1)
"""A feed keeps the counters of the day before: clean_up has collected them by then."""
MOST_NOTED = 50
PAGES = "pages"
_TRIES = 8

OfDays = Mapping[str, CountersOfHosts]
Change = Callable[[HostDay], HostDay | None]
"""The changed document; None if nothing changes."""


def with_traffic(known: OfDays, traffic: Mapping[str, Mapping[str, int]], now: datetime) -> dict[str, CountersOfHosts]:
    """The counters of a feed by day and host, after an attempt at `now` that had this traffic."""
    today, since = hour_key(now)[:8], hour_key(now - KEPT_BY_FEED)[:8]
    kept = {day: {**hosts} for day, hosts in known.items() if day >= since}
    for host, counters in traffic.items():
        if counters:
            of_host = kept.setdefault(today, {})
            of_host[host] = dict(Counter(of_host.get(host, {})) + Counter(counters))
    return kept


def at_least(known: CountersOfHosts, later: CountersOfHosts) -> CountersOfHosts:
    """Of each counter the larger value."""
    hosts = {**known}
    for host, counters in later.items():
        before = known.get(host, {})
        hosts[host] = {name: max(before.get(name, 0), counters.get(name, 0)) for name in {**before, **counters}}
    return hosts


def part_of(feed_id: str, *, in_one: bool) -> str:
    """The document of a day that has this feed. Many feeds are collected in the order of their ids, a thousand at a
    time: those with the same first character share a document, so that each time few documents are written."""
    return "feeds" if in_one else f"feeds-{feed_id[0].lower()}"


def part_of_pages(host: str) -> str:
    return f"{PAGES}-{hashlib.sha256(host.encode()).digest()[0] % PARTS_OF_PAGES}"


def merged(days: Iterable[Document]) -> dict[str, list[CountersOfHosts]]:
    """By day, the counters of each source once: a feed is in two documents once the feeds became many, or few. Of
    documents as they are stored: to validate those of a week of 10,000 feeds would take seconds."""
    of_feeds: dict[tuple[str, str], CountersOfHosts] = {}
    found: dict[str, list[CountersOfHosts]] = {}
    for each in days:
        day = each["day"]
        for source, hosts in each["sources"].items():
            if source == PAGES:
                found.setdefault(day, []).append(hosts)
            else:
                known = of_feeds.get((day, source))
                of_feeds[day, source] = hosts if known is None else at_least(known, hosts)
    for (day, _), hosts in of_feeds.items():
        found.setdefault(day, []).append(hosts)
    return found


def by_part(feeds: Iterable[Document], *, in_one: bool) -> dict[tuple[str, str], dict[str, CountersOfHosts]]:
    """By day and part, the counters of these stored feeds."""
    found: dict[tuple[str, str], dict[str, CountersOfHosts]] = {}
    for feed in feeds:
        source = f"{feed['feed_id']}:{unix_seconds(parse_time(feed['created_at']))}"
        for day, hosts in cast("OfDays", feed.get("traffic", {})).items():
            found.setdefault((day, part_of(feed["feed_id"], in_one=in_one)), {})[source] = hosts
    return found


class HostDays:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def collect(self, feeds: Iterable[Document], *, in_one: bool = False) -> None:
        """Takes over what these stored feeds say, and writes only what has changed. `in_one`: there are so few feeds
        that one document has them all. Raises ChangedMeanwhile if other workers keep changing a day."""

        def change(sources: Mapping[str, CountersOfHosts]) -> Change:
            def changed(before: HostDay) -> HostDay | None:
                after = {
                    **before.sources,
                    **{name: at_least(before.sources.get(name, {}), hosts) for name, hosts in sources.items()},
                }
                return None if after == before.sources else before.changed(self._clock(), sources=after)

            return changed

        await self._change({key: change(sources) for key, sources in by_part(feeds, in_one=in_one).items()})

    async def add_pages(self, traffic: Mapping[str, Mapping[str, int]], addition_id: str) -> None:
        """Adds what requests for full texts have cost, once for each `addition_id`."""
        day = hour_key(self._clock())[:8]
        by_part: dict[str, dict[str, Mapping[str, int]]] = {}
        for host, counters in traffic.items():
            if counters:
                by_part.setdefault(part_of_pages(host), {})[host] = counters

        def change(added: Mapping[str, Mapping[str, int]]) -> Change:
            def changed(before: HostDay) -> HostDay | None:
                if addition_id in before.noted:
                    return None
                known = before.sources.get(PAGES, {})
                sums = {host: dict(Counter(known.get(host, {})) + Counter(more)) for host, more in added.items()}
                noted = (*before.noted, addition_id)[-MOST_NOTED:]
                return before.changed(self._clock(), sources={PAGES: {**known, **sums}}, noted=noted)

            return changed

        await self._change({(day, part): change(added) for part, added in by_part.items()})

    async def _change(self, changes: Mapping[tuple[str, str], Change]) -> None:
        left = dict(changes)
        for _ in range(_TRIES):
            if not left:
                return
            now = self._clock()
            days = {key: HostDay(created_at=now, updated_at=now, day=key[0], part=key[1]) for key in left}
            keys = [(HostDay.PARTITION, each.id) for each in days.values()]
            stored = listed_documents(
                await self._store.read_many(CATALOG.name, keys), HostDay.from_document, "id"
            ).items
            days |= {(each.day, each.part): each for each in stored}
            after = {key: changed for key, each in days.items() if (changed := left[key](each)) is not None}
            batches = [(HostDay.PARTITION, [_write(each)]) for each in after.values()]
            results = await self._store.batch_many(CATALOG.name, batches) if batches else []
            left = {key: left[key] for key, result in zip(after, results, strict=True) if not isinstance(result, list)}
        if left:
            raise ChangedMeanwhile("the requests of the day keep changing")


def _write(day: HostDay) -> Operation:
    document = day.to_document()
    return Create(document) if day.stored_etag is None else Replace(document, day.stored_etag)
