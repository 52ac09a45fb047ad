"""The requests of all workers to Cosmos DB: counted by each worker, added up in the store, read by health and metrics.

The embedded store refuses nothing and has no request units, so nothing is counted there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from models.operations import StoreLoad, StoreTotals
from services.ports import Clock, Store
from services.store.containers import CATALOG
from services.store.counting import Counts

if TYPE_CHECKING:
    from services.store.cosmos_connection import Counters

LOOKED_BACK_MINUTES = 5
MIN_UNITS = 100
"""Fewer request units are added with later ones, so that an idle worker writes nothing."""


@dataclass(frozen=True, slots=True)
class Load:
    """What all workers asked of the store in the last minutes. It refuses requests that exceed its throughput; they are
    tried again after a while."""

    requests: int
    refused: int
    waited_seconds: float


class StoreTraffic:
    """The requests to the store.

    `counted` are the counters of this worker by container since its start; None if its store counts nothing.
    """

    def __init__(self, store: Store, clock: Clock, counted: Mapping[str, Counters] | None = None) -> None:
        self._store = store
        self._clock = clock
        self._counted = counted
        self._before: Counter[str] = Counter()

    def take(self) -> Iterator[Counts]:
        """What this worker has counted since the last call."""
        if self._counted is None:
            return
        counted = sums_of(self._counted.values())
        new = counted - self._before
        if new["request_units"] < MIN_UNITS:
            return
        self._before = counted
        now = self._clock()
        yield StoreTotals.at(now), new
        fields = {"requests": "requests", "refused": "throttles", "waited": "waited_milliseconds"}
        by_minute = {f"{field}_{now.minute:02}": new[name] for field, name in fields.items() if new[name]}
        yield StoreLoad.at(now), Counter(by_minute)

    async def recent(self) -> Load | None:
        """The load of this minute and the four before it. None if this worker's store counts nothing."""
        if self._counted is None:
            return None
        now = self._clock()
        minutes = [now - timedelta(minutes=back) for back in range(LOOKED_BACK_MINUTES)]
        hours = sorted({StoreLoad.at(minute).id for minute in minutes})
        stored = await self._store.read_many(CATALOG.name, [(StoreLoad.PARTITION, hour) for hour in hours])
        documents = {hour: document or {} for hour, document in zip(hours, stored, strict=True)}

        def total(field: str) -> int:
            return sum(documents[StoreLoad.at(each).id].get(f"{field}_{each.minute:02}", 0) for each in minutes)

        return Load(total("requests"), total("refused"), total("waited") / 1000)


def sums_of(counters: Iterable[Counters]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for each in counters:
        sums.update(requests=each.operations, retries=each.retries, throttles=each.throttles)
        sums.update(request_units=int(each.request_units), waited_milliseconds=int(1000 * each.waited_seconds))
    return sums
