"""The hours in which fetches of a feed were expected, made, and succeeded. Pure.

A fetch is expected in an hour if it was made, or was due and not made: a feed that is due stays due until a fetch has
succeeded, also while the app waits after errors, and after the app has disabled the feed. A feed that a person disabled
is not due. A fetch that is made at most GRACE late is on time: in the present hour, a feed that fails has GRACE to
succeed before the hour is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from models.coverage import KEPT_HOURS, FetchHours
from models.feed import Feed
from models.values import hour_key, hour_start, parse_time
from services.ports import Document

GRACE = timedelta(minutes=15)
"""After it was due. A claim, its message and the fetches before it take minutes."""
LOOKED_BACK = timedelta(days=32)

_ALL = (1 << KEPT_HOURS) - 1


def after_fetch(feed: Feed, now: datetime, *, succeeded: bool) -> FetchHours:
    """The hours of the feed after a fetch at `now`; `feed` is as it was before."""
    hour, known = _number(now), feed.fetch_hours
    expected = was_successful = attempted = 0
    if known is not None:
        past = max(0, hour - _number(hour_start(known.last)))
        expected, was_successful = (known.expected << past) & _ALL, (known.succeeded << past) & _ALL
        attempted = ((known.expected if known.attempted is None else known.attempted) << past) & _ALL
    since = late_since(feed.next_fetch_time, feed.last_fetch_time, feed.consecutive_errors)
    for missed in range(max(since, hour - KEPT_HOURS + 1), hour):
        expected |= 1 << (hour - missed)
    return FetchHours(
        last=hour_key(now),
        expected=expected | 1,
        succeeded=was_successful | int(succeeded),
        attempted=attempted | 1,
    )


def late_since(due: datetime, fetched: datetime | None, errors: int) -> int:
    """The number of the first hour that is missed if no fetch is made."""
    if errors and fetched is not None:
        return _number(fetched) + 1
    return _number(due + GRACE)


def hours_of(feed: Document, now: datetime) -> dict[str, tuple[int, int, int]]:
    """By day (`yyyymmdd`), the hours of a stored feed as a FetchDay has them, with those that it misses at present."""
    found: dict[str, list[int]] = {}
    known = feed.get("fetch_hours")
    if known:
        last, attempted = _number(hour_start(known["last"])), known.get("attempted", known["expected"])
        may_succeed = _number(now) if _has_just_failed(feed, now) else None
        for bit in range(KEPT_HOURS):
            if known["expected"] >> bit & 1 and (last - bit != may_succeed or known["succeeded"] >> bit & 1):
                _put(found, last - bit, known["succeeded"] >> bit & 1, attempted >> bit & 1)
    for missed in _missed_now(feed, now):
        _put(found, missed, 0, 0)
    return {day: (bits[0], bits[1], bits[2]) for day, bits in found.items()}


def _has_just_failed(feed: Document, now: datetime) -> bool:
    return bool(feed.get("failing_since")) and now < parse_time(feed["failing_since"]) + GRACE


def _missed_now(feed: Document, now: datetime) -> Iterator[int]:
    if not feed["enabled"] and feed.get("disabled_by") != "app":
        return
    fetched = parse_time(feed["last_fetch_time"]) if feed.get("last_fetch_time") else None
    errors = feed.get("consecutive_errors") or 0
    since = late_since(parse_time(feed["next_fetch_time"]), fetched, errors)
    yield from range(max(since, _number(now - LOOKED_BACK)), _number(now))
    if since <= _number(now) and (parse_time(feed["next_fetch_time"]) + GRACE <= now or not feed["enabled"]):
        yield _number(now)


def _put(found: dict[str, list[int]], hour: int, succeeded: int, attempted: int) -> None:
    key = hour_key(_moment(hour))
    bits = found.setdefault(key[:8], [0, 0, 0])
    bits[0] |= 1 << int(key[8:])
    bits[1] |= succeeded << int(key[8:])
    bits[2] |= attempted << int(key[8:])


def _number(moment: datetime) -> int:
    """The number of the hour since 1970."""
    return int(moment.timestamp()) // 3600


def _moment(hour: int) -> datetime:
    return datetime.fromtimestamp(hour * 3600, UTC)
