"""Which functions the decorators declare, who may call them, and what surrounds an invocation: its deadline, the
heartbeat of a timer, and a span that continues the trace of its message or of the host."""

import inspect
import json
import logging
import os
import subprocess
import sys
import typing
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace

import azure.functions as func
import pytest

from models.errors import NotAllowed, NotFound, Unavailable
from services import container, deadline, telemetry
from services.container import Container
from services.topology import CLEAN_UP, FUNCTION_TIMEOUT, HTTP_TIMEOUT, INGEST_FEEDS, REFRESH_TOOLS
from tests.exported import Exported, exported_to_memory
from tests.hosting import ROOT
from triggers.bindings import Routes, beating, consumer, require_management, timer, traced
from triggers.contract import ok


def request(headers: dict[str, str] | None = None) -> func.HttpRequest:
    return func.HttpRequest("POST", "http://localhost/api/v1/x", headers=headers or {}, body=b"")


def test_the_management_key_is_required_only_if_one_is_set() -> None:
    require_management(request(), "")
    require_management(request(headers={"x-management-key": "sesame"}), "sesame")
    for headers in ({}, {"X-Management-Key": ""}, {"X-Management-Key": "sesam"}, {"X-Management-Key": "ключ"}):
        with pytest.raises(NotAllowed):
            require_management(request(headers=headers), "sesame")


@pytest.mark.parametrize(
    ("given", "level"),
    [
        (None, "FUNCTION"),
        ("function", "FUNCTION"),
        ("Anonymous", "ANONYMOUS"),
        ("admin", "FUNCTION"),
        ("x", "FUNCTION"),
    ],
)
def test_reading_takes_a_key_unless_it_is_opened_by_name(given: str | None, level: str) -> None:
    environment = {**os.environ, **({"READ_AUTH_LEVEL": given} if given else {})}
    command = [sys.executable, "-c", "from triggers.bindings import READ; print(READ.name)"]
    printed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == level


def declared(blueprint: func.Blueprint) -> tuple[typing.Any, list[dict[str, typing.Any]]]:
    """The blueprint's one function, and its bindings."""
    app = func.FunctionApp()
    app.register_functions(blueprint)
    (function,) = app.get_functions()
    return function.get_user_function(), [each.get_dict_repr() for each in function.get_bindings()]


@pytest.mark.parametrize(
    ("method", "is_management", "level"),
    [("GET", None, "FUNCTION"), ("GET", True, "FUNCTION"), ("POST", None, "FUNCTION"), ("DELETE", None, "FUNCTION")],
)
def test_an_endpoint_is_a_route(method: str, is_management: bool | None, level: str) -> None:
    blueprint = Routes()

    @getattr(blueprint, method.lower())("things/{tool}", is_management=is_management, returns=ok(None))  # type: ignore[untyped-decorator]
    async def change_thing(services: Container, req: func.HttpRequest) -> func.HttpResponse:
        raise AssertionError("never called")

    function, bindings = declared(blueprint)
    (route,) = (each for each in bindings if each["type"] == "httpTrigger")
    assert (route["route"], route["authLevel"].name) == ("v1/things/{tool}", level)
    assert [each.value for each in route["methods"]] == ([method, "HEAD"] if method == "GET" else [method])
    assert {each["type"] for each in bindings} == {"httpTrigger", "http"}
    assert function.__name__ == "change_thing"


def test_the_worker_sees_the_bindings_of_a_handler_and_not_its_container() -> None:
    blueprint = func.Blueprint()

    @consumer(blueprint, INGEST_FEEDS)
    async def work(services: Container, message: func.QueueMessage) -> None:
        raise AssertionError("never called")

    function, bindings = declared(blueprint)
    assert list(inspect.signature(function).parameters) == ["message", "context"]
    hints = typing.get_type_hints(function)
    assert hints == {"message": func.QueueMessage, "context": func.Context, "return": type(None)}
    assert [(each["name"], each["queueName"]) for each in bindings] == [("message", INGEST_FEEDS)]


def test_a_timer_has_the_schedule_of_the_topology() -> None:
    blueprint = func.Blueprint()

    @timer(blueprint, CLEAN_UP)
    async def tick(services: Container, timer_request: func.TimerRequest) -> None:
        raise AssertionError("never called")

    function, bindings = declared(blueprint)
    assert list(inspect.signature(function).parameters) == ["timer_request", "context"]
    assert bindings[0]["schedule"] == CLEAN_UP.schedule


@pytest.fixture
async def of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[None]:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("AzureWebJobsStorage", "UseDevelopmentStorage=true")
    yield
    await container.close()


async def beats() -> dict[str, str | None]:
    found = await (await container.get()).heartbeats.list([CLEAN_UP.name])
    return {name: beat.last_error for name, beat in found.items()}


@beating(CLEAN_UP)
async def fails() -> None:
    raise ValueError("as asked")


@pytest.mark.usefixtures("of_its_own")
async def test_the_outcome_of_a_run_is_recorded() -> None:
    @beating(CLEAN_UP)
    async def works() -> None:
        pass

    await works()
    assert await beats() == {"clean_up": None}
    with pytest.raises(ValueError, match="as asked"):
        await fails()
    assert await beats() == {"clean_up": "ValueError"}


@pytest.mark.usefixtures("of_its_own")
async def test_a_run_whose_heartbeat_cannot_be_stored_has_still_done_its_work(caplog: pytest.LogCaptureFixture) -> None:
    @beating(CLEAN_UP)
    async def works() -> None:
        await (await container.get()).store.close()

    with caplog.at_level(logging.WARNING):
        await works()
        with pytest.raises(ValueError, match="as asked"):
            await fails()
    events = [json.loads(record.message) for record in caplog.records if record.name == "toolpulse.heartbeats"]
    assert [(event["event"], event["timer"]) for event in events] == [("heartbeat_not_stored", "clean_up")] * 2


@pytest.mark.usefixtures("of_its_own")
async def test_a_run_that_fails_without_the_store_is_logged_as_critical(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @beating(CLEAN_UP)
    async def counts() -> None:
        store = (await container.get()).store
        await store.close()
        await store.count("feeds")

    with pytest.raises(Unavailable):
        await counts()
    told = [json.loads(record.message) for record in caplog.records if record.levelno == logging.CRITICAL]
    assert [(each["event"], each["timer"]) for each in told] == [("system_unavailable", "clean_up")]


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


def a_request() -> func.HttpRequest:
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

    assert (await answer(req=a_request(), context=CONTEXT)).status_code == status
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


async def test_a_function_that_takes_the_context_gets_it() -> None:
    @traced
    async def own(message: str, context: func.Context) -> object:
        return context

    assert list(inspect.signature(own).parameters) == ["message", "context"]
    assert await own(message="a", context=CONTEXT) is CONTEXT


@pytest.mark.usefixtures("of_its_own")
async def test_functions_run_under_the_deadline_of_their_trigger() -> None:
    seen: list[tuple[bool, float]] = []
    blueprint = Routes()

    def see() -> None:
        seen.append((deadline.in_background(), deadline.remaining()))

    @timer(blueprint, CLEAN_UP)
    async def tick(services: Container, timer_request: func.TimerRequest) -> None:
        see()

    @consumer(blueprint, REFRESH_TOOLS)
    async def work(services: Container, message: func.QueueMessage) -> None:
        see()

    @blueprint.get("things", returns=ok(None))
    async def things(services: Container, req: func.HttpRequest) -> func.HttpResponse:
        see()
        return func.HttpResponse()

    app = func.FunctionApp()
    app.register_functions(blueprint)
    given = {"tick": None, "work": None, "things": func.HttpRequest("GET", "http://localhost/api/v1/things", body=b"")}
    for function in app.get_functions():
        await function.get_user_function()(given[str(function.get_function_name())])
    background, http = FUNCTION_TIMEOUT.total_seconds(), HTTP_TIMEOUT.total_seconds()
    assert [each[0] for each in seen] == [True, True, False]
    assert [left for _, left in seen] == pytest.approx([background, background, http], abs=5)
    assert deadline.remaining() == float("inf")
