"""Coverage: the share of a window in whose hours feeds were fetched. Ingestion notes the hours (services/articles)."""

from __future__ import annotations

from datetime import datetime, timedelta

from models.cache import PERIODS, Period, Window
from models.coverage import CoveredHour
from models.values import hour_key, hour_start
from services.ports import Query, Store, Where
from services.store.containers import CATALOG

READ_AGAIN_AFTER = timedelta(minutes=1)
_KEPT = timedelta(days=31)
_HOUR = timedelta(hours=1)


class Coverage:
    """Reads the covered hours. Hours are only added, so a process reads each of them once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hours: set[str] = set()
        self._read_at: datetime | None = None

    async def shares(self, now: datetime) -> Shares:
        """The shares at `now`, of the hours that were noted up to READ_AGAIN_AFTER ago."""
        last = self._read_at
        # Also when the clock was set back.
        if last is None or not timedelta(0) <= now - last < READ_AGAIN_AFTER:
            since = now - _KEPT if last is None else min(now, last) - _HOUR
            where = (Where("id", "ge", hour_key(since)),)
            query = Query(where, partition=CoveredHour.PARTITION, limit=1000)
            self._hours |= {found["id"] for found in (await self._store.query(CATALOG.name, query)).items}
            oldest = hour_key(now - _KEPT)
            self._hours = {hour for hour in self._hours if hour >= oldest}
            self._read_at = now
        return Shares(frozenset(self._hours), now)


class Shares:
    """The four windows at one time, and the covered share of each.

    Values that are equal for all tools are computed once: `seconds`, the start and end of each window, and the share of
    a whole window, for the tools that were created before it.
    """

    def __init__(self, hours: frozenset[str], now: datetime) -> None:
        self._hours = hours
        self._windows = {period: Window.at(period, now) for period in PERIODS}
        self.seconds = {period: window.seconds for period, window in self._windows.items()}
        self._whole: dict[Period, float] = {}

    def of(self, period: Period, made_at: datetime) -> float:
        """The share for a tool that was created at `made_at`."""
        window = self._windows[period]
        if made_at > window.start:
            return share(self._hours, window, made_at)
        if period not in self._whole:
            self._whole[period] = share(self._hours, window, window.start)
        return self._whole[period]


def share(hours: frozenset[str], window: Window, since: datetime) -> float:
    """The part of the window in these hours and after `since`, from 0 to 1, to four decimals."""
    start = min(max(window.start, since), window.end)
    first, last = hour_key(start), hour_key(window.end)
    covered = sum(first < hour < last for hour in hours) * _HOUR
    for edge in {first, last} & hours:
        covered += min(hour_start(edge) + _HOUR, window.end) - max(hour_start(edge), start)
    return round(covered / (window.end - window.start), 4)
