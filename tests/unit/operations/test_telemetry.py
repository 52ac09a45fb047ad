"""Without a backend, telemetry does nothing and imports nothing; with one, messages carry the trace."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.errors import Conflict
from services import telemetry
from services.telemetry import METRICS, PREFIX
from tests.exported import exported_to_memory

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def on() -> Iterator[None]:
    with exported_to_memory(1.0), telemetry.span("work"):
        yield


@pytest.mark.parametrize("message", ['{"run_id":"a"}', '{"tool_ids":["a","b"],"run_id":null}', "{}"])
def test_a_message_carries_the_trace_beside_its_fields(on: None, message: str) -> None:
    sent = telemetry.with_trace(message)
    trace = telemetry.trace_of(sent)
    assert trace is not None
    assert json.loads(sent) == {**json.loads(message), "traceparent": trace}
    assert len(sent) - len(message) <= 72


@pytest.mark.parametrize("message", ["", "text", "[1]", '"{}'])
def test_a_message_that_is_no_object_stays_as_it_is(on: None, message: str) -> None:
    assert telemetry.with_trace(message) == message


def test_without_telemetry_a_message_stays_as_it_is() -> None:
    assert telemetry.with_trace('{"run_id":"a"}') == '{"run_id":"a"}'


@pytest.mark.parametrize("message", ["", "traceparent", '["traceparent"]', '{"traceparent":7}', '{"a":"traceparent"}'])
def test_a_message_without_a_trace_has_none(message: str) -> None:
    assert telemetry.trace_of(message) is None


def test_without_telemetry_a_span_does_nothing_and_errors_pass() -> None:
    with telemetry.span("x") as span:
        span.set("a", 1)
        span.fail("b")
    with pytest.raises(Conflict), telemetry.span("x"):
        raise Conflict("exists")


def test_every_metric_has_the_prefix_and_a_name_of_its_own() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    assert all(name.startswith(PREFIX) for name in names)


NOT_IN_GET_METRICS = {
    *("toolpulse_queue_messages", "toolpulse_queue_poison", "toolpulse_queue_sent_total", "toolpulse_refresh_age"),
    *(
        "toolpulse_cache_reads_total",
        "toolpulse_feed_fetches_total",
        "toolpulse_cooling_hosts",
        "toolpulse_invocations",
    ),
}


def test_a_figure_that_get_metrics_has_too_has_the_same_name_there() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    table = page.partition("<!-- metrics -->")[2].partition("<!-- end -->")[0]
    there = {f"toolpulse_{name}" for name in re.findall(r"`(\w+)`", table)}
    names = {each.name.replace(".", "_") + ("_total" if each.kind == "counter" else "") for each in METRICS}
    assert names - there == NOT_IN_GET_METRICS


def test_an_app_without_a_connection_string_does_not_import_opentelemetry() -> None:
    program = (
        "import asyncio, sys, tempfile\n"
        "import function_app\n"
        "from services import container\n"
        "settings = {'DATA_DIR': tempfile.mkdtemp(), 'AzureWebJobsStorage': 'UseDevelopmentStorage=true'}\n"
        "async def main():\n"
        "    built = await container.build(settings)\n"
        "    await built.close()\n"
        "asyncio.run(main())\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'opentelemetry'])\n"
    )
    asked = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == "[]"
