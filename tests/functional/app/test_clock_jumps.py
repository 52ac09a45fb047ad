"""A start with a wrong clock, and what is left of it once the clock is right: a day or a month off.

The services, timers and queue functions are those of the app, on the embedded store, with a clock that tests set.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from models.feed import Feed
from services import container
from services.container import Container
from services.figures.metadata import last_refreshes
from services.operations.checks import Check
from services.operations.health import REPORT_SHARED_SECONDS
from services.ports import Where
from services.store.containers import ARTICLES, FEEDS, MENTIONS
from services.tools.catalog import new_tool
from services.topology import INGEST_DUE_FEEDS
from tests.builders import MemoryQueues, forgetful
from tests.documents import feed
from tests.functional.articles.world import SettableClock
from tests.functional.flow import feeds as feeding
from tests.functional.flow.app import call, handlers, work
from tests.functional.flow.feeds import Entry, Feeds
from triggers.background import timers as timer_functions

TODAY = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
JUMPS = [timedelta(days=1), timedelta(days=31)]
"""Over the pause of purges, and over the life of an article."""


@dataclass
class Jumping:
    """An app whose workers are started one after the other, each with the clock as it is then."""

    folder: Path
    feeds: Feeds
    clock: SettableClock

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Container]:
        environment = {
            "STORE": "sqlite",
            "DATA_DIR": str(self.folder),
            "ALLOW_PRIVATE_ADDRESSES": "true",
            "CACHE_MEMORY_SECONDS": "0",
            "LOG_LEVEL": "CRITICAL",
            "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        }
        services = await container.build(environment, self.clock, queues=MemoryQueues())
        services.announcer.seconds = forgetful(services.queues).seconds
        try:
            yield services
        finally:
            await services.close()

    async def tick(self, services: Container, *, timers: bool = False) -> None:
        """One tick of the scheduler, or of all timers, and the work of the messages that follow from it."""
        started = self.clock()
        for name, function in handlers(timer_functions).items():
            if timers or name == INGEST_DUE_FEEDS.name:
                await call(function, services, timer_request=None)
                await services.heartbeats.record(name, started)
        await work(services)

    async def add(self, services: Container, name: str) -> None:
        entries = [Entry(f"{name} {n} says something about Quorvia", f"http://{name}.example/{n}") for n in range(3)]
        self.feeds.publish(name, entries)
        at = {"created_at": self.clock(), "updated_at": self.clock(), "next_fetch_time": self.clock()}
        added = feed(feed_id=name, feed_url=self.feeds.url(name), source_name=name, **at)
        await services.store.create(FEEDS.name, added.to_document())


@pytest.fixture
async def jumping(tmp_path: Path) -> AsyncIterator[Jumping]:
    async with feeding.serving() as feeds:
        yield Jumping(tmp_path, feeds, SettableClock(TODAY))


async def before_the_jump(jumping: Jumping) -> None:
    """Two feeds of three articles each, all counted."""
    async with jumping.worker() as services:
        await services.tools.add(new_tool({"name": "Quorvia"}))
        for name in ("works", "fails"):
            await jumping.add(services, name)
        await jumping.tick(services, timers=True)
        assert await mentions(services) == 6


async def work_with_the_wrong_clock(jumping: Jumping) -> None:
    """A worker does all that it finds to do. One of its feeds has failed, and it dies while it has a claim."""
    async with jumping.worker() as services:
        await jumping.tick(services, timers=True)
        jumping.clock.forward(minutes=20)
        await jumping.tick(services, timers=True)
        fails = Feed.from_document(await services.store.read(FEEDS.name, "fails", Feed.ID) or {})
        wrong = jumping.clock()
        failed = fails.changed(
            wrong,
            last_successful_fetch=TODAY,
            consecutive_errors=1,
            last_fetch_time=wrong,
            next_fetch_time=wrong + timedelta(hours=1),
        )
        await services.store.upsert(FEEDS.name, failed.to_document())
        jumping.clock.forward(minutes=20)
        await services.feeds.claims.claim_due(jumping.clock())


async def mentions(services: Container) -> int:
    """The mentions that the figures of a month count."""
    served = await services.figures.reader.read("Quorvia", "DAY_30")
    return served.entry.total_mentions


async def health(services: Container) -> Mapping[str, Check]:
    await asyncio.sleep(REPORT_SHARED_SECONDS)
    return (await services.operations.health.report()).checks


async def stored(services: Container) -> dict[str, int]:
    articles = await services.store.count(ARTICLES.name, (Where("entity_type", "eq", "Article"),))
    return {"articles": articles, "mentions": await services.store.count(MENTIONS.name)}


async def everything_is_right_within_a_tick(jumping: Jumping, *, is_ahead: bool) -> None:
    """`is_ahead`: workers have recorded times that lie in the future by now."""
    fetched = dict(jumping.feeds.requests)
    for name in ("works", "fails"):
        jumping.feeds.publish(name, [Entry(f"Late news of {name} about Quorvia", f"http://{name}.example/late")])
    async with jumping.worker() as services:
        if is_ahead:
            check = (await health(services))["clock"]
            assert (check.status, "the clock went back" in check.detail) == ("degraded", True)
            assert check.facts["ahead_seconds"] > 300
            assert await mentions(services) == 6
        await jumping.tick(services)
        assert {name: jumping.feeds.requests[name] - fetched[name] for name in fetched} == {"works": 1, "fails": 1}
        assert await stored(services) == {"articles": 8, "mentions": 8}
        assert await mentions(services) == 8
        jumping.clock.forward(seconds=30)
        await jumping.tick(services, timers=True)
        assert {name: jumping.feeds.requests[name] - fetched[name] for name in fetched} == {"works": 1, "fails": 1}
        check = (await health(services))["clock"]
        assert (check.status, check.facts["ahead_seconds"]) == ("healthy", 0)
        assert check.facts["jump"] is not None
        await services.fetching.ingestion.ingest(await services.feeds.claims.claim("works", jumping.clock()))
        assert jumping.feeds.requests["works"] == fetched["works"] + 2
        metadata, last = await last_refreshes(services.store)
        assert metadata is not None
        assert last is not None
        assert max(metadata.last_refresh_at, last.ended_at) <= jumping.clock()
        served = await services.figures.reader.read("Quorvia", "DAY_30")
        assert served.completeness.complete
        jumping.clock.forward(minutes=30)
        await jumping.tick(services)
        assert jumping.feeds.requests["works"] == fetched["works"] + 3
        assert [each async for each in services.operations.audit.round() if each.differences] == []


@pytest.mark.parametrize("jump", JUMPS)
async def test_after_a_start_with_a_clock_that_was_ahead(jumping: Jumping, jump: timedelta) -> None:
    await before_the_jump(jumping)
    jumping.clock.now += jump
    await work_with_the_wrong_clock(jumping)
    jumping.clock.now = TODAY + timedelta(minutes=10)
    await everything_is_right_within_a_tick(jumping, is_ahead=True)


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_start_with_a_clock_that_is_behind_and_the_way_back(jumping: Jumping, jump: timedelta) -> None:
    await before_the_jump(jumping)
    fetched = dict(jumping.feeds.requests)
    jumping.clock.now -= jump
    async with jumping.worker() as services:
        assert (await health(services))["clock"].status == "degraded"
        await jumping.tick(services)
        assert jumping.feeds.requests["works"] == fetched["works"] + 1
        assert await stored(services) == {"articles": 6, "mentions": 6}
    await work_with_the_wrong_clock(jumping)
    jumping.clock.now = TODAY + timedelta(minutes=70)
    await everything_is_right_within_a_tick(jumping, is_ahead=False)


async def test_a_long_pause_is_named_for_a_day(jumping: Jumping) -> None:
    await before_the_jump(jumping)
    jumping.clock.forward(days=3)
    async with jumping.worker() as services:
        await jumping.tick(services, timers=True)
        check = (await health(services))["clock"]
        assert check.status == "healthy"
        assert check.detail.startswith("no worker ran, or the clock jumped,")
        for _ in range(26):
            jumping.clock.forward(hours=1)
            await jumping.tick(services, timers=True)
        assert (await health(services))["clock"].facts["jump"] is None


@pytest.mark.parametrize("jump", [sign * jump for jump in JUMPS for sign in (1, -1)])
async def test_a_worker_goes_on_while_the_clock_jumps_and_is_set_right(jumping: Jumping, jump: timedelta) -> None:
    await before_the_jump(jumping)
    jumping.clock.forward(minutes=20)
    async with jumping.worker() as services:
        await jumping.tick(services, timers=True)
        jumping.clock.now += jump
        await jumping.tick(services, timers=True)
        fetched = dict(jumping.feeds.requests)
        jumping.clock.now = TODAY + timedelta(minutes=50)
        for name in ("works", "fails"):
            jumping.feeds.publish(name, [Entry(f"Late news of {name} about Quorvia", f"http://{name}.example/late")])
        await jumping.tick(services, timers=True)
        assert {name: jumping.feeds.requests[name] - fetched[name] for name in fetched} == {"works": 1, "fails": 1}
        assert (await stored(services), await mentions(services)) == ({"articles": 8, "mentions": 8}, 8)
        checks = await health(services)
        assert {name for name, check in checks.items() if check.status != "healthy"} == set()
        assert [each async for each in services.operations.audit.round() if each.differences] == []


async def test_a_clock_that_jumps_during_clean_up_purges_nothing(jumping: Jumping) -> None:
    await before_the_jump(jumping)
    async with jumping.worker() as services:
        await jumping.tick(services, timers=True)
        jumping.clock.forward(minutes=5)
        right = jumping.clock()

        def jumps_after_a_reading() -> datetime:
            now = jumping.clock()
            jumping.clock.forward(days=400)
            return now

        kept = await stored(services)
        await replace(services.operations.upkeep, clock=jumps_after_a_reading).run()
        jumping.clock.now = right
        assert await stored(services) == kept
