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
from typing import Literal, get_args

from models.errors import ChangedMeanwhile, Conflict
from models.feed import HOURS, Weekday
from models.fetch_price import FetchPrice
from models.values import format_time
from services.feeds.rhythm import Rhythm, expected_rate
from services.ports import Clock, Query, Store, Where, query_all
from services.store.containers import CATALOG, FEEDS

DAYS: tuple[Weekday, ...] = get_args(Weekday)

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
    if rhythm.hour_multiplier(now.astimezone(UTC).hour) > policy.peak_multiplier:
        wait = max(wait * policy.peak_share, policy.min_interval)
    return wait


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
    text = f"{rate:.2g} articles an hour expected"
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


def _words(wait: timedelta) -> str:
    seconds = round(wait.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{seconds / 60:.3g} min"


LOOKED_UP_EVERY = timedelta(minutes=10)
CORRECTED_EVERY = timedelta(days=1)


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
