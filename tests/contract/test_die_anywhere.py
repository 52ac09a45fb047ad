"""Wherever a process dies, the next one ends in the state of one that never died: all seven stages, on both stores.

One process ingests feeds with full texts, analyses their articles, groups them, decides signals, refreshes figures, and
scores a tool again. It dies at one of its writes, and its messages are lost. Another process starts, and ticks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from services import container
from services.container import STAGES, Container
from services.ports import Document, Query, Store, Where, query_all
from services.store.containers import ARTICLES, CONTAINERS, DOCUMENTS, FEEDS, MENTIONS, RUNS, SIGNALS
from services.tools.catalog import new_tool
from services.topology import REFRESH_TOOLS
from services.work.backlog import BacklogReader
from tests.builders import MemoryQueues, forgetful
from tests.contract.conftest import SettableClock
from tests.documents import feed
from tests.failing_stores import Crash, mortal
from tests.functional.articles.world import Item, rss
from tests.functional.documents.world import HEADLINE, html, page
from tests.functional.fetch.conftest import Server, response, server
from tests.functional.flow.app import call, handlers, work
from triggers.background import timers as timer_functions

__all__ = ["server"]
ROUNDS = 20
"""Minutes after which everything must be done: a lease and two ticks, for each of three stages that wait."""
NEVER = 1_000_000
LONG = 5.0
FEED_IDS = ("a", "b")


class Queues(MemoryQueues):
    """Messages that wait for longer than others are `later`: they come with the next tick. Those of a refresh come at
    once, since each tick here begins a refresh."""

    def __init__(self) -> None:
        super().__init__()
        self.later: list[tuple[str, Sequence[str]]] = []

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        if delay_seconds > LONG and name != REFRESH_TOOLS:
            self.later.append((name, messages))
        else:
            await super().send(name, messages, delay_seconds=delay_seconds)

    async def tick(self) -> None:
        later, self.later = self.later, []
        for name, messages in later:
            await self.send(name, messages)


@dataclass
class App:
    """An app on this store. `server` has its feeds and pages."""

    store: Store
    clock: SettableClock
    server: Server
    folder: Path

    @asynccontextmanager
    async def process(self, store: Store | None = None) -> AsyncIterator[Container]:
        environment = {
            "STORE": "sqlite",
            "DATA_DIR": str(self.folder),
            "ALLOW_PRIVATE_ADDRESSES": "true",
            "CACHE_MEMORY_SECONDS": "0",
            "GROUPING_THRESHOLD_ARTICLES": "2",
            "LOG_LEVEL": "CRITICAL",
        }
        built = await container.build(environment, self.clock, queues=Queues())
        services = replace(built, store=store or self.store, last_write=object)
        services.announcer.seconds = forgetful(services.queues).seconds
        try:
            yield services
        finally:
            with suppress(Crash):
                await services.figures.close()
            await built.close()

    async def begin(self) -> None:
        """A tool, and two feeds that have been fetched once and have something new to say about it."""
        async with self.process() as services:
            await services.tools.add(new_tool({"name": "Quorvia"}))
            for name in FEED_IDS:
                at = {"created_at": self.clock(), "updated_at": self.clock(), "next_fetch_time": self.clock()}
                its = {"feed_url": self.server.url(f"/{name}"), "source_priority": FEED_IDS.index(name)}
                added = feed(feed_id=name, **its, full_text="always" if name == "a" else "never", **at)
                await services.store.create(FEEDS.name, added.to_document())
            self.publish("a", ["Nobody likes the new Quorvia at all"])
            self.publish("b", ["Nobody likes the new Quorvia at all"])
            await self.tick(services)
        self.clock.forward(16 * 60)
        self.publish("a", [HEADLINE])
        self.publish(
            "b", ["Quorvia halves the time of cold starts", "Nobody likes the new Quorvia at all"], "It is bad."
        )

    def publish(self, feed: str, headlines: Sequence[str], text: str = "Quorvia is good.") -> None:
        at = self.clock().replace(hour=0, minute=0, second=0)
        items = []
        for headline in headlines:
            path = f"/{feed}/{headline.replace(' ', '-')}"
            items.append(Item(headline, self.server.url(path), headline, at, text))
            self.server.answers[path] = page(html(headline, ["Quorvia is a good tool that has a new version."] * 4))
        self.server.answers[f"/{feed}"] = response(body=rss(items))

    async def live(self, services: Container) -> None:
        """Ticks once, does all that follows, and scores the tool again."""
        await self.tick(services)
        (tool,) = await services.tools.active()
        run = await services.workflows.changes.reanalyze(tool.tool_id)
        await services.start(run)
        await work(services)

    async def tick(self, services: Container) -> None:
        assert isinstance(services.queues, Queues)
        await services.queues.tick()
        for function in handlers(timer_functions).values():
            await call(function, services, timer_request=None)
        await work(services)

    async def settle(self) -> None:
        """Another process starts, and ticks each minute until nothing is due."""
        async with self.process() as services:
            await container._resume(services)
            await work(services)
            for _ in range(ROUNDS):
                self.clock.forward(60)
                await self.tick(services)
                stages = (*STAGES, services.grouping_announcer.stage)
                due = [each.name for each in stages if (await BacklogReader(self.store, each).read()).pending]
                if not due and not await self.all(RUNS.name, Where("status", "in", ("QUEUED", "RUNNING"))):
                    break
            assert due == []
            assert [part async for part in services.operations.audit.round() if part.differences] == []

    async def state(self) -> dict[str, Any]:
        """What must be the same whether a process died or not."""
        articles = await self.all(ARTICLES.name, Where("entity_type", "eq", "Article"))
        names = {each["source_id"]: each["headline"] for each in articles}
        return {
            "articles": sorted((each["headline"], each["status"], each["sources"]) for each in articles),
            "due": [name for each in articles for name in each if name.endswith("_due_since")],
            "observations": await self.store.count(ARTICLES.name, (Where("entity_type", "eq", "Observation"),)),
            "mentions": sorted((names[each["source_id"]], each["sentiment"]) for each in await self.all(MENTIONS.name)),
            "documents": sorted(
                (names[each["source_id"]], each["validation_status"])
                for each in await self.all(DOCUMENTS.name)
                if each["id"] == "DOCUMENT"
            ),
            "stories": sorted(
                sorted(one["headline"] for one in articles if one["event_id"] == event)
                for event in {each["event_id"] for each in articles}
            ),
            "signals": sorted(each["kind"] for each in await self.all(SIGNALS.name)),
            "feeds": [
                (each["feed_id"], each["enabled"])
                for each in sorted(await self.all(FEEDS.name), key=lambda each: str(each["feed_id"]))
                if each["id"] == "feed"
            ],
            "open runs": await self.all(RUNS.name, Where("status", "in", ("QUEUED", "RUNNING"))),
        }

    async def all(self, name: str, *where: Where) -> list[Document]:
        return await query_all(self.store, name, Query(where, limit=1000))

    async def empty(self) -> None:
        for name, each in CONTAINERS.items():
            for document in await self.all(name):
                await self.store.delete(name, document[each.partition_key], document["id"])


@pytest.fixture
def app(store: Store, clock: SettableClock, server: Server, tmp_path: Path) -> App:
    return App(store, clock, server, tmp_path / "app")


async def died(app: App, writes: int) -> bool:
    """Whether the process died before it had done everything, at the write after so many."""
    await app.empty()
    app.clock.now = app.clock.now.replace(hour=6, minute=0, second=0)  # observations are of a day
    await app.begin()
    async with app.process(mortal(app.store, writes)) as services:
        try:
            await app.live(services)
        except Crash:
            return True
    return False


async def check(app: App, first: int, step: int) -> None:
    await died(app, NEVER)
    await app.settle()
    expected = await app.state()
    assert [len(expected[name]) for name in ("articles", "mentions", "documents", "open runs")] == [3, 3, 2, 0]
    assert expected["signals"]
    writes = first
    while await died(app, writes):
        await app.settle()
        assert await app.state() == expected, f"died after {writes} writes"
        writes += step
    assert writes > 30


async def test_a_death_at_some_writes_changes_nothing_in_the_end(app: App, kind: str) -> None:
    await (check(app, 3, 17) if kind == "sqlite" else check(app, 20, 47))


@pytest.mark.soak
async def test_a_death_at_any_write_changes_nothing_in_the_end(app: App, kind: str) -> None:
    """On the wire a seventh of them, which takes minutes."""
    await check(app, 0, 1 if kind == "sqlite" else 7)
