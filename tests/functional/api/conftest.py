"""The app's functions, called with real requests against a store of their own."""

from __future__ import annotations

import dataclasses
import inspect
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import azure.functions as func
import pytest

import function_app
from scripts.local_host.values import Context
from services import container
from services.container import Container

Handler = Callable[..., Awaitable[func.HttpResponse]]
FUNCTIONS: dict[str, Handler] = {
    str(each.get_function_name()): each.get_user_function() for each in function_app.app.get_functions()
}


class Sent(func.Out[list[str]]):
    """What a function puts on its queue."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def set(self, val: list[str]) -> None:
        self.messages += val

    def get(self) -> list[str]:
        return self.messages


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    sent: list[dict[str, Any]]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def mimetype(self) -> str:
        return self.headers["Content-Type"]


async def call(
    name: str,
    query: str = "",
    body: Any = None,
    *,
    key: str | None = None,
    if_none_match: str | None = None,
    **route_params: str,
) -> Answer:
    """Calls the function of that name. A `body` that is no bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    given = {"X-Management-Key": key, "If-None-Match": if_none_match}
    request = func.HttpRequest(
        method="GET",
        url=f"http://localhost/api/v1/x?{query}",
        headers={name: text for name, text in given.items() if text is not None},
        params=dict(parse_qsl(urlsplit(f"?{query}").query, keep_blank_values=True)),
        route_params=route_params,
        body=content,
    )
    sent = Sent()
    context = Context(f"invocation of {name}", name, "", "", threading.local())
    _, *others = inspect.signature(FUNCTIONS[name]).parameters
    response = await FUNCTIONS[name](request, **{each: context if each == "context" else sent for each in others})
    said = {**response.headers, "Content-Type": response.mimetype}
    return Answer(response.status_code, said, response.get_body(), [json.loads(each) for each in sent.messages])


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """What the app's settings are read from, before it is first asked for."""
    for name in ("STORE", "COSMOS_ENDPOINT", "MANAGEMENT_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("AzureWebJobsStorage", "UseDevelopmentStorage=true")
    return monkeypatch


@pytest.fixture
async def app(environment: pytest.MonkeyPatch) -> AsyncIterator[Container]:
    """The container that the functions use."""
    yield await container.get()
    await container.close()


@pytest.fixture
async def locked(environment: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """An app whose management key is `sesame`."""
    environment.setenv("MANAGEMENT_KEY", "sesame")
    await container.get()
    yield
    await container.close()
