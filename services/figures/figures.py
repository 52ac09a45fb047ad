"""Builds the parts of this package that triggers and workflows use, on one store and one catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from services.articles.backlog import KEPT_SECONDS, BacklogReader
from services.figures.completeness import CompletenessReader
from services.figures.counters import Counters
from services.figures.coverage import Coverage
from services.figures.daily_close import DailyCloses
from services.figures.entries import Entries, Generations
from services.figures.evidence import Evidence
from services.figures.history import History, RawHistory
from services.figures.movement import MovementReader
from services.figures.reader import Reader
from services.figures.recount import Recount
from services.figures.refresh import Refresh
from services.figures.trends import Trends
from services.ports import Clock, LastWrite, Store
from services.tools.catalog import Catalog
from services.work.announcing import Announcer


@dataclass(frozen=True, slots=True)
class Figures:
    """Must be closed before the store, as closing flushes the counters. `analyzer` returns the present analyzer with
    its version."""

    generations: Generations
    recount: Recount
    reader: Reader
    refresh: Refresh
    counters: Counters
    backlog: BacklogReader
    completeness: CompletenessReader
    evidence: Evidence
    history: History
    raw_history: RawHistory
    trends: Trends
    movements: MovementReader
    daily_closes: DailyCloses
    analyzer: Callable[[], str]

    @classmethod
    def build(
        cls,
        store: Store,
        catalog: Catalog,
        announcer: Announcer,
        clock: Clock,
        new_id: Callable[[], str],
        memory_seconds: float,
        analyzer: Callable[[], str],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        last_write: LastWrite = lambda: None,
    ) -> Figures:
        generations = Generations(store, clock, memory_seconds, sleep)
        recount, counters = Recount(store), Counters(store, clock)
        backlog = BacklogReader(store, min(KEPT_SECONDS, memory_seconds), last_write=last_write)
        completeness = CompletenessReader(store, backlog)
        coverage = Coverage(store)
        entries = Entries(store, recount, generations, coverage, clock)
        history = History(store, recount, coverage, clock)
        cached = (store, catalog, entries, generations, counters, completeness, announcer, clock)
        reader = Reader(*cached, analyzer, memory_seconds, last_write)
        return cls(
            generations=generations,
            recount=recount,
            reader=reader,
            refresh=Refresh(store, catalog, recount, entries, generations, counters, announcer, clock, new_id),
            counters=counters,
            backlog=backlog,
            completeness=completeness,
            evidence=Evidence(store),
            history=history,
            raw_history=RawHistory(store, history),
            trends=Trends(store, reader),
            movements=MovementReader(store),
            daily_closes=DailyCloses(store, recount, coverage, clock),
            analyzer=analyzer,
        )

    async def close(self) -> None:
        await self.counters.close()
