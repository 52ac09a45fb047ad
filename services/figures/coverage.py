"""Coverage: of the fetches of a tool's relevant feeds that were expected in some hours, the share that succeeded.

Relevant are the feeds that brought mentions of the tool in the last 30 days, and feeds of which nothing is known, since
no fetch of theirs succeeded in that time; all feeds if no feed has brought mentions. Hours count as a whole. Nothing is
known of an hour without an expected fetch, nor of a time in which no fetch was made, as in a standstill of the app. If
fetches were made in a part of the time, those that were due in the rest of it and not made are missed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from models.cache import PERIODS, Window
from models.feed import FetchDay
from services.ports import Document, Query, Store, Where, pages, readable
from services.store.containers import CATALOG

READ_AGAIN_AFTER = timedelta(minutes=1)
KEPT_DAYS = 33
_MONTH = 30 * 24
_PAGE = 100


@dataclass(slots=True)
class Fetches:
    """The hours of all feeds: by feed, those with an expected fetch, with a successful one, and with any that was made,
    as bits from the hour `_first` on."""

    _first: int | None = None
    _expected: dict[str, int] = field(default_factory=dict)
    _succeeded: dict[str, int] = field(default_factory=dict)
    _attempted: dict[str, int] = field(default_factory=dict)

    def add(self, document: Document) -> None:
        start = _number(datetime.strptime(document["day"], "%Y%m%d").replace(tzinfo=UTC))
        if self._first is None:
            self._first = start - KEPT_DAYS * 24
        shift = start - self._first
        if shift < 0:
            return  # longer ago than any figure reaches back
        tables = self._expected, self._succeeded, self._attempted
        for feed_id, stored in document["feeds"].items():
            for table, hours in zip(tables, stored, strict=True):
                table[feed_id] = table.get(feed_id, 0) | hours << shift

    def unknown_feeds(self, now: datetime) -> frozenset[str]:
        """The feeds of which no fetch succeeded in the last 30 days."""
        last = self._mask(_number(now) - _MONTH, _number(now) + 1)
        return frozenset(each for each, hours in self._succeeded.items() if not hours & last)

    def relevant(self, sources: frozenset[str], unknown: frozenset[str]) -> frozenset[str] | None:
        """The relevant feeds of a tool with mentions of these sources; None for all feeds."""
        known = sources & self._expected.keys()
        return known | unknown if known else None

    def share(self, start: datetime, end: datetime, feeds: Collection[str] | None) -> float | None:
        """The share of the expected fetches of these feeds (of all: None) that succeeded, in the hours from that of
        `start` up to that of `end`, without the latter if `end` is its beginning. Four decimals; None if none of them
        was made."""
        hours = self._mask(_number(start), _number(end - timedelta(microseconds=1)) + 1)
        expected = succeeded = attempted = 0
        for feed_id in self._expected if feeds is None else feeds:
            expected += (self._expected.get(feed_id, 0) & hours).bit_count()
            succeeded += (self._succeeded.get(feed_id, 0) & hours).bit_count()
            attempted |= self._attempted.get(feed_id, 0) & hours
        return round(succeeded / expected, 4) if attempted else None

    def _mask(self, start: int, end: int) -> int:
        if self._first is None:
            return 0
        first, last = max(0, start - self._first), max(0, end - self._first)
        return (1 << last) - (1 << first) if last > first else 0


@dataclass(slots=True)
class Coverage:
    """Reads the days of fetches: all once, then today and yesterday, as bits are only added to these."""

    store: Store
    _fetches: Fetches = field(default_factory=Fetches)
    _read_at: datetime | None = None

    async def fetches(self, now: datetime) -> Fetches:
        """As they were read at most READ_AGAIN_AFTER ago."""
        last = self._read_at
        # A negative difference: the clock was set back.
        if last is None or not timedelta(0) <= now - last < READ_AGAIN_AFTER:
            since = now - timedelta(days=KEPT_DAYS) if last is None else min(now, last) - timedelta(days=1)
            where = (Where("id", "ge", f"{since:%Y%m%d}"),)
            query = Query(where, partition=FetchDay.PARTITION, limit=_PAGE, may_be_stale=True)
            async for page in pages(self.store, CATALOG.name, query):
                for document in page.items:
                    if readable(document, FetchDay.from_document) is not None:
                        self._fetches.add(document)
            self._read_at = now
        return self._fetches


class Shares:
    """The coverage of tools at one time, and the four windows then. What is equal for several tools is computed
    once."""

    def __init__(self, fetches: Fetches, now: datetime) -> None:
        self.windows = {period: Window.at(period, now) for period in PERIODS}
        self.seconds = {period: window.seconds for period, window in self.windows.items()}
        self._fetches = fetches
        self._unknown = fetches.unknown_feeds(now)
        self._known: dict[tuple[datetime, datetime, frozenset[str]], float | None] = {}

    def of(self, window: Window, since: datetime | None, sources: frozenset[str]) -> float | None:
        """The coverage for a tool with mentions of these sources, for which articles are searched since `since`."""
        start = window.end if since is None else max(window.start, since)
        key = start, window.end, sources
        if key not in self._known:
            relevant = self._fetches.relevant(sources, self._unknown)
            self._known[key] = self._fetches.share(start, window.end, relevant) if start < window.end else None
        return self._known[key]


def _number(moment: datetime) -> int:
    """The number of the hour since 1970."""
    return int(moment.timestamp()) // 3600
