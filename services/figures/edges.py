"""The hours in which windows begin and end. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from models.cache import PERIODS, Period
from models.values import hour_key, hour_start


@dataclass(frozen=True, slots=True)
class Edges:
    """`last` is the hour in which all windows end; `first` has the hour in which each begins."""

    last: str
    first: Mapping[Period, str]

    @property
    def hours(self) -> list[str]:
        return sorted({*self.first.values(), self.last})

    def has_whole(self, period: Period, hour: str) -> bool:
        """Whether the period's windows count all of this hour, whenever in `last` they end."""
        return self.first[period] < hour < self.last


def edges_of(now: datetime) -> Edges:
    return edges_at(hour_key(now))


@lru_cache(maxsize=8)
def edges_at(last: str) -> Edges:
    return Edges(last, {period: hour_key(hour_start(last) - span) for period, span in PERIODS.items()})
