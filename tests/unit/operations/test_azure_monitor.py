"""Spans and metrics as they are exported: sampled by trace."""

from collections.abc import Iterator

import pytest
from opentelemetry.trace import SpanKind, use_span

from models.errors import Conflict, Unavailable
from services import telemetry
from services.store.cosmos_connection import Counters
from tests.exported import Exported, exported_to_memory

LOW = "00-00000000000000000000000000000001-00000000000000aa-00"
HIGH = "00-0000000000000000ffffffffffffffff-00000000000000aa-00"


@pytest.fixture
def exported() -> Iterator[Exported]:
    with exported_to_memory(0.5) as made:
        yield made


def test_a_trace_is_sampled_by_its_id_alike_in_every_process(exported: Exported) -> None:
    with telemetry.span("low", parent=LOW):
        pass
    with telemetry.span("high", parent=HIGH):
        pass
    assert exported.spans().keys() == {"low"}


def test_a_failed_span_has_the_kind_of_its_error_and_no_text(exported: Exported) -> None:
    def work() -> None:
        with telemetry.span("outer", parent=LOW), telemetry.span("inner", attributes={"a": 1}):
            raise Unavailable("the secret text")

    with pytest.raises(Unavailable):
        work()
    found = exported.spans()
    inner = found["inner"]
    assert inner.status.description == "Unavailable"
    assert {"a": 1, "error.type": "Unavailable"}.items() <= (inner.attributes or {}).items()
    assert inner.parent is not None
    assert found["outer"].context is not None
    assert inner.parent.span_id == found["outer"].context.span_id
    assert inner.events == ()


def test_an_answer_is_no_failure(exported: Exported) -> None:
    with pytest.raises(Conflict), telemetry.span("create", parent=LOW):
        raise Conflict("exists")
    span = exported.spans()["create"]
    assert span.status.is_unset
    assert (span.attributes or {})["toolpulse.answer"] == "Conflict"


def test_a_span_continues_the_trace_of_its_parent_and_links_to_the_host(exported: Exported) -> None:
    with telemetry.span("work", kind="consumer", parent=LOW, link=HIGH):
        inside = exported.backend.traceparent()
    span = exported.spans()["work"]
    assert span.kind is SpanKind.CONSUMER
    assert span.parent is not None
    assert (span.parent.trace_id, span.parent.span_id) == (1, 0xAA)
    assert [link.context.trace_id for link in span.links] == [0xFFFFFFFFFFFFFFFF]
    assert span.context is not None
    assert inside == f"00-{1:032x}-{span.context.span_id:016x}-01"


@pytest.mark.parametrize("text", ["", "nonsense", "00-0-0-00"])
def test_a_parent_that_is_no_traceparent_begins_a_new_trace(exported: Exported, text: str) -> None:
    with telemetry.span("work", parent=text, link=text):
        telemetry.record(telemetry.SENT)
    assert exported.backend.traceparent() is None
    assert all(span.parent is None and span.links == () for span in exported.spans().values())


def test_metrics_have_their_kind_and_attributes(exported: Exported) -> None:
    telemetry.record(telemetry.SENT, 2, queue="a")
    telemetry.record(telemetry.SENT, 3, queue="a")
    telemetry.record(telemetry.REFRESH_AGE, 7)
    telemetry.record(telemetry.REFRESH_AGE, 9)
    telemetry.record(telemetry.INVOCATIONS, 12, function="f", outcome="succeeded")
    counted = Counters("feeds")
    for counter, amount in (("operations", 4), ("retries", 2), ("throttles", 1), ("request_units", 4.5)):
        counted.add(counter, amount)
    counted.add("waited_seconds", 0.5)
    assert exported.metrics() == {
        "toolpulse.queue.sent": [(5, {"queue": "a"})],
        "toolpulse.refresh.age": [(9, {})],
        "toolpulse.invocations": [(12, {"function": "f", "outcome": "succeeded"})],
        "toolpulse.store.requests": [(4, {"container": "feeds"})],
        "toolpulse.store.retries": [(2, {"container": "feeds"})],
        "toolpulse.store.throttles": [(1, {"container": "feeds"})],
        "toolpulse.store.request_units": [(4.5, {"container": "feeds"})],
        "toolpulse.store.wait_seconds": [(0.5, {"container": "feeds"})],
    }


def test_only_counters_that_changed_and_gauges_that_were_measured_are_sent(exported: Exported) -> None:
    telemetry.record(telemetry.ARTICLES, 0)
    telemetry.record(telemetry.WAITED, 0.0, container="feeds")
    for _ in range(2):
        telemetry.record(telemetry.SENT, 2, queue="a")
        telemetry.record(telemetry.QUEUE_POISON, 0, queue="a")
        of_a = {"queue": "a"}
        assert exported.metrics() == {"toolpulse.queue.sent": [(2, of_a)], "toolpulse.queue.poison": [(0, of_a)]}
        assert exported.metrics() == {}


def test_a_request_of_an_sdk_has_a_span_and_the_call_that_makes_the_request_has_none(exported: Exported) -> None:
    tracer = exported.backend.of_sdks.get_tracer("azure")
    with telemetry.span("work", parent=LOW), use_span(tracer.start_span("ContainerProxy.read_item")):
        tracer.start_span("GET", kind=SpanKind.CLIENT).end()
    found = exported.spans()
    assert found.keys() == {"work", "GET"}
    assert found["GET"].parent is not None
    assert found["GET"].parent == found["work"].context
