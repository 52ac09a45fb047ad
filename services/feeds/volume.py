"""How many new articles a feed may bring: without a bound, one feed could fill the store. Pure.

Each new article raises the feed's daily volume, and time lowers it again. What exceeds the volume is quarantined.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from models.feed import Feed

NEW_PER_DAY = 20_000
"""As many as the largest feed document has entries, so that any document can be ingested once."""


def volume_of(feed: Feed, now: datetime) -> float:
    """The daily volume now: that of the last fetch, less what has gone since."""
    if feed.last_fetch_time is None:
        return feed.daily_volume
    gone = max(timedelta(0), now - feed.last_fetch_time) / timedelta(days=1)
    return max(0.0, feed.daily_volume - gone * NEW_PER_DAY)


def room_for_new(feed: Feed, now: datetime) -> int:
    """How many new articles the feed may bring now."""
    return max(0, int(NEW_PER_DAY - volume_of(feed, now)))
