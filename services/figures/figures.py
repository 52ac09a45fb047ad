"""Builds the parts of this package that triggers and workflows use, on one store and one catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from services.figures.coverage import Coverage
from services.figures.daily_close import DailyCloses
from services.figures.entries import Entries, Generations
from services.figures.evidence import Evidence
from services.figures.history import History
from services.figures.metadata import Counters
from services.figures.reader import CompletenessReader, Reader, Recent
from services.figures.recount import Recount
from services.figures.refresh import Refresh
from services.figures.trends import Trends
from services.mentions.due import ANALYSIS_STAGE
from services.ports import Clock, LastWrite, Store
from services.tools.catalog import Catalog
from services.work.announcing import Announcer
from services.work.backlog import KEPT_SECONDS, BacklogReader
from services.work.runs import RunEngine


class Figures:
    """The services of figures.

    The parts of this package. Must be closed before the store, as closing flushes the counters. `analyzer` returns the
    present analyzer with its version.
    """

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        announcer: Announcer,
        clock: Clock,
        new_id: Callable[[], str],
        memory_seconds: float,
        analyzer: Callable[[], str],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        last_write: LastWrite = lambda: None,
    ) -> None:
        coverage = Coverage(store)
        self.analyzer = analyzer
        self.generations = Generations(store, clock, memory_seconds, sleep)
        self.recount, self.counters = Recount(store), Counters(store, clock)
        self.backlog = BacklogReader(store, ANALYSIS_STAGE, min(KEPT_SECONDS, memory_seconds), last_write=last_write)
        self.completeness = CompletenessReader(store, self.backlog)
        entries = Entries(store, self.recount, self.generations, coverage, clock)
        cached = (store, catalog, entries, self.generations, self.counters, announcer, clock)
        self.reader = Reader(*cached, self.completeness, analyzer, Recent(memory_seconds, last_write))
        self.refresh = Refresh(*cached, self.recount, RunEngine(store, clock, new_id))
        self.history = History(store, self.recount, coverage)
        self.daily_closes = DailyCloses(store, self.recount, coverage, clock, new_id=new_id)
        self.trends = Trends(store, self.reader)
        self.evidence = Evidence(store)

    async def close(self) -> None:
        await self.counters.writer.close()
