"""How a feed publishes: what its fetches taught, and the rate of articles that is to be expected of it now. Pure.

`observe` folds a fetch into a Rhythm, `expected_rate` reads it; when to fetch is schedule.py's. The model is in
docs/adr/0006-adaptive-schedule.md: how soon the next article comes depends on how long the last one is ago, which is
learned for each feed, and on the hour of the day.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from models.feed import HOURS, Feed

FLAT = (0.0,) * HOURS
GAPS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 12.0, 16.0, 22.0, 26.0)
"""Hours since the newest article, where one step ends and the next begins; the last has no end."""
STEPS = len(GAPS) + 1
NO_GAPS = (0.0,) * STEPS

RATE_MEMORY_HOURS = 24.0  # the specification's "rolling 24h window"
MEMORY_HOURS = 28 * 24.0
REPLAY_HOURS = 7 * 24.0  # of a longer gap only the end is looked at
MOST_AT_ONCE = 20  # articles; a flood says no more about next time than a big burst does
AT_ONCE_HOURS = 1 / 60

# What is taken for granted of a new feed, as if it had been seen: a few articles outweigh it. People publish in
# sessions, and come back the next day.
USUAL = (4.0, 4.0, 3.5, 2.0, 1.0, 0.6, 0.4, 0.4, 0.6, 0.7, 0.8, 0.7)
"""The rate in each step, against the feed's mean rate."""
STEP_PRIOR = 2.0
PRIOR_ARTICLES, PRIOR_HOURS = 1.0, 12.0
HOUR_PRIOR = 5.0


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How one feed publishes. The fields are those of the feed document; counts and hours fade as they age.

    `gap_articles` came in each step of GAPS, `gap_hours` were spent in it. `silent_hours` had passed since the newest
    article at the last fetch.
    """

    articles_per_hour: float = 0.0
    hourly_distribution: tuple[float, ...] = FLAT
    last_fetch_time: datetime | None = None
    fetches_per_hour: float = 0.0
    gap_articles: tuple[float, ...] = NO_GAPS
    gap_hours: tuple[float, ...] = NO_GAPS
    silent_hours: float = 0.0

    def hour_multiplier(self, hour: int) -> float:
        """As Feed has it, in the specification's words."""
        total = sum(self.hourly_distribution)
        return self.hourly_distribution[hour] * HOURS / total if total > 0 else 1.0

    def as_fields(self) -> dict[str, Any]:
        """For Feed.changed, without `last_fetch_time`, which failed fetches move too."""
        return {
            "articles_per_hour": round(self.articles_per_hour, 6),
            "fetches_per_hour": round(self.fetches_per_hour, 6),
            "silent_hours": round(self.silent_hours, 4),
            "hourly_distribution": _rounded(self.hourly_distribution),
            "gap_articles": _rounded(self.gap_articles),
            "gap_hours": _rounded(self.gap_hours),
        }


def rhythm_of(feed: Feed) -> Rhythm:
    """What the feed's document holds; only fetches that succeeded were observed."""
    known = len(feed.gap_articles) == len(feed.gap_hours) == STEPS
    return Rhythm(
        articles_per_hour=feed.articles_per_hour,
        hourly_distribution=feed.hourly_distribution,
        last_fetch_time=feed.last_successful_fetch,
        fetches_per_hour=feed.fetches_per_hour,
        gap_articles=feed.gap_articles if known else NO_GAPS,
        gap_hours=feed.gap_hours if known else NO_GAPS,
        silent_hours=feed.silent_hours,
    )


def observe(rhythm: Rhythm, new_articles: int, published_times: Sequence[datetime], now: datetime) -> Rhythm:
    """The rhythm after a fetch that could be read and held `new_articles` that were not known.

    `published_times` are those of the new articles that say so; the others are taken to have come evenly since the
    last such fetch. At the first one the feed's own history is all there is: it is replayed from the oldest time, and
    what has none, which may be of any age, is left out.
    A fetch that failed teaches nothing: it is not observed, and the next one covers its time.
    """
    first = rhythm.last_fetch_time is None
    if first:
        new_articles = min(new_articles, len(published_times))
    start = rhythm.last_fetch_time or min(published_times, default=now)
    begin, end = min(start, now).timestamp() / 3600, now.timestamp() / 3600
    learning = _Learning(rhythm, begin, max(begin, end - REPLAY_HOURS), end)
    for at, last, articles in _arrivals(learning.at, end, new_articles, published_times):
        learning.pass_until(at)
        learning.take(articles, last, gap_known=not first)
        first = False
    learning.pass_until(end)
    return learning.after_fetch(now)


def expected_rate(rhythm: Rhythm, now: datetime) -> float:
    """Articles per hour that are to be expected now, if none came since the last fetch."""
    silent = rhythm.silent_hours
    if rhythm.last_fetch_time is not None:
        silent += max((now - rhythm.last_fetch_time) / timedelta(hours=1), 0.0)
    counts = rhythm.hourly_distribution
    return _gap_rate(rhythm, bisect_right(GAPS, silent)) * _hour_scale(counts, sum(counts), now.astimezone(UTC).hour)


def _gap_rate(rhythm: Rhythm, step: int) -> float:
    """What was seen in this step, and by half in those beside it; little of it is drawn to what is usual."""
    found, spent = rhythm.gap_articles, rhythm.gap_hours
    mean = (sum(found) + PRIOR_ARTICLES) / (sum(spent) + PRIOR_HOURS)
    articles, hours = found[step], spent[step]
    for beside in (step - 1, step + 1):
        if 0 <= beside < STEPS:
            articles += found[beside] / 2
            hours += spent[beside] / 2
    return (articles + STEP_PRIOR) / (hours + STEP_PRIOR / (mean * USUAL[step]))


def _hour_scale(counts: Sequence[float], total: float, hour: int) -> float:
    """This hour against the mean hour, smoothed with its neighbours and drawn to 1 while little is known."""
    near = counts[hour - 1] / 2 + counts[hour] + counts[hour + 1 - HOURS] / 2
    return (near + HOUR_PRIOR) / (total * 2 / HOURS + HOUR_PRIOR)


def _arrivals(
    start: float, end: float, new_articles: int, published_times: Sequence[datetime]
) -> Iterator[tuple[float, float, int]]:
    """First and last time, in hours since the epoch, and number of articles that came at once; in order."""
    if new_articles <= 0:
        return
    # An article that turns up now came after the last fetch, whatever it says.
    times = [min(max(time.timestamp() / 3600, start), end) for time in published_times[:new_articles]]
    undated = new_articles - len(times)
    times += [start + (end - start) * (place + 0.5) / undated for place in range(undated)]
    times.sort()
    first, articles = times[0], 0
    for before, time in pairwise([first, *times]):
        if time - before >= AT_ONCE_HOURS:
            yield first, before, articles
            first, articles = time, 0
        articles += 1
    yield first, times[-1], articles


class _Learning:
    """A rhythm while time is folded into it, in plain numbers: hours since the epoch."""

    def __init__(self, rhythm: Rhythm, last_fetch: float, start: float, end: float) -> None:
        self.at = start
        self.newest = last_fetch - rhythm.silent_hours
        keep = math.exp((last_fetch - end) / MEMORY_HOURS)
        self.counts = [count * keep for count in rhythm.hourly_distribution]
        self.total = sum(self.counts)
        self.found = [articles * keep for articles in rhythm.gap_articles]
        self.spent = [hours * keep for hours in rhythm.gap_hours]
        self.watched = sum(self.spent)
        recent = math.exp((last_fetch - start) / _rate_memory(self.watched))
        self.per_hour = rhythm.articles_per_hour * recent
        self.fetches = rhythm.fetches_per_hour * recent

    def pass_until(self, to: float) -> None:
        """Time without an article: it is spent in the steps that it goes through, an hour of the day counting as much
        as it usually brings."""
        at = self.at
        if to <= at:
            return
        counts, total, newest, spent = self.counts, self.total, self.newest, self.spent
        step = bisect_right(GAPS, at - newest)
        while at < to:
            scale = _hour_scale(counts, total, int(at) % HOURS)
            step_end = newest + GAPS[step] if step < len(GAPS) else math.inf
            until = max(at, min(to, int(at) + 1.0, step_end))
            spent[step] += (until - at) * scale
            step += step_end <= until
            at = until
        passed = to - self.at
        self.watched += passed
        recent = math.exp(-passed / _rate_memory(self.watched))
        self.per_hour *= recent
        self.fetches *= recent
        self.at = to

    def take(self, articles: int, last: float, *, gap_known: bool) -> None:
        """They come now and until `last`, at once: how long the first took holds for all."""
        counted = min(articles, MOST_AT_ONCE)
        if gap_known:
            self.found[bisect_right(GAPS, self.at - self.newest)] += counted
        self.counts[int(self.at) % HOURS] += counted
        self.total += counted
        self.per_hour += articles / _rate_memory(self.watched)
        self.newest = last

    def after_fetch(self, now: datetime) -> Rhythm:
        return Rhythm(
            articles_per_hour=self.per_hour,
            hourly_distribution=tuple(self.counts),
            last_fetch_time=now,
            fetches_per_hour=self.fetches + 1 / _rate_memory(self.watched),
            gap_articles=tuple(self.found),
            gap_hours=tuple(self.spent),
            silent_hours=self.at - self.newest,
        )


def _rate_memory(hours_watched: float) -> float:
    """Hours that the running rate looks back: as many as were watched, up to a day, so that a young feed's is fair."""
    return min(max(hours_watched, 1.0), RATE_MEMORY_HOURS)


def _rounded(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple([round(number, 4) for number in numbers])
