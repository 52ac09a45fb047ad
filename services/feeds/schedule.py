"""When a feed is fetched next. The time follows from the feed, the present time and the policy, which `Budget` keeps.

`observe` updates a feed's Rhythm by a fetch, `expected_rate` reads from it how many articles to expect now, and
`next_fetch` turns that rate into a time. In the model the rate depends on the time since the newest article, which is
learned for each feed, and on the hour of the day. Reasons and measurements: docs/adr/0006-adaptive-schedule.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, get_args

from models.errors import ChangedMeanwhile, Conflict
from models.feed import HOURS, Feed, FetchPrice, Weekday, hour_multiplier
from models.values import format_time, is_over
from services.ports import Clock, Query, Store, Where, query_all
from services.store.containers import CATALOG, FEEDS

DAYS: tuple[Weekday, ...] = get_args(Weekday)
_HOUR = timedelta(hours=1)

PRICE_SCALE = 256.0
"""In article-seconds times (fetches per feed-hour)². With this scale, feeds with a few articles a day spend the
budget."""
JITTER = 0.1
"""The most by which chance changes a wait, as a share of the wait."""
LONGEST_BACKOFF = timedelta(minutes=60) * (1 + JITTER)
"""The latest next fetch after errors, unless the server asks for more."""
MIN_STEP, MAX_STEP = 0.5, 2.0
MIN_FACTOR, MAX_FACTOR = 1 / 64, 64.0

FLAT = (0.0,) * HOURS
GAPS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 12.0, 16.0, 22.0, 26.0)
"""The hours since the newest article at which one step ends and the next begins. The last step has no end."""
STEPS = len(GAPS) + 1
NO_GAPS = (0.0,) * STEPS

RATE_MEMORY_HOURS = 24.0  # the specification's "rolling 24h window"
MEMORY_HOURS = 28 * 24.0
REPLAY_HOURS = 7 * 24.0  # the last part of a longer gap, which is replayed
MAX_AT_ONCE = 20  # articles: more at once do not make the next articles more likely
AT_ONCE_HOURS = 1 / 60

# The assumptions for a new feed, with the weight of a few articles. People publish several articles in a row, and again
# on the next day.
USUAL = (4.0, 4.0, 3.5, 2.0, 1.0, 0.6, 0.4, 0.4, 0.6, 0.7, 0.8, 0.7)
"""The rate in each step, relative to the feed's mean rate."""
STEP_PRIOR = 2.0
PRIOR_ARTICLES, PRIOR_HOURS = 1.0, 12.0
HOUR_PRIOR = 5.0


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How one feed publishes. The fields are those of the feed document; counts and hours lose weight as they age.

    `gap_articles` are the articles that came in each step of GAPS, `gap_hours` the hours spent in it. `silent_hours` is
    the time from the newest article to the last fetch.
    """

    articles_per_hour: float = 0.0
    hourly_distribution: tuple[float, ...] = FLAT
    last_fetch_time: datetime | None = None
    fetches_per_hour: float = 0.0
    gap_articles: tuple[float, ...] = NO_GAPS
    gap_hours: tuple[float, ...] = NO_GAPS
    silent_hours: float = 0.0

    def as_fields(self) -> dict[str, Any]:
        """The fields for Feed.changed. `last_fetch_time` is not among them: failed fetches change it too."""
        return {
            "articles_per_hour": round(self.articles_per_hour, 6),
            "fetches_per_hour": round(self.fetches_per_hour, 6),
            "silent_hours": round(self.silent_hours, 4),
            "hourly_distribution": _rounded(self.hourly_distribution),
            "gap_articles": _rounded(self.gap_articles),
            "gap_hours": _rounded(self.gap_hours),
        }


def rhythm_of(feed: Feed) -> Rhythm:
    """The rhythm in the feed's document. Only successful fetches were observed."""
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
    """The rhythm after a successful fetch with `new_articles` that were not known.

    `published_times` are those of the new articles that have a date; the others are assumed to have come evenly since
    the last observed fetch. The first fetch replays the feed's own history from its oldest date, without the articles
    that have none: they may be of any age. A failed fetch is not observed; the next one covers its time.
    """
    first = rhythm.last_fetch_time is None
    if first:
        new_articles = min(new_articles, len(published_times))
    start = rhythm.last_fetch_time or min(published_times, default=now)
    begin, end = min(start, now).timestamp() / 3600, now.timestamp() / 3600
    learning = _Learning(rhythm, begin, max(begin, end - REPLAY_HOURS), end)
    for at, last, articles in _arrivals(learning.at, end, new_articles, published_times):
        learning.pass_until(at)
        learning.add(articles, last, gap_known=not first)
        first = False
    learning.pass_until(end)
    return learning.after_fetch(now)


def expected_rate(rhythm: Rhythm, now: datetime) -> float:
    """The articles per hour that are expected now, if none came since the last fetch."""
    silent = rhythm.silent_hours
    if rhythm.last_fetch_time is not None:
        silent += max((now - rhythm.last_fetch_time) / _HOUR, 0.0)
    counts = rhythm.hourly_distribution
    return _gap_rate(rhythm, bisect_right(GAPS, silent)) * _hour_scale(counts, sum(counts), now.astimezone(UTC).hour)


def _gap_rate(rhythm: Rhythm, step: int) -> float:
    """The observed rate in this step, with its neighbours at half weight; near the usual rate while few articles were
    observed."""
    found, spent = rhythm.gap_articles, rhythm.gap_hours
    mean = (sum(found) + PRIOR_ARTICLES) / (sum(spent) + PRIOR_HOURS)
    articles, hours = found[step], spent[step]
    for beside in (step - 1, step + 1):
        if 0 <= beside < STEPS:
            articles += found[beside] / 2
            hours += spent[beside] / 2
    return (articles + STEP_PRIOR) / (hours + STEP_PRIOR / (mean * USUAL[step]))


def _hour_scale(counts: Sequence[float], total: float, hour: int) -> float:
    """The rate in this hour relative to the mean hour, with its neighbours at half weight; near 1 while few articles
    were observed."""
    near = counts[hour - 1] / 2 + counts[hour] + counts[hour + 1 - HOURS] / 2
    return (near + HOUR_PRIOR) / (total * 2 / HOURS + HOUR_PRIOR)


def _arrivals(
    start: float, end: float, new_articles: int, published_times: Sequence[datetime]
) -> Iterator[tuple[float, float, int]]:
    """The articles in groups that appeared together, in order: first and last time in hours since the epoch, and
    number."""
    if new_articles <= 0:
        return
    # An article that is new to this fetch appeared after the last one, whatever its date.
    times = [min(max(time.timestamp() / 3600, start), end) for time in published_times[:new_articles]]
    undated = new_articles - len(times)
    times += [start + (end - start) * (number + 0.5) / undated for number in range(undated)]
    times.sort()
    first, articles = times[0], 0
    for before, time in pairwise([first, *times]):
        if time - before >= AT_ONCE_HOURS:
            yield first, before, articles
            first, articles = time, 0
        articles += 1
    yield first, times[-1], articles


class _Learning:
    """A rhythm while it is updated. All times are hours since the epoch."""

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
        """Adds the time without an article until `to` to the steps that it belongs to. Each hour of the day is weighted
        by its usual rate."""
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

    def add(self, articles: int, last: float, *, gap_known: bool) -> None:
        """Adds a group of articles that appeared from now until `last`. All belong to the step of the first article."""
        counted = min(articles, MAX_AT_ONCE)
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
    """The hours over which the rate is averaged: those for which the feed was watched, 24 at most, so that the rate of
    a new feed is right as well."""
    return min(max(hours_watched, 1.0), RATE_MEMORY_HOURS)


def _rounded(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple([round(number, 4) for number in numbers])


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits of the schedule. `fetches_per_feed_hour` is the budget, on average over all feeds.

    A fetch costs `price`, in article-seconds: it is due when new articles have waited for so long in sum.
    `price_factor` corrects PRICE_SCALE for the feeds of this installation; `corrected_price_factor` computes it from
    the fetches made.
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
    """Limits for the next fetch from the server, the feed and earlier failures. `jitter` is random, from 0 to below
    1."""

    consecutive_errors: int = 0
    retry_after_seconds: float | None = None
    max_age_seconds: float | None = None
    ttl_minutes: float | None = None
    skip_hours: frozenset[int] = frozenset()  # of UTC, as are the days
    skip_days: frozenset[Weekday] = frozenset()
    jitter: float = 0.0


def next_fetch(rhythm: Rhythm, now: datetime, policy: Policy, hints: Hints | None = None) -> datetime:
    """When to fetch the feed next.

    After Retry-After or errors: the later of Retry-After and the backoff. Otherwise after the feed's own interval, but
    not before the server's max-age, else the feed's ttl, has passed; and not in skipHours or skipDays.
    """
    hints = hints or Hints()
    asked = _asked_wait(hints, policy)
    if asked is not None:
        return now + asked * (1 + JITTER * hints.jitter)
    wait = max(own_interval(rhythm, now, policy) * (1 - JITTER * hints.jitter), policy.min_interval)
    return _next_allowed(now + max(wait, _fresh_for(hints, policy)), hints)


def own_interval(rhythm: Rhythm, now: datetime, policy: Policy) -> timedelta:
    """The interval at which a fetch is worth its price: never later than the specification's, nor under a minute."""
    latest = formula_interval(rhythm, now, policy)
    # Articles that come at a rate r have waited r·T²/2 together after T: fetch when that equals the price.
    hours = math.sqrt(2 * policy.price / 3600 / expected_rate(rhythm, now))
    return latest if hours >= latest / _HOUR else max(timedelta(hours=hours), policy.min_interval)


def formula_interval(rhythm: Rhythm, now: datetime, policy: Policy) -> timedelta:
    """The specification's interval, with the average rate of the last day."""
    wait = policy.max_interval
    if rhythm.articles_per_hour * (wait / _HOUR) > policy.target_articles:
        wait = max(timedelta(hours=policy.target_articles / rhythm.articles_per_hour), policy.min_interval)
    if hour_multiplier(rhythm.hourly_distribution, now.astimezone(UTC).hour) > policy.peak_multiplier:
        wait = max(wait * policy.peak_share, policy.min_interval)
    return wait


def corrected_price_factor(policy: Policy, fetches_per_hour: Sequence[float]) -> float:
    """The price factor that brings feeds with these `fetches_per_hour` nearer to the budget; computed once a day.

    Fetches at the longest interval are made at any price, so only the fetches beyond these are compared. One step at
    most doubles or halves the price, since a day's average lags behind.
    """
    if not fetches_per_hour:
        return policy.price_factor
    least = _HOUR / policy.max_interval
    above = max(sum(fetches_per_hour) / len(fetches_per_hour) - least, 0.0)
    wanted = max(policy.fetches_per_feed_hour - least, 0.01)
    step = min(max((above / wanted) ** 2, MIN_STEP), MAX_STEP)
    return min(max(policy.price_factor * step, MIN_FACTOR), MAX_FACTOR)


def _asked_wait(hints: Hints, policy: Policy) -> timedelta | None:
    waits: list[timedelta] = []
    if hints.retry_after_seconds is not None:
        waits.append(max(_bounded(hints.retry_after_seconds, policy), policy.min_interval))
    if hints.consecutive_errors > 0:
        # min(2 ** errors, 60) minutes, without computing a power that has thousands of digits
        waits.append(timedelta(minutes=2**hints.consecutive_errors if hints.consecutive_errors < 6 else 60))
    return max(waits, default=None)


def _fresh_for(hints: Hints, policy: Policy) -> timedelta:
    seconds = hints.max_age_seconds
    if seconds is None and hints.ttl_minutes is not None:
        seconds = hints.ttl_minutes * 60
    return timedelta() if seconds is None else _bounded(seconds, policy)


def _bounded(seconds: float, policy: Policy) -> timedelta:
    if not seconds > 0:  # also for NaN
        return timedelta()
    return timedelta(seconds=min(seconds, policy.longest_hint.total_seconds()))


def _next_allowed(at: datetime, hints: Hints) -> datetime:
    """`at`, or the start of the next hour that is not skipped. A feed that skips a whole week is fetched anyway."""
    if not hints.skip_hours and not hints.skip_days:
        return at
    candidate = at.astimezone(UTC)
    for _ in range(7 * HOURS):
        if candidate.hour not in hints.skip_hours and DAYS[candidate.weekday()] not in hints.skip_days:
            return candidate
        candidate = candidate.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return at


LOOKED_UP_EVERY = timedelta(minutes=10)
CORRECTED_EVERY = timedelta(days=1)


class Budget:
    """The budget of fetches. `policy` is the policy of the settings, without a price."""

    def __init__(self, store: Store, policy: Policy, clock: Clock) -> None:
        self._store = store
        self._policy = policy
        self._clock = clock
        self._looked_up_at: datetime | None = None

    async def policy(self) -> Policy:
        """The policy with the stored price, which is read again after LOOKED_UP_EVERY."""
        now = self._clock()
        if self._looked_up_at is None or not timedelta(0) <= now - self._looked_up_at < LOOKED_UP_EVERY:
            price = await self._price()
            self._policy = replace(self._policy, price_factor=price.factor if price else 1.0)
            self._looked_up_at = now
        return self._policy

    async def correct(self, now: datetime) -> None:
        """Corrects the price if the last correction is at least a day ago. The first call only creates the price."""
        price = await self._price()
        if price is None:
            with suppress(Conflict):  # another instance has created it
                await self._store.create(CATALOG.name, FetchPrice(created_at=now, updated_at=now).to_document())
            return
        if not is_over(price.updated_at + CORRECTED_EVERY, now, CORRECTED_EVERY):
            return
        spent = await self._spent(now - CORRECTED_EVERY)
        factor = corrected_price_factor(replace(self._policy, price_factor=price.factor), spent)
        mean = sum(spent) / len(spent) if spent else 0.0
        corrected = price.changed(now, factor=round(factor, 4), fetches_per_feed_hour=round(mean, 2))
        with suppress(ChangedMeanwhile):
            await self._store.replace(CATALOG.name, corrected.to_document(), price.stored_etag or "")

    async def _price(self) -> FetchPrice | None:
        document = await self._store.read(CATALOG.name, FetchPrice.PARTITION, FetchPrice.ID)
        return FetchPrice.from_document(document) if document else None

    async def _spent(self, since: datetime) -> list[float]:
        """The fetches per hour of every enabled feed that was fetched successfully since then."""
        where = (Where("enabled", "eq", True), Where("last_successful_fetch", "ge", format_time(since)))
        feeds = await query_all(self._store, FEEDS.name, Query(where, limit=1000, may_be_stale=True))
        return [each.get("fetches_per_hour", 0.0) for each in feeds]
