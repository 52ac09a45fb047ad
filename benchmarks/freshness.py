"""How long from "an article is in a feed's response" to "the figure over HTTP counts it", with slow and hanging feeds.

    python -m benchmarks.freshness [--feeds 20] [--slow 4] [--hanging 2] [--rounds 3]

The local host runs the app on the embedded store. In each round every feed gets one new article that names the tool of
the feed, all feeds are made due, and the timer that claims feeds runs. The time of an article counts from the first
response with the article, until `sentiment/latest` counts it within the last hour. Slow feeds answer after five
seconds, hanging feeds never; they are claimed first, so that others share their message. The goal is 5 s for 99 of 100
articles, on an idle machine. A round takes half a minute: a feed that shares a message with a hanging one is claimed
again once their run has ended. The processor time of the host is printed too. Exits 1 if an article is never counted.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from aiohttp import web

from models.feed import Feed
from models.values import format_time
from services.ports import utc_now
from services.store.containers import FEEDS
from services.store.sqlite import SqliteStore
from tests.functional.app.recovery import Hosts
from tests.functional.articles.world import Item, rss

SLOW_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
LOOKED_EVERY_SECONDS = 0.05
GOAL_SECONDS = 5.0
SYLLABLES = ("Bren", "Tarn", "Quor", "Moor", "Fern", "Holt", "Vane", "Wick", "Dray", "Lorn")


def tool_of(number: int) -> str:
    """A name like no other, without digits."""
    return SYLLABLES[number // 10 % 10] + SYLLABLES[number % 10].lower() + "ex"


class Newsstand:
    """The n-th feed is at 127.0.1.n. `served` has when each article was first in a response."""

    def __init__(self, quick: int, slow: int, hanging: int) -> None:
        self.quick = quick
        self._slow = range(quick, quick + slow)
        self._hanging = range(quick + slow, quick + slow + hanging)
        self._articles: dict[int, list[Item]] = {number: [] for number in range(quick + slow + hanging)}
        self.served: dict[tuple[int, int], float] = {}

    def publish(self, edition: int) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        for number, articles in self._articles.items():
            title = f"{tool_of(number)} edition {edition} works well at place {number}"
            link = f"https://news.example/{number}/{edition}"
            articles.insert(0, Item(title, link, f"{number}:{edition}", now - timedelta(seconds=1)))

    async def respond(self, request: web.BaseRequest) -> web.Response:
        number = int(request.path[1:])
        if number in self._hanging:
            await asyncio.sleep(3600)
        if number in self._slow:
            await asyncio.sleep(SLOW_SECONDS)
        articles = list(self._articles[number])
        for edition in range(len(articles)):
            self.served.setdefault((number, edition), time.monotonic())
        return web.Response(body=rss(articles), content_type="application/rss+xml")

    async def serve(self, stack: AsyncExitStack) -> list[str]:
        runner = web.ServerRunner(web.Server(self.respond), shutdown_timeout=0.1)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "0.0.0.0", 0).start()
        port = runner.addresses[0][1]
        return [f"http://127.0.1.{number + 1}:{port}/{number}" for number in self._articles]


async def measured(folder: Path, quick: int, slow: int, hanging: int, rounds: int) -> tuple[list[float], int, float]:
    """The seconds of each article that was counted, how many were not, and the host's processor time."""
    stand = Newsstand(quick, slow, hanging)
    async with AsyncExitStack() as stack:
        urls = await stand.serve(stack)
        hosts = Hosts(folder, 1)
        stack.push_async_callback(hosts.close)
        await hosts.start(0)
        for number in range(quick):
            await hosts.post(0, "api/v1/tools", {"name": tool_of(number)})
        names = [f"feed-{number:03}" for number in range(len(urls))]
        for number, (name, url) in enumerate(zip(names, urls, strict=True)):
            body = {"url": url, "source_name": name, "feed_id": name, "priority": 1 if number < quick else 2}
            await hosts.post(0, "api/v1/feeds", body)
        store = SqliteStore(folder / "store" / "toolpulse.db", utc_now)
        stack.push_async_callback(store.close)
        found: list[float] = []
        missing = 0
        for edition in range(rounds):
            stand.publish(edition)
            await _make_due(store, names)
            await hosts.tick(0)
            counted = await _counted(hosts, stand, edition)
            found += counted
            missing += quick - len(counted)
        return found, missing, hosts.cpu_seconds()


async def _make_due(store: SqliteStore, names: list[str]) -> None:
    """A feed that is being fetched is left alone by the claims, whenever it is due."""
    for name in names:
        feed = await store.read(FEEDS.name, name, Feed.ID)
        assert feed is not None
        await store.upsert(FEEDS.name, {**feed, "next_fetch_time": format_time(utc_now())})


async def _counted(hosts: Hosts, stand: Newsstand, edition: int) -> list[float]:
    """The seconds of the articles of this edition. Waits until all are counted, or for the patience."""
    numbers = {tool_of(number): number for number in range(stand.quick)}
    found: dict[int, float] = {}
    began = time.monotonic()
    while len(found) < len(numbers) and time.monotonic() - began < PATIENCE_SECONDS:
        await asyncio.sleep(LOOKED_EVERY_SECONDS)
        rows = (await hosts.get(0, "sentiment/latest?period=HOUR_1&limit=500"))["items"]
        now = time.monotonic()
        for row in rows:
            number = numbers[row["tool"]]
            if row["total_mentions"] > edition and number not in found:
                found[number] = now - stand.served[number, edition]
    return list(found.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, default=20)
    parser.add_argument("--slow", type=int, default=4)
    parser.add_argument("--hanging", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found, missing, cpu = asyncio.run(measured(Path(folder), given.feeds, given.slow, given.hanging, given.rounds))
    found.sort()
    if found:
        p99 = found[min(len(found) - 1, int(len(found) * 0.99))]
        reached = "reached" if p99 < GOAL_SECONDS else "missed"
        print(
            f"{len(found)} articles: p50 {statistics.median(found):.2f} s, p99 {p99:.2f} s (goal {GOAL_SECONDS:g} s "
            f"{reached}), longest {found[-1]:.2f} s; {cpu:.1f} s of processor time; {missing} not counted"
        )
    return 1 if missing or not found else 0


if __name__ == "__main__":
    sys.exit(main())
