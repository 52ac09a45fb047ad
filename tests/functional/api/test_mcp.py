"""MCP, as the official client uses it over HTTP: the tools, what they answer, and what is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import httpx2
import pytest
import pytest_asyncio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from services.mentions.due import mark_dirty
from services.ports import utc_now
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog
from tests.documents import article
from tests.functional.figures.world import a_mention, a_tool
from tests.hosting import RunningHost, running_host

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "a-key-of-twenty-characters"
NOW = datetime.now(UTC).replace(microsecond=0)
TOOL = a_tool(0, NOW - timedelta(days=40), primary_name="Visual Studio Code", aliases=("VS Code",), tickers=("MSFT",))
ARTICLE = article(created_at=NOW, timestamp=NOW - timedelta(hours=2))


@asynccontextmanager
async def client_of(host: RunningHost, key: str = KEY) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"x-functions-key": key}) as http,
        Client(streamable_http_client(f"{host.url}/api/mcp", http_client=http)) as client,
    ):
        yield client


async def ask(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The answer, which the client gets as data and as text."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    (content,) = result.content
    assert content.type == "text"
    assert result.structured_content == json.loads(content.text)
    return json.loads(content.text)  # type: ignore[no-any-return]


async def refusal(client: Client, tool: str, /, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    (content,) = result.content
    assert content.type == "text"
    return content.text


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHost]:
    data = tmp_path_factory.mktemp("mcp")
    store = SqliteStore(data / "toolpulse.db", utc_now)
    for document in (TOOL, ARTICLE, a_mention(TOOL.tool_id, ARTICLE.source_id, NOW - timedelta(hours=2))):
        await store.create(document.CONTAINER, document.to_document())
    for name in (TOOL.primary_name, *TOOL.aliases):
        await Catalog(store, utc_now, lambda: "").claim(name, TOOL)
    await mark_dirty(store, {TOOL.tool_id: [NOW - timedelta(hours=2)]}, NOW)
    await store.close()
    settings = {"DATA_DIR": str(data), "FUNCTION_KEYS": KEY, "MANAGEMENT_KEY": f"management-{KEY}"}
    async with running_host(data=data, settings=settings) as running:
        yield running


async def test_the_tools_are_described_with_the_parameters_of_the_api(host: RunningHost) -> None:
    async with client_of(host) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["find_tool", "sentiment", "why_it_moved", "articles", "stories", "compare", "health"]
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
    schema = tools["articles"].input_schema
    assert schema["properties"]["limit"] | {"description": ""} == {
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
        "default": 10,
        "description": "",
    }
    assert schema["properties"]["sentiment"]["enum"] == ["positive", "negative", "neutral", "unscored"]
    assert all(each["description"] for tool in tools.values() for each in tool.input_schema["properties"].values())


async def test_every_tool_answers_as_the_api_does(host: RunningHost) -> None:
    async with client_of(host) as client:
        for text in ("vs code", "visual  studio code", "msft", "studio", "Visual Studio Cod"):
            assert [each["name"] for each in (await ask(client, "find_tool", text=text))["items"]] == [
                TOOL.primary_name
            ]
        assert await ask(client, "find_tool", text="zebra") == {"items": [], "tracked_tools": 1}
        told = await ask(client, "sentiment", tool="vs code", period="DAY_7")
        assert (told["tool"], told["total_mentions"], told["positive_count"]) == (TOOL.primary_name, 1, 1)
        assert "links" not in told
        moved = await ask(client, "why_it_moved", tool="vs code")
        assert moved["tool"] == TOOL.primary_name
        found = (await ask(client, "articles", tool="VS Code"))["items"]
        assert [each["headline"] for each in found] == []  # the article was not analysed by this app
        assert [each["headline"] for each in (await ask(client, "articles"))["items"]] == [ARTICLE.headline]
        assert (await ask(client, "stories"))["items"] == []
        compared = await ask(client, "compare", tools="VS Code")
        assert (compared["step"], [each["tool"] for each in compared["items"]]) == ("day", [TOOL.primary_name])
        assert len(compared["items"][0]["points"]) == 7
        assert (await ask(client, "health"))["checks"]["database"]["status"] == "healthy"


async def test_a_refusal_names_the_argument_and_what_is_allowed(host: RunningHost) -> None:
    async with client_of(host) as client:
        assert "tool: there is none" in await refusal(client, "sentiment", tool="Emacs")
        assert "period" in await refusal(client, "sentiment", tool="VS Code", period="HOUR_2")
        assert await refusal(client, "sentiment") == "tool: is needed"
        assert await refusal(client, "sentiment", color="red") == "color: no such argument; takes tool, period"
        assert await refusal(client, "stories", color="red") == (
            "color: no such argument; takes tool, text, since, until, state, min_articles, limit, cursor"
        )
        assert "limit" in await refusal(client, "articles", limit=51)
        assert "find_tool, sentiment" in await refusal(client, "delete_everything")
        assert await refusal(client, "find_tool", text="") == "text: a name of 1 to 200 characters, and nothing else"


async def test_a_stream_a_session_and_a_caller_without_key_are_refused(host: RunningHost) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with aiohttp.ClientSession(host.url, headers=accept) as web:
        async with web.post("/api/mcp", json=ping) as response:
            assert response.status == 401
        web.headers["x-functions-key"] = KEY
        for method in ("GET", "DELETE"):
            async with web.request(method, "/api/mcp") as response:
                assert (response.status, response.headers["Allow"]) == (405, "POST")
        async with web.post("/api/mcp", json=ping) as response:
            assert (response.status, await response.json()) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
        async with web.post("/api/mcp", data=b"{", headers={"Content-Type": "application/json"}) as response:
            assert (response.status, (await response.json())["error"]["code"]) == (400, -32700)
        async with web.post("/api/mcp", json={**ping, "method": 3}) as response:
            assert (response.status, (await response.json())["error"]["code"]) == (400, -32602)
        async with web.post("/api/mcp", json={**ping, "method": "tools/call", "params": {"name": 3}}) as response:
            assert (await response.json())["error"]["code"] == -32602
