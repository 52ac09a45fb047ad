"""Sends spans and metrics to Application Insights. Imported only if APPLICATIONINSIGHTS_CONNECTION_STRING is set.

The spans are those of services/telemetry.py, and those that the SDKs of Cosmos DB and Storage make of their requests.
Log lines are sent by the Functions host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from azure.core.settings import settings as sdk_settings
from azure.monitor.opentelemetry.exporter import (
    ApplicationInsightsSampler,
    AzureMonitorMetricExporter,
    AzureMonitorTraceExporter,
)
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, _Gauge
from opentelemetry.sdk.metrics.export import AggregationTemporality, MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from services.telemetry import ANSWERS, Attribute, KindOfSpan, Metric, Span

_PROPAGATOR = TraceContextTextMapPropagator()
_SCOPE = "toolpulse"
METRICS_EVERY_MS = 300_000
"""Each point costs as much as a log line. `clean_up` measures as often."""
LAST_MS = 2_000
NEWS_ONLY: dict[type, AggregationTemporality] = dict.fromkeys(
    (Counter, Histogram, _Gauge), AggregationTemporality.DELTA
)
"""Of gauges too: the exporter would repeat the value of a worker that measured once, whatever others measure later."""


class _Span(Span):
    """A span of OpenTelemetry as the app sees it."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def set(self, name: str, value: Attribute) -> None:
        self._span.set_attribute(name, value)

    def fail(self, error: str) -> None:
        self._span.set_status(Status(StatusCode.ERROR, error))
        self._span.set_attribute("error.type", error)


class _OfRequests(trace.TracerProvider):
    """Traces the requests that the SDKs make, not the calls of SDKs that make them: a second span costs as much."""

    def __init__(self, provider: trace.TracerProvider) -> None:
        self._provider = provider

    def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
        return _RequestTracer(self._provider.get_tracer(*args, **kwargs))


class _RequestTracer(trace.NoOpTracer):
    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    def start_span(self, name: str, *, kind: SpanKind = SpanKind.INTERNAL, **options: Any) -> trace.Span:  # type: ignore[override]
        if kind is SpanKind.INTERNAL:
            return super().start_span(name, **options)
        return self._tracer.start_span(name, kind=kind, **options)


def _context(traceparent: str) -> Context:
    return _PROPAGATOR.extract({"traceparent": traceparent}, Context())


def _span_context(traceparent: str | None) -> SpanContext:
    return trace.get_current_span(_context(traceparent or "")).get_span_context()


class OpenTelemetry:
    """The backend of Application Insights.

    `parent` and `link` are W3C traceparents; without a parent, the current span is the parent.
    """

    def __init__(self, version: str, ratio: float, spans: SpanExporter, metrics: MetricReader) -> None:
        resource = Resource({"service.name": "toolpulse", "service.version": version})
        self._tracers = TracerProvider(ApplicationInsightsSampler(ratio), resource, shutdown_on_exit=False)
        self._tracers.add_span_processor(BatchSpanProcessor(spans))
        self._meters = MeterProvider([metrics], resource, shutdown_on_exit=False)
        self.of_sdks = _OfRequests(self._tracers)
        self._tracer = self._tracers.get_tracer(_SCOPE, version)
        self._meter = self._meters.get_meter(_SCOPE, version)
        self._instruments: dict[str, Callable[[float, Mapping[str, Attribute]], None]] = {}

    def trace_sdks(self) -> None:
        """Lets the SDKs of Azure make spans. A process can do so once: later providers are not told of them."""
        trace.set_tracer_provider(self.of_sdks)
        sdk_settings.tracing_enabled = True

    @contextmanager
    def span(
        self, name: str, kind: KindOfSpan, parent: str | None, link: str | None, attributes: Mapping[str, Attribute]
    ) -> Iterator[_Span]:
        context = None if parent is None else _context(parent)
        linked = _span_context(link)
        with self._tracer.start_as_current_span(
            name,
            context,
            SpanKind[kind.upper()],
            dict(attributes),
            [Link(linked)] if linked.is_valid else None,
            record_exception=False,
            set_status_on_exception=False,
        ) as started:
            made = _Span(started)
            try:
                yield made
            except ANSWERS as answer:
                made.set("toolpulse.answer", type(answer).__name__)
                raise
            except Exception as error:
                made.fail(type(error).__name__)
                raise

    def traceparent(self) -> str | None:
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier.get("traceparent")

    def record(self, metric: Metric, value: float, attributes: Mapping[str, Attribute]) -> None:
        if metric.kind == "counter" and not value:
            return  # a sum that did not change is no point to send
        write = self._instruments.get(metric.name)
        if write is None:
            write = self._instruments[metric.name] = self._instrument(metric)
        write(value, attributes)

    def _instrument(self, metric: Metric) -> Callable[[float, Mapping[str, Attribute]], None]:
        given = (metric.name, metric.unit, metric.about)
        if metric.kind == "counter":
            return self._meter.create_counter(*given).add
        if metric.kind == "gauge":
            return self._meter.create_gauge(*given).set
        return self._meter.create_histogram(*given).record

    def flush(self) -> None:
        """Exports the spans that wait, for a short time."""
        self._tracers.force_flush(LAST_MS)

    def close(self) -> None:
        """Exports what waits, for a short time, and ends."""
        self.flush()
        self._tracers.shutdown()
        self._meters.shutdown(LAST_MS)


def begin(connection_string: str, version: str, ratio: float) -> OpenTelemetry:
    """Sends from threads of its own. Signs in as APPLICATIONINSIGHTS_AUTHENTICATION_STRING says, if it is set."""
    options: dict[str, Any] = {"connection_string": connection_string, "disable_offline_storage": True}
    exporter = AzureMonitorMetricExporter(**options)
    exporter._preferred_temporality = NEWS_ONLY
    metrics = PeriodicExportingMetricReader(exporter, METRICS_EVERY_MS)
    made = OpenTelemetry(version, ratio, AzureMonitorTraceExporter(**options), metrics)
    made.trace_sdks()
    return made
