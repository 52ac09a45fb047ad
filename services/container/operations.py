"""What the operator asks for now and then: metrics, the export, the audit, the health of the cache."""

from __future__ import annotations

from functools import cached_property

from services.container.foundation import Foundation
from services.operations.audit import Audit
from services.operations.cache_health import CacheHealth
from services.operations.export import Export
from services.operations.metrics import Metrics


class OperationPart:
    def __init__(self, of: Foundation) -> None:
        self._of = of

    @cached_property
    def audit(self) -> Audit:
        return Audit(self._of.store, self._of.clock)

    @cached_property
    def cache_health(self) -> CacheHealth:
        of = self._of
        return CacheHealth(of.store, of.tools, of.figures.counters, of.figures.backlog, of.clock, of.started)

    @cached_property
    def metrics(self) -> Metrics:
        of = self._of
        return Metrics(of.store, of.figures.backlog, of.clock, of.connections, of.apis_off)

    @cached_property
    def export(self) -> Export:
        return Export(self._of.store, self._of.clock)
