"""A newcomer's first minute: articles, figures, stories and signals in seconds, the same feeds after a restart, and
none without the demo."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp

from scripts.demo.newsroom import OUTLETS, PRODUCTS
from tests.hosting import running_host

SECONDS = 20


async def listed(session: aiohttp.ClientSession, what: str) -> list[dict[str, Any]]:
    async with session.get(f"/api/v1/{what}?limit=500") as response:
        items: list[dict[str, Any]] = (await response.json())["items"]
        return items


async def test_the_demo_brings_articles_and_figures_in_seconds_and_restarts_with_its_feeds(
    tmp_path: Path,
) -> None:
    settings = {"DATA_DIR": str(tmp_path)}
    async with running_host("--demo", data=tmp_path, settings=settings) as host:
        async with aiohttp.ClientSession(host.url) as session:
            for _ in range(SECONDS * 5):
                if any(len(article["sources"]) > 1 for article in await listed(session, "articles")):
                    break
                await asyncio.sleep(0.2)
            else:
                raise AssertionError(host.printed())
            for _ in range(SECONDS * 10):
                async with session.get("/api/v1/sentiment/latest?period=HOUR_24") as response:
                    rows = (await response.json())["items"]
                if sum(row["total_mentions"] > 0 for row in rows) > len(PRODUCTS) / 2:
                    break
                await asyncio.sleep(0.2)
            else:
                raise AssertionError(host.printed())
            assert sorted(row["tool"] for row in rows) == sorted(product.name for product in PRODUCTS)
            for _ in range(SECONDS * 5):
                if signals := await listed(session, "signals"):
                    break
                await asyncio.sleep(0.2)
            else:
                raise AssertionError(host.printed())
            assert {signal["tool"] for signal in signals} <= {product.name for product in PRODUCTS}
            stories = {story["event_id"]: story for story in await listed(session, "stories")}
            assert stories[signals[0]["event_id"]]["publisher_count"] > 1
            before = {feed["feed_id"]: feed["feed_url"] for feed in await listed(session, "feeds")}
            own = {"url": f"{host.url}/feed", "source_name": "The app itself", "id": "own"}
            async with session.post("/api/v1/feeds", json=own) as response:
                assert response.status == 201
            await session.post("/api/v1/feeds/own/fetch", json={})
            for _ in range(SECONDS * 5):
                (feed,) = (each for each in await listed(session, "feeds") if each["feed_id"] == "own")
                if feed["last_error"]:
                    break
                await asyncio.sleep(0.2)
            assert "ALLOW_PRIVATE_ADDRESSES" in (feed["last_error"] or ""), "the demo's own server only"
            await session.delete("/api/v1/feeds/own")
        assert sorted(before) == sorted(each.id for each in OUTLETS)
        host.kill()
        await host.process.wait()
    again = running_host("--demo", data=tmp_path, settings=settings)
    async with again as host, aiohttp.ClientSession(host.url) as session:
        after = {feed["feed_id"]: feed["feed_url"] for feed in await listed(session, "feeds")}
    assert after == before
    without = running_host(data=tmp_path, settings=settings)
    async with without as host, aiohttp.ClientSession(host.url) as session:
        assert await listed(session, "feeds") == []
        assert await listed(session, "articles")
        assert {tool["status"] for tool in await listed(session, "tools")} == {"DEPRECATED"}
