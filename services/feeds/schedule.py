"""When a feed is fetched next. The time follows from the feed, the present time and the policy, which `Budget` keeps.

`observe` updates how a feed publishes by a fetch, `expected_rate` reads from it how many articles to expect now, and
`next_fetch` turns that rate into a time. In the model the rate depends on the time since the newest article, which is
learned for each feed, and on the hour of the day; counts and hours lose weight as they age. `gap_articles` are the
articles that came in each step of GAPS, `gap_hours` the hours spent in it. `silent_hours` is the time from the newest
article to the last fetch. Reasons and measurements: docs/adr/0006-adaptive-schedule.md.
"""

from __future__ import annotations

import asyncio
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


def observe(feed: Feed, new_articles: int, published_times: Sequence[datetime], now: datetime) -> dict[str, Any]:
    """The changes of the feed after a successful fetch with `new_articles` that were not known.

    `published_times` are those of the new articles that have a date; the others are assumed to have come evenly since
    the last observed fetch. The first fetch replays the feed's own history from its oldest date, without the articles
    that have none: they may be of any age. A failed fetch is not observed; the next one covers its time.
    """
    last_fetch = feed.last_successful_fetch
    first = last_fetch is None
    if first:
        new_articles = min(new_articles, len(published_times))
    start = last_fetch or min(published_times, default=now)
    begin, end = min(start, now).timestamp() / 3600, now.timestamp() / 3600
    learning = _Learning(feed, begin, max(begin, end - REPLAY_HOURS), end)
    for at, last, articles in _arrivals(learning.at, end, new_articles, published_times):
        learning.pass_until(at)
        learning.add(articles, last, gap_known=not first)
        first = False
    learning.pass_until(end)
    return learning.after_fetch()


def expected_rate(feed: Feed, now: datetime) -> float:
    """The articles per hour that are expected now, if none came since the last fetch."""
    silent = feed.silent_hours
    if feed.last_successful_fetch is not None:
        silent += max((now - feed.last_successful_fetch) / _HOUR, 0.0)
    counts = feed.hourly_distribution
    return _gap_rate(feed, bisect_right(GAPS, silent)) * _hour_scale(counts, sum(counts), now.astimezone(UTC).hour)


def _gap_rate(feed: Feed, step: int) -> float:
    """The observed rate in this step, with its neighbours at half weight; near the usual rate while few articles were
    observed."""
    found, spent = feed.gap_articles or NO_GAPS, feed.gap_hours or NO_GAPS
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
    """What is known of a feed while it is updated. All times are hours since the epoch."""

    def __init__(self, feed: Feed, last_fetch: float, start: float, end: float) -> None:
        self.at = start
        self.newest = last_fetch - feed.silent_hours
        keep = math.exp((last_fetch - end) / MEMORY_HOURS)
        self.counts = [count * keep for count in feed.hourly_distribution]
        self.total = sum(self.counts)
        self.found = [articles * keep for articles in feed.gap_articles or NO_GAPS]
        self.spent = [hours * keep for hours in feed.gap_hours or NO_GAPS]
        self.watched = sum(self.spent)
        recent = math.exp((last_fetch - start) / _rate_memory(self.watched))
        self.per_hour = feed.articles_per_hour * recent
        self.fetches = feed.fetches_per_hour * recent

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

    def after_fetch(self) -> dict[str, Any]:
        return {
            "articles_per_hour": round(self.per_hour, 6),
            "fetches_per_hour": round(self.fetches + 1 / _rate_memory(self.watched), 6),
            "silent_hours": round(self.at - self.newest, 4),
            "hourly_distribution": _rounded(self.counts),
            "gap_articles": _rounded(self.found),
            "gap_hours": _rounded(self.spent),
        }


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


def next_fetch(
    feed: Feed, now: datetime, policy: Policy, jitter: float = 0.0, retry_after_seconds: float | None = None
) -> datetime:
    """When to fetch the feed next. `jitter` is random, from 0 to below 1.

    After Retry-After or errors: the later of Retry-After and the backoff. Otherwise after the feed's own interval, but
    not before the server's max-age, else the feed's ttl, has passed; and not in skipHours or skipDays.
    """
    asked = _asked_wait(feed.consecutive_errors, retry_after_seconds, policy)
    if asked is not None:
        return now + asked * (1 + JITTER * jitter)
    wait = max(own_interval(feed, now, policy) * (1 - JITTER * jitter), policy.min_interval)
    fresh_for = 60 * (feed.ttl_minutes or 0) if feed.max_age_seconds is None else feed.max_age_seconds
    return _next_allowed(now + max(wait, _bounded(fresh_for, policy)), feed)


def own_interval(feed: Feed, now: datetime, policy: Policy) -> timedelta:
    """The interval at which a fetch is worth its price: never later than the specification's, nor under a minute."""
    latest = formula_interval(feed, now, policy)
    # Articles that come at a rate r have waited r·T²/2 together after T: fetch when that equals the price.
    hours = math.sqrt(2 * policy.price / 3600 / expected_rate(feed, now))
    return latest if hours >= latest / _HOUR else max(timedelta(hours=hours), policy.min_interval)


def formula_interval(feed: Feed, now: datetime, policy: Policy) -> timedelta:
    """The specification's interval, with the average rate of the last day."""
    wait = policy.max_interval
    if feed.articles_per_hour * (wait / _HOUR) > policy.target_articles:
        wait = max(timedelta(hours=policy.target_articles / feed.articles_per_hour), policy.min_interval)
    if hour_multiplier(feed.hourly_distribution, now.astimezone(UTC).hour) > policy.peak_multiplier:
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


def _asked_wait(errors: int, retry_after_seconds: float | None, policy: Policy) -> timedelta | None:
    waits: list[timedelta] = []
    if retry_after_seconds is not None:
        waits.append(max(_bounded(retry_after_seconds, policy), policy.min_interval))
    if errors > 0:
        # min(2 ** errors, 60) minutes, without computing a power that has thousands of digits
        waits.append(timedelta(minutes=2**errors if errors < 6 else 60))
    return max(waits, default=None)


def _bounded(seconds: float, policy: Policy) -> timedelta:
    return timedelta(seconds=min(max(seconds, 0.0), policy.longest_hint.total_seconds()))


def _next_allowed(at: datetime, feed: Feed) -> datetime:
    """`at`, or the start of the next hour that is not skipped. A feed that skips a whole week is fetched anyway."""
    if not feed.skip_hours and not feed.skip_days:
        return at
    candidate = at.astimezone(UTC)
    for _ in range(7 * HOURS):
        if candidate.hour not in feed.skip_hours and DAYS[candidate.weekday()] not in feed.skip_days:
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
        self._looking_up = asyncio.Lock()

    async def policy(self) -> Policy:
        """The policy with the stored price, which is read again after LOOKED_UP_EVERY."""
        async with self._looking_up:
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
                await self._store.create(CATALOG.name, FetchPrice(created_at=now).to_document())
            return
        if not is_over(price.updated_at + CORRECTED_EVERY, now, CORRECTED_EVERY):
            return
        spent = await self._spent(now - CORRECTED_EVERY)
        factor = corrected_price_factor(replace(self._policy, price_factor=price.factor), spent)
        mean = round(sum(spent) / max(1, len(spent)), 2)
        corrected = price.changed(now, factor=round(factor, 4), fetches_per_feed_hour=mean)
        with suppress(ChangedMeanwhile):
            await self._store.replace(CATALOG.name, corrected.to_document(), price.stored_etag or "")

    async def _price(self) -> FetchPrice | None:
        document = await self._store.read(CATALOG.name, FetchPrice.PARTITION, FetchPrice.ID)
        return FetchPrice.from_document(document) if document else None

    async def _spent(self, since: datetime) -> list[float]:
        """The fetches per hour of every enabled feed that was fetched successfully since then."""
        where = (Where("enabled", "eq", True), Where("last_successful_fetch", "ge", format_time(since)))
        feeds = await query_all(self._store, FEEDS.name, Query(where, may_be_stale=True))
        return [each.get("fetches_per_hour", 0.0) for each in feeds]
