"""Keeps what feeds spend near the budget of fetches: a stored price, corrected once a day by what was really spent.

What a price does to a schedule, and by how much it is corrected, is services/feeds/schedule.py's.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from models.errors import ChangedMeanwhile, Conflict
from models.fetch_price import FetchPrice
from models.values import format_time
from services.feeds.schedule import Policy, corrected_price_factor
from services.ports import Clock, Query, Store, Where
from services.store.containers import CATALOG, FEEDS

LOOKED_UP_EVERY = timedelta(minutes=10)
CORRECTED_EVERY = timedelta(days=1)
_PAGE = 1000


class Budget:
    """`policy` is what the settings say."""

    def __init__(self, store: Store, policy: Policy, clock: Clock) -> None:
        self._store = store
        self._policy = policy
        self._clock = clock
        self._looked_up_at: datetime | None = None

    async def policy(self) -> Policy:
        """With the price of now, or of some minutes ago."""
        now = self._clock()
        if self._looked_up_at is None or now - self._looked_up_at >= LOOKED_UP_EVERY:
            price = await self._price()
            self._policy = replace(self._policy, price_factor=price.factor if price else 1.0)
            self._looked_up_at = now
        return self._policy

    async def correct(self, now: datetime) -> None:
        """Looks at what feeds spent, if nobody has for a day; the first day only passes."""
        price = await self._price()
        if price is None:
            with suppress(Conflict):  # another instance was quicker
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
        """The fetches per hour of every feed that follows its schedule: enabled, and fetched well lately."""
        where = (Where("enabled", "eq", True), Where("last_successful_fetch", "ge", format_time(since)))
        spent: list[float] = []
        after: str | None = None
        while True:
            page = await self._store.query(FEEDS.name, Query(where, limit=_PAGE, after=after))
            spent += [each.get("fetches_per_hour", 0.0) for each in page.items]
            after = page.next
            if after is None:
                return spent
