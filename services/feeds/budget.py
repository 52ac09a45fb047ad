"""Keeps the fetches of all feeds near the budget: a stored price of a fetch, corrected once a day by the fetches made.

schedule.py decides how the price changes a schedule, and how it is corrected.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from models.errors import ChangedMeanwhile, Conflict
from models.feed import FetchPrice
from models.values import format_time, is_over
from services.feeds.schedule import Policy, corrected_price_factor
from services.ports import Clock, Query, Store, Where, query_all
from services.store.containers import CATALOG, FEEDS

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
