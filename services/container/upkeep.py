"""The work of `clean_up`. What every tick announces needs none of the parts that do the work itself."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from services.articles.overdue import OverdueArticles, OverdueIngestion
from services.container.feeds import FeedPart
from services.container.foundation import Foundation
from services.mentions.signals_due import SIGNALS_STAGE
from services.operations.archive_expiry import ArchiveExpiry
from services.operations.upkeep import Upkeep
from services.work.sweeping import Sweeper

STAGES = (SIGNALS_STAGE,)
"""All stages that services/work sweeps."""

if TYPE_CHECKING:
    from services.container.services import Container


def upkeep_of(services: Container, of: Foundation, feeds: FeedPart) -> Upkeep:
    async def retried_articles(now: datetime) -> list[str]:
        return await services.analysis.retry_errors(now)

    async def overdue_runs(now: datetime, oldest_waiting: datetime | None) -> list[str]:
        return await services.workflows.overdue(now, oldest_waiting)

    async def send_documents() -> int:
        return await services.documents.overdue.send()

    return Upkeep(
        of.queues,
        of.store,
        of.clock,
        OverdueArticles(of.store, of.queues, of.announce),
        OverdueIngestion(of.store, of.runs),
        retried_articles,
        overdue_runs,
        of.announce,
        of.announcer,
        services.grouping_announcer,
        Sweeper(of.store, of.queues, of.work_announcer, of.clock),
        STAGES,
        of.figures.backlog,
        feeds.budget,
        ArchiveExpiry(of.store, of.archive, of.clock),
        send_documents,
    )
