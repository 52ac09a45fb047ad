"""What only shows over HTTP: which route wins, what a path may hold, and a message that reaches its queue."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import aiohttp
import pytest
import pytest_asyncio
from yarl import URL

from services.ports import utc_now
from services.store.sqlite import SqliteStore
from tests.documents import alias, article
from tests.hosting import running_host

pytestmark = pytest.mark.asyncio(loop_scope="module")

FEED = {"url": "http://127.0.0.1:9/rss", "source_name": "Nobody there", "feed_id": "nobody-there"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[aiohttp.ClientSession]:
    data = tmp_path_factory.mktemp("http")
    store = SqliteStore(data / "toolpulse.db", utc_now)
    now = datetime.now(UTC)
    guid = alias(locator_identity="provider_product_id:https://x.example/a b?c#d", created_at=now)
    for document in (article(created_at=now), guid):
        await store.create(document.CONTAINER, document.to_document())
    await store.close()
    async with (
        running_host(data=data, settings={"DATA_DIR": str(data)}) as host,
        aiohttp.ClientSession(host.url) as session,
    ):
        yield session


async def test_routes_paths_and_queues_work_as_they_are_written(web: aiohttp.ClientSession) -> None:
    async with web.post("/api/v1/feeds", json=FEED) as response:
        assert (response.status, response.content_type) == (201, "application/json")
        location = response.headers["Location"]
    async with web.get(location) as response:
        assert (await response.json())["feed_id"] == "nobody-there"
    async with web.get("/api/v1/feeds/export") as response:
        assert (response.status, response.content_type) == (200, "text/x-opml")
        assert b"http://127.0.0.1:9/rss" in await response.read()
    async with web.post("/api/v1/feeds/import", data=b"<opml/>", headers={"Content-Type": "text/x-opml"}) as response:
        assert await response.json() == {"added": [], "known": [], "refused": []}
    async with web.patch(location, json={"priority": 2}) as response:
        assert (await response.json())["priority"] == 2.0
    async with web.post(f"{location}/fetch") as response:
        assert response.status == 202
        run = response.headers["Location"]
    async with web.get(run) as response:
        assert (await response.json())["subject"] == "nobody-there"
    async with web.get(f"{location}/history") as response:
        assert response.status == 200
    async with web.delete(location) as response:
        assert (response.status, await response.read()) == (204, b"")

    wanted = article().source_id
    for spelling in (wanted, wanted.replace(":", "%3A"), "tiingo:https%3A%2F%2Fx.example%2Fa%20b%3Fc%23d"):
        async with web.get(URL(f"/api/v1/articles/{spelling}", encoded=True)) as response:
            assert response.status == 200, spelling
            assert (await response.json())["source_id"] == wanted
    async with web.get("/api/v1/export") as response:
        assert response.content_type == "application/x-ndjson"
        assert len((await response.read()).splitlines()) == 1
    async with web.get("/api/v1/articles?since=2026-01-01T00:00:00%2B00:00") as response:
        assert response.status == 200
    async with web.delete(f"/api/v1/articles/{wanted}") as response:
        assert response.status == 204
    async with web.get(f"/api/v1/articles/{wanted}") as response:
        assert (response.status, response.content_type) == (404, "application/problem+json")


async def test_head_answers_as_get_does_without_the_body_and_only_where_get_does(web: aiohttp.ClientSession) -> None:
    for path in ("/api/v1/health", "/api/v1/feeds", "/api/v1/feeds/nobody"):
        async with web.get(path) as got, web.head(path) as head:
            assert (head.status, head.content_type, await head.read()) == (got.status, got.content_type, b"")
    for path, method in (("/api/v1/health", "POST"), ("/api/v1/cache/refresh", "HEAD"), ("/api/v1/nothing", "HEAD")):
        async with web.request(method, path) as response:
            assert (response.status, await response.read()) == (404, b"")


@pytest.mark.parametrize("of_page", [False, True])
async def test_a_form_with_a_file_is_taken_from_programs_and_from_pages_of_the_apps_own_site(
    web: aiohttp.ClientSession, of_page: bool
) -> None:
    async with web.get("/api/v1/health") as response:
        own = str(response.url.origin())
    form = aiohttp.FormData()
    form.add_field("file", b"<opml/>", filename="feeds.opml", content_type="text/x-opml")
    async with web.post("/api/v1/feeds/import", data=form, headers={"Origin": own} if of_page else {}) as response:
        assert (response.status, await response.json()) == (200, {"added": [], "known": [], "refused": []})
