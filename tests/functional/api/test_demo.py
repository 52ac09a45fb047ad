"""A newcomer's first minute: a month of articles, figures, stories and signals in seconds, a flood in quarantine and a
dead feed; the same after a restart, and none without the demo."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from scripts.demo.cast import OUTLETS, PRODUCTS, STRUCK
from tests.hosting import RunningHost, running_host

T = TypeVar("T")
SECONDS = 120


async def listed(session: aiohttp.ClientSession, what: str) -> list[dict[str, Any]]:
    async with session.get(f"/api/v1/{what}") as response:
        items: list[dict[str, Any]] = (await response.json())["items"]
        return items


async def until(host: RunningHost, ask: Callable[[], Awaitable[T]], holds: Callable[[T], object]) -> T:
    """The answer, once it meets the condition."""
    for _ in range(SECONDS * 4):
        answer = await ask()
        if holds(answer):
            return answer
        await asyncio.sleep(0.25)
    raise AssertionError(host.printed())


async def days_of(session: aiohttp.ClientSession, tool: str) -> list[dict[str, Any]]:
    """Its days, oldest first."""
    return sorted(await listed(session, f"tools/{tool}/history?days=30"), key=lambda each: str(each["day"]))


async def test_the_demo_brings_a_month_in_seconds_and_restarts_with_its_feeds(tmp_path: Path) -> None:
    settings = {"DATA_DIR": str(tmp_path)}
    async with running_host("--demo", data=tmp_path, settings=settings) as host:
        async with aiohttp.ClientSession(host.url) as session:
            await until(host, lambda: days_of(session, STRUCK.name), _has_outage_and_recovery)
            rows = await listed(session, "sentiment/latest?period=DAY_30")
            assert sorted(row["tool"] for row in rows) == sorted(product.name for product in PRODUCTS)
            signals = await until(host, lambda: listed(session, "signals"), bool)
            assert {signal["tool"] for signal in signals} <= {product.name for product in PRODUCTS}
            async with session.get(f"/api/v1/stories/{signals[0]['event_id']}") as response:
                assert (await response.json())["publisher_count"] > 1
            held = await until(host, lambda: listed(session, "quarantine"), bool)
            assert [(each["subject"], each["reason_code"]) for each in held] == [("demo-new-address", "FLOOD")]
            feeds = await until(host, lambda: listed(session, "feeds?limit=100"), _are_read)
            await until(host, lambda: listed(session, "sentiment/latest?period=DAY_30"), _are_complete)
            days = await days_of(session, STRUCK.name)
            before = {feed["feed_id"]: feed["url"] for feed in feeds}
            await _refuses_to_read_itself(host, session)
        assert sorted(before) == sorted(each.id for each in OUTLETS)
        host.kill()
        await host.process.wait()
    again = running_host("--demo", data=tmp_path, settings=settings)
    async with again as host, aiohttp.ClientSession(host.url) as session:
        after = {feed["feed_id"]: feed["url"] for feed in await listed(session, "feeds?limit=100")}
        held_again = await listed(session, "quarantine")
        told = {day["day"]: day["total_mentions"] for day in days[5:-1]}
        again_told = {day["day"]: day["total_mentions"] for day in await days_of(session, STRUCK.name)}
        assert {day: again_told[day] for day in told} == told
    assert after == before
    assert [each["quarantine_id"] for each in held_again] == [each["quarantine_id"] for each in held]
    without = running_host(data=tmp_path, settings=settings)
    async with without as host, aiohttp.ClientSession(host.url) as session:
        assert await listed(session, "feeds") == []
        assert await listed(session, "articles")
        assert {tool["status"] for tool in await listed(session, "tools")} == {"DEPRECATED"}


def _has_outage_and_recovery(days: list[dict[str, Any]]) -> bool:
    told = [(day["total_mentions"], day["average_sentiment"]) for day in days if day["total_mentions"]]
    worst = min(range(len(told)), key=lambda n: told[n][1] * told[n][0], default=0)
    recovered = any(mentions > 2 and average > 0.4 for mentions, average in told[worst:])
    return len(told) > 20 and told[worst][0] > 9 and told[worst][1] < -0.4 and recovered


def _are_read(feeds: list[dict[str, Any]]) -> bool:
    """Whether all feeds were read but the one that is no feed, and one has gone away."""
    unread = [feed["feed_id"] for feed in feeds if not feed["last_successful_fetch"]]
    return unread == ["demo-brochure"] and any(feed["verdict"] == "gone" for feed in feeds)


def _are_complete(rows: list[dict[str, Any]]) -> bool:
    return all(row["complete"] for row in rows)


async def _refuses_to_read_itself(host: RunningHost, session: aiohttp.ClientSession) -> None:
    own = {"url": f"{host.url}/feed", "source_name": "The app itself", "feed_id": "own"}
    async with session.post("/api/v1/feeds", json=own) as response:
        assert response.status == 201
    await session.post("/api/v1/feeds/own/fetch", json={})
    feeds = await until(host, lambda: listed(session, "feeds?limit=100"), lambda feeds: _of_own(feeds)["last_error"])
    assert "ALLOW_PRIVATE_ADDRESSES" in _of_own(feeds)["last_error"], "the demo's own server only"
    await session.delete("/api/v1/feeds/own")


def _of_own(feeds: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = (feed for feed in feeds if feed["feed_id"] == "own")
    return found
