"""When to fetch a feed next: what was learned at its fetches, and the time that follows from it. Pure.

Rhythm is what is known of how a feed publishes; `observe` folds a fetch into it, `next_fetch` turns it into a time.
Nothing here claims, fetches or stores. Why it is done so, and what it gains: docs/adr/0006-adaptive-schedule.md.

The model: a feed is active or quiet, hidden, and publishes at one rate in each. Every fetch, whether or not it found
something, moves the probability that it is active (`active_probability`) and, by that, its two learned rates. The hour
of the day scales both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from models.feed import HOURS, Feed, Weekday

DAYS: tuple[Weekday, ...] = get_args(Weekday)
FLAT = (0.0,) * HOURS

RATE_MEMORY_HOURS = 24.0  # the specification's "rolling 24h window"
MEMORY_HOURS = 14 * 24.0
REPLAY_HOURS = 7 * 24  # of a longer gap only the end is looked at hour by hour
MOST_AT_ONCE = 20  # articles; a flood says no more about next time than a big burst does

STAYS_ACTIVE_HOURS = 4.0
STAYS_QUIET_HOURS = 13.0
CHANGES_PER_HOUR = 1 / STAYS_ACTIVE_HOURS + 1 / STAYS_QUIET_HOURS
USUALLY_ACTIVE = 1 / STAYS_QUIET_HOURS / CHANGES_PER_HOUR
QUIET_SHARE = 0.05  # an article is that much less likely from a quiet feed
LIKELIER = 1 / QUIET_SHARE
CONVINCING = 2  # articles; more at once convince no further

# What is taken for granted of a new feed, as if it had been seen: a day or two of fetching outweighs it.
PRIOR_HOURS, PRIOR_ACTIVE, PRIOR_QUIET = 4.0, 0.8, 0.2
HOUR_PRIOR = 5.0

PRICE_SCALE = 256.0
"""article-seconds times (fetches per feed-hour)²: what makes publishers of a few articles a day use the budget up."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the schedule may cost. `fetches_per_feed_hour` is the budget, on average over all feeds.

    A fetch is worth `price` article-seconds of waiting. `price_factor` is 1 unless feeds publish unlike those that
    PRICE_SCALE was measured on; `corrected_price_factor` finds it from what was really spent.
    """

    fetches_per_feed_hour: float = 8.0
    min_interval: timedelta = timedelta(minutes=1)
    max_interval: timedelta = timedelta(minutes=15)
    target_articles: float = 5.0
    peak_multiplier: float = 1.5
    peak_share: float = 0.7
    longest_hint: timedelta = timedelta(hours=24)
    price_factor: float = 1.0

    @property
    def price(self) -> float:
        return self.price_factor * PRICE_SCALE / self.fetches_per_feed_hour**2


@dataclass(frozen=True, slots=True)
class Hints:
    """What the server, the feed and earlier failures ask for. `jitter` is from 0 to below 1, the caller's choice."""

    consecutive_errors: int = 0
    retry_after_seconds: float | None = None
    max_age_seconds: float | None = None
    ttl_minutes: float | None = None
    skip_hours: frozenset[int] = frozenset()  # of UTC, as are the days
    skip_days: frozenset[Weekday] = frozenset()
    jitter: float = 0.0


Rule = Literal["retry_after", "backoff", "max_age", "ttl", "skip", "formula", "expected"]


@dataclass(frozen=True, slots=True)
class NextFetch:
    """`rule` is what decided, `reason` the same for people."""

    at: datetime
    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How one feed publishes. The fields are those of the feed document; counts and hours fade as they age."""

    articles_per_hour: float = 0.0
    hourly_distribution: tuple[float, ...] = FLAT
    last_fetch_time: datetime | None = None
    fetches_per_hour: float = 0.0
    active_probability: float = 0.5
    active_articles: float = 0.0
    active_hours: float = 0.0
    quiet_articles: float = 0.0
    quiet_hours: float = 0.0

    def hour_multiplier(self, hour: int) -> float:
        """As Feed has it, in the specification's words."""
        total = sum(self.hourly_distribution)
        return self.hourly_distribution[hour] * HOURS / total if total > 0 else 1.0

    def as_fields(self) -> dict[str, Any]:
        """For Feed.changed, without `last_fetch_time`, which failed fetches move too."""
        counts = tuple(round(count, 4) for count in self.hourly_distribution)
        return {**{name: round(getattr(self, name), 6) for name in _NUMBERS}, "hourly_distribution": counts}


_NUMBERS = tuple(each.name for each in fields(Rhythm) if each.name not in ("hourly_distribution", "last_fetch_time"))


def rhythm_of(feed: Feed) -> Rhythm:
    """What the feed's document holds; only fetches that succeeded were observed."""
    values = {name: getattr(feed, name) for name in _NUMBERS}
    return Rhythm(**values, hourly_distribution=feed.hourly_distribution, last_fetch_time=feed.last_successful_fetch)


def observe(rhythm: Rhythm, new_articles: int, published_times: Sequence[datetime], now: datetime) -> Rhythm:
    """The rhythm after a fetch that could be read and held `new_articles` that were not known.

    `published_times` are those of the new articles that say so; the others are taken to have come evenly since the
    last such fetch. At the first one the feed's own history is all there is, so it is replayed from the oldest time.
    A fetch that failed teaches nothing: it is not observed, and the next one covers its time.
    """
    start = rhythm.last_fetch_time
    if start is None:
        start = min(published_times, default=now)
    learning = _Learning(rhythm)
    horizon = now - timedelta(hours=REPLAY_HOURS)
    if start < horizon:
        learning.forget((horizon - start) / timedelta(hours=1))
        start = horizon
    start = min(start, now)
    pieces, hours = _pieces(start, now, new_articles, published_times)
    learning.learn(start, hours, pieces)
    return learning.after_fetch(now)


def next_fetch(rhythm: Rhythm, now: datetime, policy: Policy, hints: Hints | None = None) -> NextFetch:
    """When to fetch next: the first of these that has something to say.

    Retry-After and error backoff (the later of the two); the server's max-age, else the feed's ttl, as the earliest;
    skipHours and skipDays; the interval, which is never later than the specification's and never under a minute.
    """
    hints = hints or Hints()
    told = _told_to_wait(hints, policy)
    if told is not None:
        rule, wait = told
        at = now + wait * (1 + 0.1 * hints.jitter)
        return NextFetch(at, rule, f"{rule.replace('_', ' ')}: {_words(wait)}")
    rule, wait, reason = _own_interval(rhythm, now, policy)
    wait = max(wait * (1 - 0.1 * hints.jitter), policy.min_interval)
    fresh = _fresh_for(hints, policy)
    if fresh is not None and fresh[1] > wait:
        rule, wait = fresh
        reason = f"{rule.replace('_', ' ')}: {_words(wait)}"
    at = now + wait
    allowed = _next_allowed(at, hints)
    if allowed > at:
        return NextFetch(allowed, "skip", f"the feed skips {at:%A %H}:00 UTC")
    return NextFetch(at, rule, reason)


def formula_interval(rhythm: Rhythm, now: datetime, policy: Policy) -> timedelta:
    """The specification's interval, with the rate taken over time: the latest that is allowed."""
    wait = policy.max_interval
    if rhythm.articles_per_hour > 0:
        hours = policy.target_articles / rhythm.articles_per_hour
        wait = min(wait, timedelta(hours=min(hours, 1e6)))
    wait = max(wait, policy.min_interval)
    if rhythm.hour_multiplier(_hour(now)) > policy.peak_multiplier:
        wait = max(wait * policy.peak_share, policy.min_interval)
    return wait


def expected_rate(rhythm: Rhythm, now: datetime) -> float:
    """Articles per hour that are to be expected next."""
    active, quiet = _rates(rhythm, now)
    return rhythm.active_probability * active + (1 - rhythm.active_probability) * quiet


def corrected_price_factor(policy: Policy, fetches_per_hour: Sequence[float]) -> float:
    """The price factor that brings these feeds (their `fetches_per_hour`) nearer to the budget; for a daily chore.

    Fetches that the longest interval makes anyway cannot be saved, so only those above are compared, and one step at
    most doubles or halves the price, since a day's average lags.
    """
    if not fetches_per_hour:
        return policy.price_factor
    least = timedelta(hours=1) / policy.max_interval
    above = max(sum(fetches_per_hour) / len(fetches_per_hour) - least, 0.0)
    wanted = max(policy.fetches_per_feed_hour - least, 0.01)
    step = min(max((above / wanted) ** 2, 0.5), 2.0)
    return min(max(policy.price_factor * step, 1 / 64), 64.0)


def _own_interval(rhythm: Rhythm, now: datetime, policy: Policy) -> tuple[Rule, timedelta, str]:
    latest = formula_interval(rhythm, now, policy)
    rate = expected_rate(rhythm, now)
    # Articles that come at `rate` have waited rate·T²/2 together after T: fetch when that is what a fetch is worth.
    best = timedelta(hours=min(math.sqrt(2 * policy.price / 3600 / max(rate, 1e-9)), 1e6))
    text = f"{rate:.2g} articles an hour expected, {rhythm.active_probability:.0%} active"
    if best >= latest:
        return "formula", latest, f"at most {_words(latest)}; {text}"
    return "expected", max(best, policy.min_interval), text


def _told_to_wait(hints: Hints, policy: Policy) -> tuple[Rule, timedelta] | None:
    waits: list[tuple[timedelta, Rule]] = []
    if hints.retry_after_seconds is not None:
        asked = _bounded(hints.retry_after_seconds, policy)
        waits.append((max(asked, policy.min_interval), "retry_after"))
    if hints.consecutive_errors > 0:
        waits.append((timedelta(minutes=min(2 ** min(hints.consecutive_errors, 6), 60)), "backoff"))
    if not waits:
        return None
    wait, rule = max(waits)
    return rule, wait


def _fresh_for(hints: Hints, policy: Policy) -> tuple[Rule, timedelta] | None:
    if hints.max_age_seconds is not None:
        return "max_age", _bounded(hints.max_age_seconds, policy)
    if hints.ttl_minutes is not None:
        return "ttl", _bounded(hints.ttl_minutes * 60, policy)
    return None


def _bounded(seconds: float, policy: Policy) -> timedelta:
    longest = policy.longest_hint.total_seconds()
    return timedelta(seconds=max(0.0, min(seconds, longest)) if seconds == seconds else 0.0)  # noqa: PLR0124 - not a number


def _next_allowed(at: datetime, hints: Hints) -> datetime:
    """`at`, or the start of the next hour that is not skipped; a feed that skips all of a week is not believed."""
    if not hints.skip_hours and not hints.skip_days:
        return at
    candidate = at.astimezone(UTC)
    for _ in range(7 * HOURS + 1):
        if candidate.hour not in hints.skip_hours and DAYS[candidate.weekday()] not in hints.skip_days:
            return candidate
        candidate = candidate.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return at


def _pieces(
    start: datetime, now: datetime, new_articles: int, published_times: Sequence[datetime]
) -> tuple[list[float], float]:
    """How many articles came in each piece of the time from `start` to `now`, and how many hours a piece is: an hour
    at most. One piece, possibly of no time, at least."""
    hours = (now - start) / timedelta(hours=1)
    count = max(1, math.ceil(hours))
    step = hours / count
    dated = published_times[:new_articles]
    first, last = start.timestamp(), now.timestamp()
    pieces = [max(new_articles - len(dated), 0) / count] * count
    for time in dated:
        # An article that turns up now came after the last fetch, whatever it says.
        since = (min(max(time.timestamp(), first), last) - first) / 3600
        pieces[min(int(since / step), count - 1) if step else 0] += 1
    return pieces, step


class _Learning:
    """A rhythm while time is folded into it, in plain numbers: a first fetch replays a week, hour by hour.

    A count of the histogram is `counts[hour] * unit`, so that all 24 fade at once.
    """

    def __init__(self, rhythm: Rhythm) -> None:
        self.per_hour = rhythm.articles_per_hour
        self.fetches = rhythm.fetches_per_hour
        self.active = rhythm.active_probability
        self.active_articles, self.active_hours = rhythm.active_articles, rhythm.active_hours
        self.quiet_articles, self.quiet_hours = rhythm.quiet_articles, rhythm.quiet_hours
        self.counts = list(rhythm.hourly_distribution)
        self.unit = 1.0

    def forget(self, hours: float) -> None:
        """That much time with nothing learned: counts fade, and the state goes to its mean."""
        keep = math.exp(-hours / MEMORY_HOURS)
        recent = math.exp(-hours / _rate_memory(self.active_hours + self.quiet_hours))
        self.active = USUALLY_ACTIVE + (self.active - USUALLY_ACTIVE) * math.exp(-CHANGES_PER_HOUR * hours)
        self.per_hour *= recent
        self.fetches *= recent
        self.active_articles *= keep
        self.active_hours *= keep
        self.quiet_articles *= keep
        self.quiet_hours *= keep
        self.counts = [count * self.unit * keep for count in self.counts]
        self.unit = 1.0

    def learn(self, begin: datetime, hours: float, pieces: Sequence[float]) -> None:
        """Of each piece of time: forget a little, judge whether the feed was active, credit its rates."""
        counts, total = self.counts, sum(self.counts)
        seconds = round(hours * 3600, 6)
        keep, mixed = math.exp(-hours / MEMORY_HOURS), math.exp(-CHANGES_PER_HOUR * hours)
        first = begin.astimezone(UTC)
        into_day = first.hour * 3600 + first.minute * 60 + first.second + first.microsecond / 1e6
        for place, articles in enumerate(pieces):
            hour = int(into_day + place * seconds) // 3600 % HOURS
            scale = _hour_scale(counts, total, self.unit, hour)
            active_rate = _rate(self.active_articles, self.active_hours, PRIOR_ACTIVE) * scale
            quiet_rate = _rate(self.quiet_articles, self.quiet_hours, PRIOR_QUIET) * scale
            recent = math.exp(-hours / _rate_memory(self.active_hours + self.quiet_hours))
            before = USUALLY_ACTIVE + (self.active - USUALLY_ACTIVE) * mixed
            likelier = math.exp(-active_rate * hours * (1 - QUIET_SHARE))
            self.unit *= keep
            self.active_articles *= keep
            self.quiet_articles *= keep
            if articles:
                counted = min(articles, MOST_AT_ONCE)
                likelier *= LIKELIER ** min(counted, CONVINCING)
                counts[hour] += counted / self.unit
                total += counted / self.unit
                # What woke a quiet feed is credited to its quiet hours: that is when such an article comes.
                credit = before * active_rate / (before * active_rate + (1 - before) * quiet_rate)
                self.active_articles += counted * credit
                self.quiet_articles += counted * (1 - credit)
            self.active = active = before * likelier / (before * likelier + 1 - before)
            active_hours, quiet_hours = self.active_hours * keep, self.quiet_hours * keep
            self.per_hour = self.per_hour * recent + articles / _rate_memory(active_hours + quiet_hours)
            self.fetches *= recent
            self.active_hours = active_hours + active * hours * scale
            self.quiet_hours = quiet_hours + (1 - active) * hours * scale

    def after_fetch(self, now: datetime) -> Rhythm:
        return Rhythm(
            articles_per_hour=self.per_hour,
            hourly_distribution=tuple([count * self.unit for count in self.counts]),
            last_fetch_time=now,
            fetches_per_hour=self.fetches + 1 / _rate_memory(self.active_hours + self.quiet_hours),
            active_probability=self.active,
            active_articles=self.active_articles,
            active_hours=self.active_hours,
            quiet_articles=self.quiet_articles,
            quiet_hours=self.quiet_hours,
        )


def _rates(rhythm: Rhythm, at: datetime) -> tuple[float, float]:
    counts = rhythm.hourly_distribution
    scale = _hour_scale(counts, sum(counts), 1.0, _hour(at))
    active = _rate(rhythm.active_articles, rhythm.active_hours, PRIOR_ACTIVE)
    quiet = _rate(rhythm.quiet_articles, rhythm.quiet_hours, PRIOR_QUIET)
    return active * scale, quiet * scale


def _rate(articles: float, hours: float, prior: float) -> float:
    return (articles + prior) / (hours + PRIOR_HOURS)


def _hour_scale(counts: Sequence[float], total: float, unit: float, hour: int) -> float:
    """This hour against the mean hour, smoothed with its neighbours and drawn to 1 while little is known."""
    near = counts[hour - 1] / 2 + counts[hour] + counts[hour + 1 - HOURS] / 2
    return (near * unit + HOUR_PRIOR) / (total * unit * 2 / HOURS + HOUR_PRIOR)


def _rate_memory(hours_watched: float) -> float:
    """Hours that the running rate looks back: as many as were watched, up to a day, so that a young feed's is fair."""
    if hours_watched >= RATE_MEMORY_HOURS:
        return RATE_MEMORY_HOURS
    return hours_watched if hours_watched > 1.0 else 1.0


def _hour(at: datetime) -> int:
    return at.astimezone(UTC).hour


def _words(wait: timedelta) -> str:
    seconds = round(wait.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{seconds / 60:.3g} min"
