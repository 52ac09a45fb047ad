"""A feed whose ids all change, over HTTP on a running host: what a reviewer sees, decides, and gets."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.functional.api.test_demo import until
from tests.functional.articles.world import Item, item, rss
from tests.functional.cli.commands import Cli
from tests.hosting import RunningHost, running_host

MANY = 12


class Publisher:
    """A site with one feed, whose publishing system can be replaced."""

    def __init__(self) -> None:
        self.system = "old"

    def items(self) -> list[Item]:
        known = [self._entry(number) for number in range(MANY)]
        return known if self.system == "old" else [*known, self._entry(MANY)]

    def _entry(self, number: int) -> Item:
        is_old = self.system == "old"
        at = datetime.now(UTC).replace(microsecond=0, second=0) - timedelta(hours=30 if is_old else 3)
        link = f"https://news.example/{number}" + ("" if is_old else "?utm_source=new-cms")
        title = f"Widgetron is great, says reader number {number}"
        return item(number, guid=f"{self.system}-{number}", title=title, link=link, published=at, text="")

    async def feed(self, request: web.Request) -> web.Response:
        return web.Response(body=rss(self.items()), content_type="application/rss+xml")


class Client:
    def __init__(self, host: RunningHost, session: aiohttp.ClientSession) -> None:
        self.host = host
        self.session = session

    async def get(self, path: str) -> Any:
        async with self.session.get(f"/api/v1/{path}") as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def post(self, path: str, body: Any, status: int) -> Any:
        async with self.session.post(f"/api/v1/{path}", json=body) as answer:
            assert answer.status == status, await answer.text()
            return await answer.json()

    async def until(self, path: str, is_so: Callable[[Any], bool]) -> Any:
        return await until(self.host, lambda: self.get(path), is_so)

    async def fetch(self, fetches: int) -> None:
        await self.post("feeds/a/fetch", {}, 202)
        await self.until("feeds/a", lambda feed: feed["fetch_count"] >= fetches)


@asynccontextmanager
async def flooded(publisher: Publisher, data: Path) -> AsyncIterator[tuple[Client, str]]:
    """A client of a running app with the feed in quarantine, and the id of the batch."""
    settings = {"DATA_DIR": str(data), "ALLOW_PRIVATE_ADDRESSES": "true"}
    site = web.Application()
    site.router.add_get("/feed", publisher.feed)
    async with (
        TestServer(site) as server,
        running_host(data=data, settings=settings) as host,
        aiohttp.ClientSession(host.url) as session,
    ):
        client = Client(host, session)
        await client.post("tools", {"name": "Widgetron"}, 201)
        await client.post("feeds", {"url": str(server.make_url("/feed")), "source_name": "A", "feed_id": "a"}, 201)
        await client.fetch(1)
        await client.until("tools/Widgetron/sentiment?period=DAY_7", lambda each: each["total_mentions"] == MANY)
        publisher.system = "new"
        await client.fetch(2)
        (batch,) = (await client.until("quarantine?status=PENDING", lambda page: page["items"]))["items"]
        assert (batch["reason_code"], batch["item_count"]) == ("FLOOD", MANY + 1)
        yield client, batch["quarantine_id"]


async def test_the_command_line_previews_and_reviews_and_the_figures_become_what_was_said(tmp_path: Path) -> None:
    decision, week = "same_articles_new_ids", "tools/Widgetron/sentiment?period=DAY_7"
    async with flooded(Publisher(), tmp_path) as (client, name):
        waiting = {"BATCH": 1, "DOCUMENT": 0}
        health = await client.until("health", lambda health: health["checks"]["quarantine"]["pending"] == waiting)
        assert health["checks"]["quarantine"]["status"] == "healthy"
        assert (await client.get(week))["total_mentions"] == MANY
        effect = (await client.get(f"quarantine/{name}/preview"))["effects"][decision]
        assert (effect["new_articles"], effect["ids_added"]) == (1, MANY)
        assert [tool["mentions_added"] for tool in effect["tools"]] == [1]

        cli = Cli(("--data", str(tmp_path)))
        assert name in await cli.run("quarantine", "list")
        rows = [line.split() for line in (await cli.run("quarantine", "preview", name)).splitlines()]
        (row,) = [each for each in rows if each[:1] == [decision] and "Widgetron" not in each]
        assert row[1:] == ["1", "0", str(MANY), "0", "1"]
        assert json.loads(await cli.run("quarantine", "preview", name, "--json"))["effects"][decision] == effect
        review = ("quarantine", "review", name, decision, "--author", "Ann")
        await cli.run(*review, code=2)
        await cli.run(*review, "--reason", "a new system")
        assert "ingest_feeds SUCCEEDED: 1 articles_stored" in cli.said
        await cli.run("quarantine", "review", name, "drop", "--author", "Ben", "--reason", "no", code=6)
        assert f"was reviewed already by Ann: {decision}" in cli.said
        await cli.run("quarantine", "preview", name, code=6)
        await cli.run("quarantine", "list")
        assert "Nothing waits for a review." in cli.said
        assert name in await cli.run("quarantine", "list", "--all")

        await client.until(week, lambda each: each["total_mentions"] == MANY + 1 and each["complete"])
        for fetches in (3, 4):
            await client.fetch(fetches)
        await client.until(week, lambda each: each["complete"])
        assert (await client.get(week))["total_mentions"] == MANY + 1, "later polls add nothing"
        none = {"BATCH": 0, "DOCUMENT": 0}
        await client.until("health", lambda health: health["checks"]["quarantine"]["pending"] == none)
