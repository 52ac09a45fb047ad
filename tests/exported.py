"""Telemetry that is exported to memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from services import telemetry
from services.azure_monitor import NEWS_ONLY, OpenTelemetry


class Exported:
    def __init__(self, ratio: float) -> None:
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader(NEWS_ONLY)
        self.backend = OpenTelemetry("1.2.3", ratio, self._spans, self._metrics)

    def spans(self) -> dict[str, ReadableSpan]:
        """The spans that ended and are exported, by name."""
        self.backend.flush()
        return {each.name: each for each in self._spans.get_finished_spans()}

    def metrics(self) -> dict[str, list[tuple[Any, dict[str, Any]]]]:
        """The points of each metric: value (of a histogram the sum) and attributes."""
        data = self._metrics.get_metrics_data()
        scopes = [scope for of in data.resource_metrics for scope in of.scope_metrics] if data else []
        return {
            each.name: [
                (getattr(point, "value", getattr(point, "sum", None)), dict(point.attributes or {}))
                for point in each.data.data_points
            ]
            for scope in scopes
            for each in scope.metrics
        }


@contextmanager
def exported_to_memory(ratio: float = 1.0) -> Iterator[Exported]:
    """Telemetry is on within this block."""
    made = Exported(ratio)
    telemetry.begin(made.backend)
    try:
        yield made
    finally:
        telemetry.end()
        made.backend.close()
