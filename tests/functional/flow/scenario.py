"""What happens to the app of app.py: a first import, a steady state, one story in all feeds. With what it cost."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from models.feed import Feed
from models.values import format_time
from services.ports import Query, Where, query_all
from services.store.containers import ARTICLES, FEEDS, MENTIONS
from services.tools.catalog import new_tool
from tests.contract.cosmos_server import CosmosServer
from tests.contract.limited_proxy import LimitedProxy, Spent
from tests.functional.flow import app as flow
from tests.functional.flow import feeds as feeding
from tests.functional.flow.app import App, Invocations
from tests.functional.flow.feeds import Entry, Feeds

TOOLS = 10


@dataclass(frozen=True)
class Report:
    """What a part of the scenario took and cost."""

    seconds: float
    spent: Spent
    invocations: Invocations
    is_idle: bool

    def peak(self, seconds: float) -> float:
        """The busiest second, as a multiple of the average over the seconds that the work is spread over. How long it
        took depends on the machine."""
        return max(self.spent.seconds()) / (self.spent.total / seconds)


@dataclass
class Scenario:
    app: App
    proxy: LimitedProxy
    feeds: Feeds
    ticks: int = 0

    async def add(self, feeds: int, entries: int, story: str | None = None) -> None:
        """Registers feeds that were never fetched, and tools that the entries name in turn. All feeds have the story,
        each at a URL of its own."""
        for number in range(TOOLS):
            await self.app.services.tools.add(new_tool({"name": f"Widget{number}x"}))
        for number in range(feeds):
            self.feeds.publish(
                f"feed-{number:04}",
                [
                    Entry(
                        f"Story {n} of feed {number} says something about Widget{(number + n) % TOOLS}x",
                        f"http://news.example/{number}/{n}",
                    )
                    for n in range(entries)
                ],
            )
            if story:
                self.feeds.publish(f"feed-{number:04}", [Entry(story, f"http://feed-{number}.example/story")])
        now = datetime.now(UTC)
        documents = [
            Feed(
                created_at=now,
                feed_id=name,
                feed_url=self.feeds.url(name),
                source_name=name,
                next_fetch_time=now,
            ).to_document()
            for name in self.feeds.entries
        ]
        await self.app.services.store.create_many(FEEDS.name, documents)

    async def make_due(self, number: int | None = None) -> None:
        """So many feeds, or all, are due now."""
        store, now = self.app.services.store, format_time(datetime.now(UTC))
        found = await query_all(store, FEEDS.name, Query((Where("entity_type", "eq", "Feed"),), limit=1000))
        await store.write_many(FEEDS.name, [{**each, "next_fetch_time": now} for each in found[:number]])

    async def tick(self, within: float) -> Report:
        """Claims all feeds that are due, and lets the app work until nothing is left to do."""
        self.proxy.spent, self.app.invocations = Spent(), Invocations()
        began = time.monotonic()
        await self.app.tick("ingest_due_feeds")
        is_idle = await self.app.idle(within)
        return Report(time.monotonic() - began, self.proxy.spent, self.app.invocations, is_idle)

    async def import_all(self, within: float) -> Report:
        """Ticks until every feed was fetched and nothing is left to do: a feed that had no turn in time, or was not
        answered in time, is due again later."""
        spent, invocations = self.proxy.spent, self.app.invocations = Spent(), Invocations()
        began = time.monotonic()
        is_idle = False
        while not is_idle and time.monotonic() - began < within:
            await self.app.tick("ingest_due_feeds")
            is_idle = await self.app.idle(within) and not await self.never_fetched()
            if not is_idle:
                await asyncio.sleep(5.0)
        return Report(time.monotonic() - began, spent, invocations, is_idle)

    async def never_fetched(self) -> int:
        which = (Where("entity_type", "eq", "Feed"), Where("last_successful_fetch", "missing"))
        return await self.app.services.store.count(FEEDS.name, which)

    async def steady(self, within: float, every: int, due: int | None = None) -> Report:
        """As `tick`, with all feeds, or the first `due`, due: of `every` + 1 feeds one has a new article, the others
        have nothing new. Meanwhile a figure is read each second."""
        for number, name in list(enumerate(self.feeds.entries))[: due : every + 1]:  # at another place in each message
            headline = f"News {self.ticks} of feed {number} about Widget{number % TOOLS}x"
            self.feeds.publish(name, [Entry(headline, f"http://news.example/{number}/later/{self.ticks}")])
        self.ticks += 1
        await self.make_due(due)

        async def read() -> None:
            for number in itertools.count():
                await self.app.services.figures.reader.read(f"Widget{number % TOOLS}x", "HOUR_24")
                await asyncio.sleep(1.0)

        reading = asyncio.create_task(read())
        try:
            return await self.tick(within)
        finally:
            reading.cancel()

    async def articles(self, status: str | None = None) -> int:
        """The number of articles, or of those with this status."""
        which = (Where("status", "eq", status),) if status else ()
        return await self.app.services.store.count(ARTICLES.name, (Where("entity_type", "eq", "Article"), *which))

    async def mentions(self) -> int:
        return await self.app.services.store.count(MENTIONS.name)

    async def differences(self) -> list[str]:
        """What a whole audit finds."""
        found: list[str] = []
        async for part in self.app.services.operations.audit.round():
            found += [f"{each.kind} {each.subject}: {each.detail}" for each in part.differences]
        return found

    async def figures(self) -> int:
        """The mentions that the figures of the last 24 hours count, over all tools."""
        read = self.app.services.figures.reader.read
        served = [await read(f"Widget{number}x", "HOUR_24") for number in range(TOOLS)]
        return sum(each.entry.total_mentions for each in served)


@asynccontextmanager
async def playing(
    server: CosmosServer, folder: Path, database: str, *, workers: int, function_timeout: float
) -> AsyncIterator[Scenario]:
    """The app on an empty database. `folder` stays empty too."""
    async with LimitedProxy(server.endpoint).serving() as proxy, feeding.serving() as feeds:
        environment = {
            "STORE": "cosmos",
            "COSMOS_ENDPOINT": proxy.endpoint,
            "COSMOS_KEY": server.key,
            "COSMOS_DATABASE": database,
            "DATA_DIR": str(folder),
            "LOG_LEVEL": "CRITICAL",
            "ALLOW_PRIVATE_ADDRESSES": "true",
            "FETCH_CYCLE_INTERVAL_SECONDS": "30",
            "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        }
        async with flow.running(environment, workers, function_timeout) as app:
            yield Scenario(app, proxy, feeds)
