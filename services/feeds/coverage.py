"""How much of a window ingestion was at work in: hours are noted as feeds are fetched, shares follow from them."""

from __future__ import annotations

from datetime import datetime, timedelta

from models.cache import PERIODS, Period
from models.coverage import CoveredHour
from models.values import hour_key, hour_start
from services.figures.periods import Window, seconds_of, window_of
from services.ports import Query, Store, Where
from services.store.containers import CATALOG

LOOKED_UP_EVERY = timedelta(minutes=1)
_OLDEST = timedelta(days=31)
_HOUR = timedelta(hours=1)


class Coverage:
    """Hours are only ever added, so those that this process has seen need no second look."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._noted = ""
        self._hours: set[str] = set()
        self._looked_at: datetime | None = None

    async def note(self, now: datetime) -> None:
        """Some feed has just been fetched well. Writes once an hour."""
        hour = hour_key(now)
        if hour != self._noted:
            await self._store.create_many(CATALOG.name, [CoveredHour.at(now).to_document()])
            self._noted = hour

    async def shares(self, now: datetime) -> Shares:
        last = self._looked_at
        if last is None or not timedelta(0) <= now - last < LOOKED_UP_EVERY:
            since = now - _OLDEST if last is None else min(now, last) - _HOUR
            where = (Where("id", "ge", hour_key(since)),)
            query = Query(where, partition=CoveredHour.PARTITION, limit=1000)
            self._hours |= {found["id"] for found in (await self._store.query(CATALOG.name, query)).items}
            oldest = hour_key(now - _OLDEST)
            self._hours = {hour for hour in self._hours if hour >= oldest}
            self._looked_at = now
        return Shares(frozenset(self._hours), now)


class Shares:
    """The shares at one time. What was before the tool was made is not covered."""

    def __init__(self, hours: frozenset[str], now: datetime) -> None:
        self._hours = hours
        self._windows = {period: window_of(period, now) for period in PERIODS}
        self.seconds = {period: seconds_of(window) for period, window in self._windows.items()}
        self._whole: dict[Period, float] = {}

    def of(self, period: Period, made_at: datetime) -> float:
        window = self._windows[period]
        if made_at > window.start:
            return share(self._hours, window, made_at)
        if period not in self._whole:
            self._whole[period] = share(self._hours, window, window.start)
        return self._whole[period]


def share(hours: frozenset[str], window: Window, since: datetime) -> float:
    """Of the window's time, the part that is in these hours and after `since`."""
    start = min(max(window.start, since), window.end)
    first, last = hour_key(start), hour_key(window.end)
    covered = sum(first < hour < last for hour in hours) * _HOUR
    for edge in {first, last} & hours:
        covered += min(hour_start(edge) + _HOUR, window.end) - max(hour_start(edge), start)
    return round(covered / (window.end - window.start), 4)
