"""What an RSS channel says about when to ask again: ttl, skipHours, skipDays, and the syndication module.

Read with expressions from the text before the first entry, since feedparser keeps one hour of a list. A wrong hint
costs a poll, never an article.
"""

from __future__ import annotations

import re

from models.raw_item import Freshness

_FIRST_ENTRY = re.compile(rb"<(?:[\w.-]{1,20}:)?(?:item|entry)[\s>]", re.IGNORECASE)
_TTL = re.compile(rb"<ttl>\s{0,20}(\d{1,6})\s{0,20}</ttl>")
_SKIP_HOURS = re.compile(rb"<skiphours>([^!]{0,2000}?)</skiphours>")
_HOUR = re.compile(rb"<hour>\s{0,20}(\d{1,2})\s{0,20}</hour>")
_SKIP_DAYS = re.compile(rb"<skipdays>([^!]{0,2000}?)</skipdays>")
_DAY = re.compile(rb"<day>\s{0,20}([a-z]{6,9})\s{0,20}</day>")
_PERIOD = re.compile(rb"<sy:updateperiod>\s{0,20}([a-z]{5,7})\s{0,20}</")
_FREQUENCY = re.compile(rb"<sy:updatefrequency>\s{0,20}(\d{1,4})\s{0,20}</")
_MOVED = re.compile(
    rb"<itunes:new-feed-url>\s{0,20}(https?://[!-;=-~]{1,2000}?)\s{0,20}</itunes:new-feed-url>", re.IGNORECASE
)
_PERIOD_MINUTES = {"hourly": 60, "daily": 1_440, "weekly": 10_080, "monthly": 43_200, "yearly": 525_600}
_DAY_NAMES = frozenset({"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"})
_MAX_HEAD = 100_000


_SAYS_NOTHING = Freshness()


def head_of(body: bytes) -> bytes:
    """The channel's own part of a document."""
    head = body[:_MAX_HEAD]
    first = _FIRST_ENTRY.search(head)
    return head[: first.start()] if first else head


def read_freshness(head: bytes) -> Freshness:
    head = head.lower()
    if b"<ttl" not in head and b"<skip" not in head and b"<sy:" not in head:
        return _SAYS_NOTHING
    ttl = _TTL.search(head)
    hours, days = _SKIP_HOURS.search(head), _SKIP_DAYS.search(head)
    named_hours = {int(hour) % 24 for hour in _HOUR.findall(hours[1]) if int(hour) <= 24} if hours else set()
    named_days = {day.decode() for day in _DAY.findall(days[1])} if days else set()
    return Freshness(
        ttl_minutes=int(ttl[1]) if ttl else None,
        update_minutes=_update_minutes(head),
        skip_hours=frozenset(named_hours),
        skip_days=frozenset(named_days & _DAY_NAMES),
    )


def _update_minutes(head: bytes) -> int | None:
    period = _PERIOD.search(head)
    minutes = _PERIOD_MINUTES.get(period[1].decode()) if period else None
    if minutes is None:
        return None
    frequency = _FREQUENCY.search(head)
    return max(1, minutes // max(1, int(frequency[1]))) if frequency else minutes


def read_new_url(head: bytes) -> str | None:
    """Where the feed says that it has moved for good."""
    moved = _MOVED.search(head) if b"new-feed-url" in head else None
    return moved[1].decode("ascii").replace("&amp;", "&") if moved else None
