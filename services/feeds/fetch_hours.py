"""The hours in which fetches of a feed were expected, made, and succeeded: of each feed, and by day of all.

A fetch is expected in an hour if it was made, or was due and not made: a feed that is due stays due until a fetch has
succeeded, also while the app waits after errors, and after the app has disabled the feed. A feed that a person disabled
is not due. A fetch that is made at most GRACE late is on time: in the present hour, a feed that fails has GRACE to
succeed before the hour is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from models.feed import KEPT_HOURS, Feed, FetchDay, FetchDaysProgress, FetchHours
from models.values import hour_key, hour_start, parse_time
from services.ports import Clock, Document, Query, Store, Where, readable
from services.store.change import change
from services.store.containers import CATALOG, FEEDS

GRACE = timedelta(minutes=15)
"""After it was due. A claim, its message and the fetches before it take minutes."""
LOOKED_BACK = timedelta(days=32)

_ALL = (1 << KEPT_HOURS) - 1


def after_fetch(feed: Feed, now: datetime, *, succeeded: bool) -> FetchHours:
    """The hours of the feed after a fetch at `now`; `feed` is as it was before."""
    hour, known = _number(now), feed.fetch_hours
    if known is None:
        known = FetchHours(last=hour_key(now), expected=0, succeeded=0, attempted=0)
    past = max(0, hour - _number(hour_start(known.last)))
    missed = hour - late_since(feed.next_fetch_time, feed.last_fetch_time, feed.consecutive_errors)
    expected = (2 << min(max(missed, 0), KEPT_HOURS)) - 1
    return FetchHours(
        last=hour_key(now),
        expected=(known.expected << past | expected) & _ALL,
        succeeded=(known.succeeded << past | succeeded) & _ALL,
        attempted=(known.attempted << past | 1) & _ALL,
    )


def late_since(due: datetime, fetched: datetime | None, errors: int) -> int:
    """The number of the first hour that is missed if no fetch is made."""
    if errors and fetched is not None:
        return _number(fetched) + 1
    return _number(due + GRACE)


def hours_of(feed: Document, now: datetime) -> dict[str, tuple[int, int, int]]:
    """By day (`yyyymmdd`), the hours of a stored feed as a FetchDay has them, with those that it misses at present."""
    found: dict[str, tuple[int, int, int]] = {}
    known = feed.get("fetch_hours")
    if known:
        last, attempted = _number(hour_start(known["last"])), known["attempted"]
        has_just_failed = feed.get("failing_since") and now < parse_time(feed["failing_since"]) + GRACE
        may_succeed = _number(now) if has_just_failed else None
        for bit in range(KEPT_HOURS):
            if known["expected"] >> bit & 1 and (last - bit != may_succeed or known["succeeded"] >> bit & 1):
                _put(found, last - bit, known["succeeded"] >> bit & 1, attempted >> bit & 1)
    for missed in _missed_now(feed, now):
        _put(found, missed, 0, 0)
    return found


def _missed_now(feed: Document, now: datetime) -> Iterator[int]:
    if not feed["enabled"] and feed.get("disabled_by") != "app":
        return
    fetched = parse_time(feed["last_fetch_time"]) if feed.get("last_fetch_time") else None
    errors = feed.get("consecutive_errors") or 0
    since = late_since(parse_time(feed["next_fetch_time"]), fetched, errors)
    yield from range(max(since, _number(now - LOOKED_BACK)), _number(now))
    if since <= _number(now) and (parse_time(feed["next_fetch_time"]) + GRACE <= now or not feed["enabled"]):
        yield _number(now)


def _put(found: dict[str, tuple[int, int, int]], hour: int, succeeded: int, attempted: int) -> None:
    day, bit = f"{datetime.fromtimestamp(hour * 3600, UTC):%Y%m%d}", hour % 24
    known = found.get(day, (0, 0, 0))
    found[day] = known[0] | 1 << bit, known[1] | succeeded << bit, known[2] | attempted << bit


def _number(moment: datetime) -> int:
    """The number of the hour since 1970."""
    return int(moment.timestamp()) // 3600


# In one call: a thousand feeds in a quarter of an hour, a hundred thousand in a day. Feeds keep two days.
FEEDS_AT_ONCE = 400
_ONLY_FEEDS = Where("entity_type", "eq", "Feed")

# By feed, as a FetchDay has them.
OfDay = dict[str, tuple[int, int, int]]


class FetchDays:
    """Collects, by day, in which hours fetches of all feeds were expected, made, and succeeded.

    The documents of the feeds have this of their last two days: saving a feed costs no write more. `clean_up` collects
    it, so that the coverage of any number of tools is read from a document for each day. Bits are only added: what is
    collected twice, or by two workers, is the same.
    """

    def __init__(self, store: Store, clock: Clock, feeds_at_once: int = FEEDS_AT_ONCE) -> None:
        self._store = store
        self._clock = clock
        self._feeds_at_once = feeds_at_once

    async def work(self) -> int:
        """Collects from the next feeds; from all, unless there are many. Returns the number of feeds."""
        document = await self._store.read(CATALOG.name, FetchDaysProgress.PARTITION, FetchDaysProgress.ID)
        progress = readable(document, FetchDaysProgress.from_document)
        after = progress.after if progress else None
        query = Query((_ONLY_FEEDS,), limit=self._feeds_at_once, after=after, may_be_stale=True)
        page = await self._store.query(FEEDS.name, query)
        now = self._clock()
        found: dict[str, OfDay] = {}
        for feed in page.items:
            for day, bits in hours_of(feed, now).items():
                found.setdefault(day, {})[feed["feed_id"]] = bits
        for day, feeds in found.items():
            await self._add(day, feeds, now)
        if page.next != query.after:
            reached = FetchDaysProgress(created_at=now, after=page.next)
            await self._store.upsert(CATALOG.name, reached.to_document())
        return len(page.items)

    async def _add(self, day: str, feeds: OfDay, now: datetime) -> None:
        def decide(stored: Document | None) -> Document | None:
            before = readable(stored, FetchDay.from_document)
            after = added(before.feeds if before else {}, feeds)
            if before is not None and after == before.feeds:
                return None
            kept = before or FetchDay(created_at=now, day=day)
            return kept.changed(now, feeds=after).to_document()

        await change(self._store, CATALOG.name, FetchDay.PARTITION, day, decide)


def added(known: Mapping[str, tuple[int, int, int]], feeds: OfDay) -> OfDay:
    after = dict(known)
    for feed_id, (expected, succeeded, attempted) in feeds.items():
        before = after.get(feed_id, (0, 0, 0))
        after[feed_id] = before[0] | expected, before[1] | succeeded, before[2] | attempted
    return after
