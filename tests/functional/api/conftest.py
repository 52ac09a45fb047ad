"""The app's functions, called with real requests against a store of their own."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
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
from services.ports import utc_now
from tests.builders import Watch
from tests.queue_service import QueueService, queue_service

Handler = Callable[..., Awaitable[func.HttpResponse]]
_INDEXED = function_app.app.get_functions()
FUNCTIONS: dict[str, Handler] = {str(each.get_function_name()): each.get_user_function() for each in _INDEXED}
TRIGGERS: dict[str, dict[str, Any]] = {
    str(each.get_function_name()): each.get_trigger().get_dict_repr()  # type: ignore[union-attr]
    for each in _INDEXED
}


_SERVICES: list[QueueService] = []
"""The queue service of the test that runs."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """`sent` are the messages that the function sent to any queue."""

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
    /,
    query: str = "",
    body: Any = None,
    *,
    key: str | None = None,
    if_none_match: str | None = None,
    content_type: str | None = None,
    **route_params: str,
) -> Answer:
    """Calls the function of that name. A `body` that is no bytes is written as JSON. The content type is that of the
    function, unless `content_type` is given."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    media_type = content_type or ("text/x-opml" if name == "import_feeds" else "application/json")
    given = {"X-Management-Key": key, "If-None-Match": if_none_match, "Content-Type": media_type}
    request = func.HttpRequest(
        method="GET",
        url=f"http://localhost/api/v1/x?{query}",
        headers={name: text for name, text in given.items() if text is not None},
        params=dict(parse_qsl(urlsplit(f"?{query}").query, keep_blank_values=True)),
        route_params=route_params,
        body=content,
    )
    for service in _SERVICES:
        service.received()
    context = Context(f"invocation of {name}", name, "", "", threading.local())
    _, *others = inspect.signature(FUNCTIONS[name]).parameters
    response = await FUNCTIONS[name](request, **dict.fromkeys(others, context))
    said = {**response.headers, "Content-Type": response.mimetype}
    sent = [json.loads(message) for service in _SERVICES for message in service.received()]
    return Answer(response.status_code, said, response.get_body(), sent)


@pytest.fixture
async def queue_server(tmp_path: Path) -> AsyncIterator[QueueService]:
    async with queue_service(tmp_path / "queues") as service:
        _SERVICES.append(service)
        yield service
        _SERVICES.remove(service)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue_server: QueueService) -> pytest.MonkeyPatch:
    """What the app's settings are read from, before it is first asked for."""
    for name in ("STORE", "COSMOS_ENDPOINT", "MANAGEMENT_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("AzureWebJobsStorage", queue_server.connection)
    return monkeypatch


async def started() -> Container:
    """The container that the functions use, once its worker has resumed what an earlier one left."""
    app = await container.get()
    await container.resumed()
    return app


@pytest.fixture
def watch() -> Watch:
    """The clock of the app: it stands still at the time at which the test begins, so that no test depends on it."""
    return Watch(utc_now().replace(microsecond=0))


@pytest.fixture
async def app(environment: pytest.MonkeyPatch, watch: Watch) -> AsyncIterator[Container]:
    built = await container.build(os.environ, watch)
    container.adopt(built)
    yield built
    await container.close()
    await built.close()


@pytest.fixture
async def locked(environment: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """An app whose management key is `sesame`."""
    environment.setenv("MANAGEMENT_KEY", "sesame")
    await container.get()
    yield
    await container.close()
