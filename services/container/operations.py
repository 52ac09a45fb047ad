"""What watches and repairs the app: health, the work of `clean_up`, metrics, the export, the audit."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from models.version import VERSION
from services.container.container import Container
from services.documents.documents import DOCUMENTS_STAGE
from services.feeds.claims import INGESTION_STAGE
from services.mentions.due import ANALYSIS_STAGE, REFRESH_STAGE, SIGNALS_STAGE
from services.operations.archive_expiry import ArchiveExpiry
from services.operations.upkeep import Upkeep
from services.work.driver import WORKFLOWS_STAGE
from services.work.sweeping import Sweeper

if TYPE_CHECKING:
    from services.operations.audit import Audit
    from services.operations.cache_health import CacheHealth
    from services.operations.export import Export
    from services.operations.health import Health
    from services.operations.metrics import Metrics

STAGES = (INGESTION_STAGE, ANALYSIS_STAGE, DOCUMENTS_STAGE, REFRESH_STAGE, SIGNALS_STAGE, WORKFLOWS_STAGE)
"""The stages that services/work sweeps, besides grouping, whose interval is a setting."""


class OperationPart:
    """The services that watch the app. What every tick announces needs none of the parts that do the work itself."""

    def __init__(self, of: Container) -> None:
        self._of = of

    @cached_property
    def upkeep(self) -> Upkeep:
        of = self._of
        return Upkeep(
            of.queues,
            of.store,
            of.clock,
            Sweeper(of.store, of.queues, of.announcer, of.clock),
            (*STAGES, of.grouping_announcer.stage),
            of.figures.backlog,
            of.feeds.budget,
            ArchiveExpiry(of.store, of.archive, of.clock),
        )

    @cached_property
    def health(self) -> Health:
        from services.operations.health import Health

        of = self._of
        return Health(
            *(of.store, of.queues, of.archive, of.heartbeats, of.figures.backlog, of.traffic, of.clock, VERSION),
            *(of.started, sorted(of.apis), of.apis_off),
        )

    @cached_property
    def audit(self) -> Audit:
        from services.operations.audit import Audit

        return Audit(self._of.store, self._of.clock)

    @cached_property
    def cache_health(self) -> CacheHealth:
        from services.operations.cache_health import CacheHealth

        of = self._of
        return CacheHealth(of.store, of.tools, of.figures.counters, of.figures.backlog, of.clock, of.started)

    @cached_property
    def metrics(self) -> Metrics:
        from services.operations.metrics import Metrics

        of = self._of
        return Metrics(of.store, of.figures.backlog, of.clock, of.connections)

    @cached_property
    def export(self) -> Export:
        from services.operations.export import Export

        return Export(self._of.store, self._of.clock)
