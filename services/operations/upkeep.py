"""The work of `clean_up`, every five minutes: logs the age of the last refresh and the depths of the queues, and sends
overdue work again.

The lines are logged even if all queues are empty, so that missing lines can raise an alert.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from models.values import unix_seconds
from services.articles.overdue import OverdueIngestion
from services.articles.quarantine import QuarantinedBatches
from services.articles.writing import Announce
from services.feeds.budget import Budget
from services.feeds.claims import IngestMessage
from services.figures.metadata import last_refreshes
from services.logs import log_event
from services.ports import Clock, QueueDepth, Queues, Store
from services.runs.driver import run_message
from services.topology import ANALYZE_ARTICLES, INGEST_FEEDS, QUEUES, REANALYZE_TOOLS

log = logging.getLogger("toolpulse.upkeep")

Found = Callable[[datetime], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class UpkeepReport:
    """`articles`, `batches` and `runs` were sent to their queues again."""

    depths: tuple[QueueDepth, ...]
    articles: tuple[str, ...]
    batches: tuple[IngestMessage, ...]
    runs: tuple[str, ...]


class Upkeep:
    """`retried_articles` finds articles in error that may be tried again; `overdue_runs` finds runs of workflows whose
    message was lost or whose worker died."""

    def __init__(
        self,
        queues: Queues,
        store: Store,
        clock: Clock,
        overdue: OverdueIngestion,
        retried_articles: Found,
        overdue_runs: Found,
        announce: Announce,
        budget: Budget,
    ) -> None:
        self._queues = queues
        self._store = store
        self._clock = clock
        self._overdue = overdue
        self._quarantined = QuarantinedBatches(store)
        self._retried_articles = retried_articles
        self._overdue_runs = overdue_runs
        self._announce = announce
        self._budget = budget

    async def run(self) -> UpkeepReport:
        depths = tuple(await self._queues.depths(QUEUES))
        now = self._clock()
        waits = {depth.name: depth.messages for depth in depths}
        log_event(log, logging.INFO, "refresh_age", seconds=await self._refresh_age(now))
        await self._quarantined.clean_up()
        await self._budget.correct(now)
        report = UpkeepReport(
            depths,
            (
                *(await self._overdue.articles(now) if not waits[ANALYZE_ARTICLES] else ()),
                *await self._retried_articles(now),
            ),
            tuple(await self._overdue.runs(now, resend=not waits[INGEST_FEEDS])),
            tuple(await self._overdue_runs(now)) if not waits[REANALYZE_TOOLS] else (),
        )
        await self._announce(report.articles)
        await self._queues.send(INGEST_FEEDS, [batch.to_message() for batch in report.batches])
        await self._queues.send(REANALYZE_TOOLS, [run_message(run_id) for run_id in report.runs])
        sent = {"articles": len(report.articles), "batches": len(report.batches), "runs": len(report.runs)}
        if any(sent.values()):
            log_event(log, logging.WARNING, "sent_again", **sent)
        for depth in report.depths:
            level = logging.ERROR if depth.poison else logging.INFO
            log_event(log, level, "queue_depth", queue=depth.name, messages=depth.messages, poison=depth.poison)
        return report

    async def _refresh_age(self, now: datetime) -> int | None:
        """Seconds since the last successful refresh of all tools ended; None before the first."""
        metadata, _ = await last_refreshes(self._store)
        return unix_seconds(now) - metadata.last_refresh_ts if metadata else None
