"""What a feed usually brings: how many new articles in a day, and how long it is silent in between. Pure.

Without a bound in a day, one feed could fill the store.
The limit follows from the feed's own history: FACTOR times its usual day, at least MIN_PER_DAY and at most
MAX_PER_DAY. A feed without history may bring MAX_PER_DAY in all within its first days. A person may give another
limit. Each new article raises the feed's daily volume, and time lowers it again. What exceeds the limit is quarantined.

A feed keeps the longest gap between its articles on each of the last days with an article: one gap for each day, since
gaps within a day and a night follow from each other. If gaps are exchangeable, the next is longer than all of n earlier
ones with a chance of 1 in n + 1; and `c` times longer with a chance of at most 1 in (n + 1) · c, even if long gaps grow
rare as slowly as 1 / length. A feed is silent once that chance is under CHANCE, and the gap at least MIN_FACTOR times
the longest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from models.feed import Feed

MAX_PER_DAY = 20_000
"""As many as the largest feed document has entries, so that any document can be ingested once."""
MIN_PER_DAY = 1_000
FACTOR = 10.0
"""News come in waves: of 120 publishers over 12 days, the busiest day of one had 5.9 times its mean day."""
FIRST_DAYS = timedelta(days=3)
MEMORY = timedelta(days=28)

_DAY = timedelta(days=1)


def usual_after(feed: Feed, new_articles: int, now: datetime) -> float | None:
    """The usual number of new articles in a day, after a fetch with `new_articles`. The first feed document does not
    count: its articles may be of any age."""
    if feed.first_fetched_at is None or feed.last_successful_fetch is None:
        return 0.0
    memory = min(MEMORY, max(_DAY, now - feed.first_fetched_at)) / _DAY
    passed = max(timedelta(0), now - feed.last_successful_fetch) / _DAY
    return round((feed.articles_per_day or 0.0) * math.exp(-passed / memory) + new_articles / memory, 4)


def has_history(feed: Feed, now: datetime) -> bool:
    """Whether the usual day of the feed is known."""
    return feed.first_fetched_at is not None and now - feed.first_fetched_at >= FIRST_DAYS


def limit_of(feed: Feed, now: datetime) -> int:
    """The new articles that the feed may bring in a day."""
    if feed.daily_limit is not None:
        return feed.daily_limit
    if feed.articles_per_day is None or not has_history(feed, now):
        return MAX_PER_DAY
    return int(min(MAX_PER_DAY, max(MIN_PER_DAY, FACTOR * feed.articles_per_day)))


def volume_of(feed: Feed, now: datetime) -> float:
    """The daily volume now: that of the last fetch, less what has gone since. In the first days nothing goes."""
    if feed.last_fetch_time is None or (feed.first_fetched_at is not None and not has_history(feed, now)):
        return feed.daily_volume
    gone = max(timedelta(0), now - feed.last_fetch_time) / _DAY
    return max(0.0, feed.daily_volume - gone * limit_of(feed, now))


def room_for_new(feed: Feed, now: datetime) -> int:
    """How many new articles the feed may bring now."""
    return max(0, int(limit_of(feed, now) - volume_of(feed, now)))


def is_implausible(feed: Feed, entries: int, now: datetime) -> bool:
    """Whether so many entries that are new or changed are far more than the feed brings, so that none of the new ones
    is ingested unseen. A feed without history may bring its whole document."""
    return has_history(feed, now) and entries > limit_of(feed, now)


CHANCE = 0.01
MIN_FACTOR = 3.0
DAYS_KEPT = 33
"""With so many gaps MIN_FACTOR is enough for CHANCE."""
FEWEST_DAYS = 5
"""With fewer, a feed may have shown no more than one burst: its rhythm is not known."""
MIN_GAP = timedelta(hours=6)
"""Shorter gaps are no silence: a feed is fetched every 15 minutes, and some servers ask for longer."""

_HOUR = timedelta(hours=1)


def gaps_after(
    gaps: Sequence[float],
    newest: datetime | None,
    new_articles: int,
    published: Sequence[datetime],
    last_fetch: datetime | None,
    now: datetime,
) -> tuple[tuple[float, ...], datetime | None]:
    """The gaps, in hours, and when the newest article appeared, after a fetch with `new_articles`; `published` are the
    dates of those that have one.

    What is new to a fetch appeared since the one before, whatever its date. The first fetch tells the history of the
    feed by its dates; without any, its articles appeared now.
    """
    if new_articles <= 0:
        return tuple(gaps), newest
    times = sorted(min(each, now) if last_fetch is None else min(max(each, last_fetch), now) for each in published)
    if not times or (last_fetch is not None and len(times) < new_articles):
        times.append(now)
    kept = list(gaps)
    for time in times:
        if newest is not None and time > newest:
            gap = round((time - newest) / _HOUR, 1)
            if kept and time.date() == newest.date():
                kept[-1] = max(kept[-1], gap)
            else:
                kept.append(gap)
        newest = time if newest is None else max(newest, time)
    return tuple(kept[-DAYS_KEPT:]), newest


def longest_explained(gaps: Sequence[float]) -> timedelta | None:
    """The longest gap that the feed's rhythm explains; None if its rhythm is not known."""
    if len(gaps) < FEWEST_DAYS:
        return None
    factor = max(MIN_FACTOR, 1 / CHANCE / (len(gaps) + 1))
    return max(MIN_GAP, timedelta(hours=max(gaps) * factor))
