"""Which functions the decorators declare, and who may call them."""

import inspect
import os
import subprocess
import sys
import typing

import azure.functions as func
import pytest

from models.errors import NotAllowed
from services.container import Container
from services.topology import CLEAN_UP, INGEST_FEEDS
from tests.hosting import ROOT
from triggers.bindings import Routes, consumer, require_management, timer
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
