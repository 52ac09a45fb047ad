"""How long a feed may bring nothing new by its own rhythm. Pure.

A feed keeps the longest gap between its articles on each of the last days with an article: one gap for each day, since
gaps within a day and a night follow from each other. If gaps are exchangeable, the next is longer than all of n earlier
ones with a chance of 1 in n + 1; and `c` times longer with a chance of at most 1 in (n + 1) · c, even if long gaps grow
rare as slowly as 1 / length. A feed is silent once that chance is under CHANCE, and the gap at least LEAST_FACTOR times
the longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

CHANCE = 0.01
LEAST_FACTOR = 3.0
DAYS_KEPT = 33
"""With so many gaps LEAST_FACTOR is enough for CHANCE."""
FEWEST_DAYS = 5
"""With fewer, a feed may have shown no more than one burst: its rhythm is not known."""
LEAST_GAP = timedelta(hours=6)
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
    factor = max(LEAST_FACTOR, 1 / CHANCE / (len(gaps) + 1))
    return max(LEAST_GAP, timedelta(hours=max(gaps) * factor))
