"""The parts of the cache, put together: what triggers call, on one store and one catalog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from services.feeds.coverage import Coverage
from services.figures.aggregates import Aggregates
from services.figures.counters import Counters
from services.figures.evidence import Evidence
from services.figures.generations import Generations
from services.figures.health import CacheHealth
from services.figures.history import History
from services.figures.invalidation import Invalidation
from services.figures.memory import Memory
from services.figures.reader import Reader
from services.figures.recount import Recount
from services.figures.refresh import Refresh
from services.figures.refresh_runs import RefreshRuns
from services.ports import Clock, Store
from services.tools.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Cache:
    """`close` it before the store: its counters are flushed then."""

    generations: Generations
    recount: Recount
    invalidation: Invalidation
    reader: Reader
    refresh: Refresh
    refresh_runs: RefreshRuns
    counters: Counters
    health: CacheHealth
    evidence: Evidence
    history: History

    @classmethod
    def build(
        cls, store: Store, catalog: Catalog, clock: Clock, new_id: Callable[[], str], memory_seconds: float
    ) -> Cache:
        generations, recount = Generations(store, clock), Recount(store)
        memory, counters = Memory(generations, memory_seconds), Counters(store, clock)
        aggregates = Aggregates(store, recount, generations, Coverage(store), clock)
        refresh = Refresh(store, recount, aggregates, generations, clock)
        return cls(
            generations=generations,
            recount=recount,
            invalidation=Invalidation(store, generations, memory),
            reader=Reader(store, catalog, aggregates, generations, memory, counters, clock),
            refresh=refresh,
            refresh_runs=RefreshRuns(store, catalog, refresh, counters, clock, new_id),
            counters=counters,
            health=CacheHealth(store, catalog, counters, clock, started=clock()),
            evidence=Evidence(store),
            history=History(store, recount, clock),
        )

    async def close(self) -> None:
        await self.counters.close()
