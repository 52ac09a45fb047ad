"""The demo over HTTP: good outlets with validators, and each kind of bad one."""

import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from scripts.demo.newsroom import entries, outlet_of
from scripts.demo.server import GONE_AFTER, Newsstand, served
from services.parse.page_links import discover
from tests.builders import Watch

NOW = datetime(2026, 2, 21, 20, 0, 7, tzinfo=UTC)  # no failing minute


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)


@pytest.fixture
async def web(watch: Watch) -> AsyncIterator[aiohttp.ClientSession]:
    newsstand = Newsstand(watch, opened=NOW, slow_seconds=0.05)
    async with served(newsstand, 0) as base, aiohttp.ClientSession(base) as session:
        yield session


async def test_a_feed_that_has_not_changed_is_304_with_its_etag(web: aiohttp.ClientSession, watch: Watch) -> None:
    async with web.get("/demo-dev-wire/feed") as response:
        assert (response.status, response.content_type) == (200, "application/rss+xml")
        etag = response.headers["ETag"]
    async with web.get("/demo-dev-wire/feed", headers={"If-None-Match": etag}) as response:
        assert (response.status, response.headers["ETag"], await response.read()) == (304, etag, b"")
    watch.advance(minutes=10)
    async with web.get("/demo-dev-wire/feed", headers={"If-None-Match": etag}) as response:
        assert response.status == 200


async def test_each_fault_is_served(web: aiohttp.ClientSession, watch: Watch) -> None:
    async def status(path: str) -> int:
        async with web.get(path) as response:
            return response.status

    async with web.get("/demo-patchnotes/feed") as response:
        assert "ETag" not in response.headers
    async with web.get("/demo-brochure/feed") as response:
        assert (response.status, response.content_type) == (200, "text/html")
        assert discover(await response.read(), str(response.url)) == []
    assert await status("/demo-last-post/feed") == 200
    watch.now = NOW + GONE_AFTER + timedelta(seconds=1)
    assert await status("/demo-last-post/feed") == 410
    watch.now = NOW.replace(minute=0) - timedelta(minutes=2)
    statuses = set()
    for _ in range(6):
        watch.advance(minutes=1)
        statuses.add(await status("/demo-flaky-times/feed"))
    assert statuses == {200, 503}
    assert await status("/demo-slow-press/feed") == 200
    for nothing in ("/nobody/feed", "/demo-dev-wire/nothing", "/demo-dev-wire/nothing-99999999999"):
        assert await status(nothing) == 404


async def test_a_front_page_names_its_feed_and_an_article_has_a_page(web: aiohttp.ClientSession) -> None:
    async with web.get("/demo-frontier/") as response:
        (link,) = discover(await response.read(), str(response.url))
    async with web.get(link.url) as response:
        assert response.content_type == "application/atom+xml"
    outlet = outlet_of("demo-dev-wire")
    assert outlet is not None
    entry = entries(outlet, NOW)[5]
    async with web.get(f"/demo-dev-wire/{entry.story.slug}") as response:
        assert entry.story.headline in await response.text()


async def test_another_port_is_used_if_the_port_is_taken(watch: Watch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        async with served(Newsstand(watch, NOW), taken.getsockname()[1]) as base:
            assert base.rpartition(":")[2] != str(taken.getsockname()[1])
