"""An invocation is a span that continues the trace of its message or of the host."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from types import SimpleNamespace

import azure.functions as func
import pytest

from models.errors import NotFound, Unavailable
from services import telemetry
from tests.exported import Exported, exported_to_memory
from triggers.bindings import traced

HOST = "00-000000000000000000000000000000aa-00000000000000bb-00"
MESSAGE = "00-000000000000000000000000000000cc-00000000000000dd-00"
CONTEXT = SimpleNamespace(invocation_id="one", trace_context=SimpleNamespace(trace_parent=HOST))


class Message(func.QueueMessage):
    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def dequeue_count(self) -> int | None:
        return 3

    def get_body(self) -> bytes:
        return self._text.encode()


@pytest.fixture
def exported() -> Iterator[Exported]:
    with exported_to_memory() as made:
        yield made


def request() -> func.HttpRequest:
    return func.HttpRequest(method="GET", url="http://localhost/api/v1/x", body=b"")


async def work(message: func.QueueMessage) -> None:
    assert telemetry.is_on()


async def test_a_message_with_a_trace_is_continued_and_the_host_is_linked(exported: Exported) -> None:
    await traced(work)(message=Message(f'{{"run_id":"a","traceparent":"{MESSAGE}"}}'), context=CONTEXT)
    span = exported.spans()["work"]
    assert span.parent is not None
    assert (span.parent.trace_id, span.parent.span_id) == (0xCC, 0xDD)
    assert [each.context.trace_id for each in span.links] == [0xAA]
    assert (span.attributes or {})["faas.invocation_id"] == "one"
    assert (span.attributes or {})["toolpulse.delivery"] == 3


@pytest.mark.parametrize("text", ["{}", "no json", '{"traceparent":"nonsense"}'])
async def test_a_message_without_a_trace_is_still_worked_on(exported: Exported, text: str) -> None:
    await traced(work)(message=Message(text), context=CONTEXT)
    assert "work" in exported.spans()


async def test_without_a_message_the_trace_of_the_host_is_continued(exported: Exported) -> None:
    @traced
    async def tick(timer_request: object) -> None: ...

    await tick(timer_request=object(), context=CONTEXT)
    span = exported.spans()["tick"]
    assert span.parent is not None
    assert span.parent.trace_id == 0xAA
    assert span.links == ()
    ((_, labels),) = exported.metrics()["toolpulse.invocations"]
    assert labels == {"function": "tick", "outcome": "succeeded"}


@pytest.mark.parametrize(("status", "is_failed"), [(200, False), (404, False), (500, True), (503, True)])
async def test_a_response_of_500_and_above_is_a_failure(exported: Exported, status: int, is_failed: bool) -> None:
    @traced
    async def answer(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse(status_code=status)

    assert (await answer(req=request(), context=CONTEXT)).status_code == status
    span = exported.spans()["answer"]
    assert (not span.status.is_ok) is is_failed
    assert (span.attributes or {})["http.response.status_code"] == status


@pytest.mark.parametrize(("error", "is_failed"), [(Unavailable("x"), True), (NotFound("x"), False)])
async def test_an_error_passes_and_is_a_failure_unless_it_is_an_answer(
    exported: Exported, error: Exception, is_failed: bool
) -> None:
    @traced
    async def fail(message: func.QueueMessage) -> None:
        raise error

    with pytest.raises(type(error)):
        await fail(message=Message("{}"), context=CONTEXT)
    assert (not exported.spans()["fail"].status.is_ok) is is_failed
    assert exported.metrics()["toolpulse.invocations"][0][1]["outcome"] == "failed"


async def test_without_telemetry_the_function_is_called_as_it_is() -> None:
    @traced
    async def echo(message: str) -> str:
        return message

    assert await echo(message="a", context=CONTEXT) == "a"
    assert await echo("a") == "a"


def test_the_worker_sees_a_context_beside_the_parameters_of_the_function() -> None:
    @traced
    async def function(message: func.QueueMessage) -> None: ...

    assert list(inspect.signature(function).parameters) == ["message", "context"]
    assert typing.get_type_hints(function)["context"] is func.Context


async def test_a_function_that_takes_the_context_gets_it() -> None:
    @traced
    async def own(message: str, context: func.Context) -> object:
        return context

    assert list(inspect.signature(own).parameters) == ["message", "context"]
    assert await own(message="a", context=CONTEXT) is CONTEXT
