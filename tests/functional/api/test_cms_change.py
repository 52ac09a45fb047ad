"""A feed whose ids all change, over HTTP on a running host: what a reviewer sees, decides, and gets."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.functional.articles.world import Item, item, rss
from tests.functional.cli.commands import Cli
from tests.hosting import RunningHost, running_host

SECONDS = 30
MANY = 12
SIGNED = {"author": "Ann", "reason": "they have a new publishing system"}


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

    async def get(self, path: str, status: int = 200) -> Any:
        async with self.session.get(f"/api/v1/{path}") as answer:
            assert answer.status == status, await answer.text()
            return await answer.json()

    async def post(self, path: str, body: Any, status: int) -> Any:
        async with self.session.post(f"/api/v1/{path}", json=body) as answer:
            assert answer.status == status, await answer.text()
            return await answer.json()

    async def until(self, path: str, is_so: Callable[[Any], bool]) -> Any:
        ends = time.monotonic() + SECONDS
        while not is_so(found := await self.get(path)):
            assert time.monotonic() < ends, f"{found}\n{self.host.printed()}"
            await asyncio.sleep(0.1)
        return found

    async def fetch(self, fetches: int) -> None:
        await self.post("feeds/a/fetch", {}, 202)
        await self.until("feeds/a", lambda feed: feed["fetch_count"] >= fetches)

    async def week(self) -> int:
        total: int = (await self.get("tools/Widgetron/sentiment?period=DAY_7"))["total_mentions"]
        return total


@asynccontextmanager
async def served(publisher: Publisher) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/feed", publisher.feed)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/feed"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def flooded(publisher: Publisher, data: Path) -> AsyncIterator[tuple[Client, str]]:
    """A client of a running app with the feed in quarantine, and the id of the batch."""
    settings = {"DATA_DIR": str(data), "ALLOW_PRIVATE_ADDRESSES": "true"}
    async with (
        served(publisher) as url,
        running_host(data=data, settings=settings) as host,
        aiohttp.ClientSession(host.url) as session,
    ):
        client = Client(host, session)
        await client.post("tools", {"name": "Widgetron"}, 201)
        await client.post("feeds", {"url": url, "source_name": "A", "feed_id": "a"}, 201)
        await client.fetch(1)
        await client.until("tools/Widgetron/sentiment?period=DAY_7", lambda each: each["total_mentions"] == MANY)
        publisher.system = "new"
        await client.fetch(2)
        (batch,) = (await client.until("quarantine?status=PENDING", lambda page: page["items"]))["items"]
        assert (batch["reason_code"], batch["item_count"]) == ("FLOOD", MANY + 1)
        yield client, batch["quarantine_id"]


async def test_the_figures_become_what_the_preview_says(tmp_path: Path) -> None:
    decision, articles = "same_articles_new_ids", MANY + 1
    async with flooded(Publisher(), tmp_path) as (client, name):
        one = {"BATCH": 1, "DOCUMENT": 0}
        health = await client.until("health", lambda health: health["checks"]["quarantine"]["pending"] == one)
        assert health["checks"]["quarantine"]["status"] == "healthy"
        effect = (await client.get(f"quarantine/{name}/preview"))["effects"][decision]
        assert (effect["new_articles"], effect["ids_added"]) == (1, MANY)
        assert await client.week() == MANY
        reviewed = await client.post(f"quarantine/{name}/review", {**SIGNED, "decision": decision}, 200)
        assert (reviewed["decision"], reviewed["reviewed_by"]) == (decision, "Ann")
        await client.until(f"runs/{reviewed['run_id']}", lambda run: run["status"] == "SUCCEEDED")
        path = "tools/Widgetron/sentiment?period=DAY_7"
        await client.until(path, lambda each: each["total_mentions"] == articles and each["complete"])
        assert sum(tool["mentions_added"] for tool in effect["tools"]) == articles - MANY
        for fetches in (3, 4):
            await client.fetch(fetches)
        await client.until(path, lambda each: each["complete"])
        assert await client.week() == articles, "later polls add nothing"
        assert (await client.get("quarantine?status=PENDING"))["items"] == []
        none = {"BATCH": 0, "DOCUMENT": 0}
        await client.until("health", lambda health: health["checks"]["quarantine"]["pending"] == none)


async def test_the_command_line_lists_previews_and_reviews(tmp_path: Path) -> None:
    async with flooded(Publisher(), tmp_path) as (client, name):
        cli = Cli(("--data", str(tmp_path)))
        assert name in await cli.run("quarantine", "list")
        preview = await cli.run("quarantine", "preview", name)
        rows = [line.split() for line in preview.splitlines() if "Widgetron" not in line]
        (row,) = [each for each in rows if each[:1] == ["same_articles_new_ids"]]
        assert row[1:] == ["1", "0", str(MANY), "0", "1"]
        assert json.loads(await cli.run("quarantine", "preview", name, "--json"))["quarantine_id"] == name
        review = ("quarantine", "review", name, "same_articles_new_ids", "--author", "Ann")
        await cli.run(*review, code=2)
        await cli.run(*review, "--reason", "a new system")
        assert "ingest_feeds SUCCEEDED: 1 articles_stored" in cli.said
        await client.until("tools/Widgetron/sentiment?period=DAY_7", lambda each: each["total_mentions"] == MANY + 1)
        await cli.run("quarantine", "review", name, "drop", "--author", "Ben", "--reason", "no", code=6)
        assert "was reviewed already by Ann: same_articles_new_ids" in cli.said
        await cli.run("quarantine", "preview", name, code=6)
        await cli.run("quarantine", "list")
        assert "Nothing waits for a review." in cli.said
        assert name in await cli.run("quarantine", "list", "--all")
