"""When a feed is fetched next, and what a fetch costs: `next_fetch` turns a feed's rhythm (rhythm.py) into a time.

All rules are pure. `Budget` stores the price of a fetch, and corrects it once a day by what the fetches really were.
Reasons and measurements are in docs/adr/0006-adaptive-schedule.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import get_args

from models.errors import ChangedMeanwhile, Conflict
from models.feed import HOURS, Weekday
from models.fetch_price import FetchPrice
from models.values import format_time
from services.feeds.rhythm import Rhythm, expected_rate
from services.ports import Clock, Query, Store, Where, query_all
from services.store.containers import CATALOG, FEEDS

DAYS: tuple[Weekday, ...] = get_args(Weekday)

PRICE_SCALE = 256.0
"""In article-seconds times (fetches per feed-hour)²: with it, publishers of a few articles a day spend the budget."""
JITTER = 0.1
"""The most by which chance changes a wait, as a share of the wait."""
LEAST_STEP, MOST_STEP = 0.5, 2.0
LEAST_FACTOR, MOST_FACTOR = 1 / 64, 64.0
LOOKED_UP_EVERY = timedelta(minutes=10)
CORRECTED_EVERY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the schedule may cost. `fetches_per_feed_hour` is the budget, on average over all feeds.

    A fetch is worth `price` article-seconds of waiting. `price_factor` is 1 unless feeds publish unlike those that
    PRICE_SCALE was measured on; `corrected_price_factor` computes it from what the fetches really were.
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
    """What the server, the feed and earlier failures ask for. `jitter` is random, from 0 to below 1."""

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
    rate = expected_rate(rhythm, now)
    # Articles that come at `rate` have waited rate·T²/2 together after T: fetch when that equals the price.
    best = timedelta(hours=min(math.sqrt(2 * policy.price / 3600 / max(rate, 1e-9)), 1e6))
    return min(max(best, policy.min_interval), formula_interval(rhythm, now, policy))


def formula_interval(rhythm: Rhythm, now: datetime, policy: Policy) -> timedelta:
    """The specification's interval, with the rate taken over time."""
    wait = policy.max_interval
    if rhythm.articles_per_hour > 0:
        hours = policy.target_articles / rhythm.articles_per_hour
        wait = min(wait, timedelta(hours=min(hours, 1e6)))
    wait = max(wait, policy.min_interval)
    if rhythm.hour_multiplier(now.astimezone(UTC).hour) > policy.peak_multiplier:
        wait = max(wait * policy.peak_share, policy.min_interval)
    return wait


def corrected_price_factor(policy: Policy, fetches_per_hour: Sequence[float]) -> float:
    """The price factor that brings feeds with these `fetches_per_hour` nearer to the budget; computed once a day.

    Fetches at the longest interval are made at any price, so only the fetches beyond these are compared. One step at
    most doubles or halves the price, since a day's average lags behind.
    """
    if not fetches_per_hour:
        return policy.price_factor
    least = timedelta(hours=1) / policy.max_interval
    above = max(sum(fetches_per_hour) / len(fetches_per_hour) - least, 0.0)
    wanted = max(policy.fetches_per_feed_hour - least, 0.01)
    step = min(max((above / wanted) ** 2, LEAST_STEP), MOST_STEP)
    return min(max(policy.price_factor * step, LEAST_FACTOR), MOST_FACTOR)


def _asked_wait(hints: Hints, policy: Policy) -> timedelta | None:
    waits: list[timedelta] = []
    if hints.retry_after_seconds is not None:
        waits.append(max(_bounded(hints.retry_after_seconds, policy), policy.min_interval))
    if hints.consecutive_errors > 0:
        waits.append(timedelta(minutes=min(2 ** min(hints.consecutive_errors, 6), 60)))
    return max(waits, default=None)


def _fresh_for(hints: Hints, policy: Policy) -> timedelta:
    seconds = hints.max_age_seconds
    if seconds is None and hints.ttl_minutes is not None:
        seconds = hints.ttl_minutes * 60
    return timedelta() if seconds is None else _bounded(seconds, policy)


def _bounded(seconds: float, policy: Policy) -> timedelta:
    if math.isnan(seconds):
        return timedelta()
    return timedelta(seconds=max(0.0, min(seconds, policy.longest_hint.total_seconds())))


def _next_allowed(at: datetime, hints: Hints) -> datetime:
    """`at`, or the start of the next hour that is not skipped. A feed that skips a whole week is fetched anyway."""
    if not hints.skip_hours and not hints.skip_days:
        return at
    candidate = at.astimezone(UTC)
    for _ in range(7 * HOURS + 1):
        if candidate.hour not in hints.skip_hours and DAYS[candidate.weekday()] not in hints.skip_days:
            return candidate
        candidate = candidate.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return at


class Budget:
    """Keeps what all feeds spend near the budget of fetches, by a stored price. `policy` is that of the settings."""

    def __init__(self, store: Store, policy: Policy, clock: Clock) -> None:
        self._store = store
        self._policy = policy
        self._clock = clock
        self._looked_up_at: datetime | None = None

    async def policy(self) -> Policy:
        """With a price that was stored at most LOOKED_UP_EVERY ago."""
        now = self._clock()
        if self._looked_up_at is None or now - self._looked_up_at >= LOOKED_UP_EVERY:
            price = await self._price()
            self._policy = replace(self._policy, price_factor=price.factor if price else 1.0)
            self._looked_up_at = now
        return self._policy

    async def correct(self, now: datetime) -> None:
        """Corrects the price if the last correction is a day ago. The first call only creates the price."""
        price = await self._price()
        if price is None:
            with suppress(Conflict):  # another instance has created it
                await self._store.create(CATALOG.name, FetchPrice(created_at=now, updated_at=now).to_document())
            return
        if now - price.updated_at < CORRECTED_EVERY:
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
        feeds = await query_all(self._store, FEEDS.name, Query(where, limit=1000))
        return [each.get("fetches_per_hour", 0.0) for each in feeds]
