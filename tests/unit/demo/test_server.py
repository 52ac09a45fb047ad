"""The demo over HTTP: good outlets with validators, and each kind of bad one."""

import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import aiohttp
import pytest

from scripts.demo.newsroom import Newsroom
from scripts.demo.server import Newsstand, served
from services.parse.feed import linked_feed, parse
from tests.builders import Watch

NOW = datetime(2026, 2, 20, 20, 0, 7, tzinfo=UTC)
NEWSROOM = Newsroom(NOW)


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)


@pytest.fixture
def newsstand(watch: Watch) -> Newsstand:
    return Newsstand(watch, NEWSROOM, slow_seconds=0.05)


@pytest.fixture
async def web(newsstand: Newsstand) -> AsyncIterator[aiohttp.ClientSession]:
    async with served(newsstand, 0) as base, aiohttp.ClientSession(base) as session:
        yield session


async def test_a_feed_that_has_not_changed_is_304_with_its_etag(web: aiohttp.ClientSession, watch: Watch) -> None:
    async with web.get("/demo-dev-wire/feed") as response:
        assert (response.status, response.content_type) == (200, "application/rss+xml")
        etag = response.headers["ETag"]
    async with web.get("/demo-dev-wire/feed", headers={"If-None-Match": etag}) as response:
        assert (response.status, response.headers["ETag"], await response.read()) == (304, etag, b"")
    watch.advance(hours=20)
    async with web.get("/demo-dev-wire/feed", headers={"If-None-Match": etag}) as response:
        assert response.status == 200


async def test_each_fault_is_served(web: aiohttp.ClientSession, newsstand: Newsstand, watch: Watch) -> None:
    async def status(path: str) -> int:
        async with web.get(path) as response:
            return response.status

    async with web.get("/demo-patchnotes/feed") as response:
        assert "ETag" not in response.headers
    async with web.get("/demo-brochure/feed") as response:
        assert (response.status, response.content_type) == (200, "text/html")
        assert linked_feed(await response.read(), str(response.url)) is None
    assert await status("/demo-last-post/feed") == 200
    newsstand.has_turned = True
    assert await status("/demo-last-post/feed") == 410
    statuses = set()
    for _ in range(6):
        watch.advance(minutes=1)
        statuses.add(await status("/demo-flaky-times/feed"))
    assert statuses == {200, 503}
    assert await status("/demo-slow-press/feed") == 200
    for nothing in ("/nobody/feed", "/demo-dev-wire/nothing", "/demo-dev-wire/nothing-99999999999"):
        assert await status(nothing) == 404


async def test_an_outlet_turns_and_has_the_same_entries_under_new_ids_and_urls(
    web: aiohttp.ClientSession, newsstand: Newsstand
) -> None:
    items = []
    for newsstand.has_turned in (False, True):
        async with web.get("/demo-new-address/feed") as response:
            items.append(parse(await response.read(), str(response.url), response.content_type).items)
    before, after = items
    assert [each.headline for each in before] == [each.headline for each in after]
    assert [each.published for each in before] == [each.published for each in after]
    assert not {each.article_id for each in before} & {each.article_id for each in after}
    assert not {each.url for each in before} & {each.url for each in after}
    async with web.get(after[0].url) as response:
        assert response.status == 200


async def test_another_port_is_used_if_the_port_is_taken(watch: Watch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        async with served(Newsstand(watch, NEWSROOM), taken.getsockname()[1]) as base:
            assert base.rpartition(":")[2] != str(taken.getsockname()[1])
