"""This installation cannot reach the web for hours: no feed is blamed, and all are polled soon afterwards.

Everything is real but the network and the clock: fetcher, breaker, store, claims, runs and leases.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from models.feed import Feed, Outage
from services.fetch.fetcher import Fetcher
from services.ports import Where
from services.settings import Settings
from services.store.containers import CATALOG, FEEDS
from tests.functional.articles.world import START, SettableClock, Worker, World, item, rss

pytestmark = pytest.mark.soak

TICK = timedelta(seconds=30)
MINUTE = timedelta(minutes=1)


class Web:
    """Hosts that answer with a feed, but for those that are `down`; those that are `overloaded` answer 503. With
    `unreachable` only `intranet` answers. A `proxy` answers for all others with this status and page."""

    def __init__(self, clock: SettableClock) -> None:
        self.clock = clock
        self.unreachable = False
        self.down: set[str] = set()
        self.overloaded: set[str] = set()
        self.intranet: set[str] = set()
        self.proxy: tuple[int, bytes] | None = None
        self.asked: Counter[str] = Counter()

    async def respond(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        self.asked[host] += 1
        if (self.unreachable and host not in self.intranet) or host in self.down:
            raise httpx.ConnectTimeout("") if sum(host.encode()) % 2 else httpx.ConnectError("")
        if self.proxy is not None and host not in self.intranet:
            status, page = self.proxy
            return httpx.Response(status, stream=httpx.ByteStream(page), headers={"Content-Type": "text/html"})
        if host in self.overloaded:
            return httpx.Response(503, stream=httpx.ByteStream(b""))
        hour = format_datetime(self.clock.now.replace(minute=0, second=0))
        entry = item(self.clock.now.hour, link=f"https://{host}/{hour}", guid=f"{host} {hour}", title=f"{host} {hour}")
        body = httpx.ByteStream(rss([entry]))
        return httpx.Response(200, stream=body, headers={"Content-Type": "application/rss+xml"})

    def seconds(self) -> float:
        return self.clock.now.timestamp()

    def fetcher(self) -> Fetcher:
        return Fetcher(
            Settings(store="sqlite"),
            clock=self.clock,
            monotonic=self.seconds,
            sleep=_no_wait,
            transport=httpx.MockTransport(self.respond),
        )


async def _no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


async def played(world: World, workers: list[Worker], span: timedelta) -> list[int]:
    """Ticks of that span; each is of the next worker. Returns how many feeds each tick claimed."""
    claimed = []
    for number in range(int(span / TICK)):
        world.clock.now += TICK
        worker = workers[number % len(workers)]
        messages = await worker.claims.claim_due(world.clock.now)
        claimed.append(sum(len(each.claimed) for each in messages))
        for message in messages:
            await worker.ingestion.ingest(message.run_id)
    return claimed


async def feeds_of(world: World) -> list[Feed]:
    return [Feed.from_document(each) for each in await world.all(FEEDS.name, Where("entity_type", "eq", "Feed"))]


async def outage_of(world: World) -> Any:
    document = await world.store.read(CATALOG.name, Outage.PARTITION, Outage.ID)
    return Outage.from_document(document) if document else None


async def started(world: World, count: int) -> tuple[Web, list[Worker]]:
    web = Web(world.clock)
    for number in range(count):
        await world.add_feed(f"feed-{number:03}")
    workers = [world.new_worker(shelf=web.fetcher()) for _ in range(2)]
    await played(world, workers, 40 * MINUTE)
    assert all(feed.verdict == "ok" for feed in await feeds_of(world))
    return web, workers


@pytest.mark.slow
async def test_five_hours_without_the_web_disable_no_feed_of_two_hundred(world: World) -> None:
    web, workers = await started(world, 200)
    web.unreachable = True
    begun = world.clock.now
    await played(world, workers, 20 * MINUTE)
    noticed = await outage_of(world)
    assert noticed.lasts
    assert timedelta(0) <= noticed.since - begun <= 10 * MINUTE
    claimed = await played(world, workers, 280 * MINUTE)
    assert max(claimed) <= 20, "only a few hosts are tried, to see whether it is over"
    feeds = await feeds_of(world)
    assert [(each.enabled, each.verdict) for each in feeds] == [(True, "ok")] * 200
    assert max(each.consecutive_errors for each in feeds) <= 2
    # A restart changes nothing: what is known of the outage is stored.
    workers = [world.new_worker(shelf=web.fetcher()) for _ in range(2)]
    await played(world, workers, 5 * MINUTE)
    web.unreachable = False
    back = world.clock.now
    claimed = await played(world, workers, 10 * MINUTE)
    feeds = await feeds_of(world)
    assert all((each.last_successful_fetch or START) > back for each in feeds), "all were polled within ten minutes"
    assert {each.consecutive_errors for each in feeds} == {0}
    assert sum(number > 0 for number in claimed) >= 4, "spread over ticks"
    over = await outage_of(world)
    assert not over.lasts
    assert over.until - back <= 5 * MINUTE
    assert await world.all(CATALOG.name, Where("entity_type", "eq", "HostState")) == []


LOGIN = b"<!doctype html><html><head><title>Wi-Fi</title></head><body><form>Log in</form></body></html>"


@pytest.mark.parametrize("proxy", [(200, LOGIN), (503, b"")])
async def test_a_proxy_or_login_page_that_answers_for_all_hosts_is_no_fault_of_the_feeds(
    world: World, proxy: tuple[int, bytes]
) -> None:
    web, workers = await started(world, 6)
    web.intranet = {"feed-000.example"}
    web.proxy = proxy
    await played(world, workers, 30 * MINUTE)
    outage = await outage_of(world)
    assert outage.lasts
    await played(world, workers, 60 * MINUTE)
    feeds = await feeds_of(world)
    assert all(each.enabled for each in feeds)
    assert max(each.consecutive_errors for each in feeds) <= 2
    web.proxy = None
    back = world.clock.now
    await played(world, workers, 20 * MINUTE)
    over = await outage_of(world)
    assert over.until - back <= 8 * MINUTE
    feeds = await feeds_of(world)
    assert all((each.last_successful_fetch or START) > back for each in feeds)
    assert {(each.verdict, each.consecutive_errors) for each in feeds} == {("ok", 0)}


async def test_a_third_of_the_hosts_that_answer_with_errors_is_no_outage(world: World) -> None:
    web, workers = await started(world, 12)
    web.overloaded = {f"feed-{number:03}.example" for number in range(4)}
    await played(world, workers, 60 * MINUTE)
    assert await outage_of(world) is None
    assert Counter(each.verdict for each in await feeds_of(world)) == {"ok": 8, "failing": 4}


async def test_wrong_urls_that_were_added_together_are_no_outage(world: World) -> None:
    web = Web(world.clock)
    web.proxy = (404, b"")
    for number in range(5):
        await world.add_feed(f"feed-{number:03}")
    await played(world, [world.new_worker(shelf=web.fetcher())], 30 * MINUTE)
    assert await outage_of(world) is None
    assert {each.disabled_cause for each in await feeds_of(world)} == {"not_found"}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["down", "overloaded"])
async def test_the_feeds_of_a_host_that_was_away_for_half_a_day_are_polled_within_an_hour(
    world: World, how: str
) -> None:
    for number in range(8):
        await world.add_feed(f"big-{number}", feed_url=f"https://big.example/{number}")
    web, workers = await started(world, 4)
    getattr(web, how).add("big.example")
    await played(world, workers, 12 * 60 * MINUTE)
    assert await outage_of(world) is None
    feeds = await feeds_of(world)
    assert all(each.verdict == "ok" for each in feeds if each.feed_id.startswith("feed"))
    if how == "overloaded":
        assert {each.verdict for each in feeds if each.feed_id.startswith("big")} == {"disabled"}
    getattr(web, how).clear()
    back = world.clock.now
    await played(world, workers, 60 * MINUTE)
    feeds = await feeds_of(world)
    assert {each.verdict for each in feeds} == {"ok"}
    assert all((each.last_successful_fetch or START) > back for each in feeds)


async def test_hosts_that_were_dead_before_are_no_evidence_and_are_blamed_afterwards(world: World) -> None:
    web, workers = await started(world, 12)
    web.down = {f"feed-{number:03}.example" for number in range(4)}
    await played(world, workers, 60 * MINUTE)
    before = {each.feed_id: each for each in await feeds_of(world)}
    web.unreachable = True
    begun = world.clock.now
    await played(world, workers, 90 * MINUTE)
    outage = await outage_of(world)
    assert outage.since >= begun
    after = {each.feed_id: each for each in await feeds_of(world)}
    for name in ("feed-000", "feed-003"):
        assert after[name].verdict == "failing"
        assert after[name].verdict_since == before[name].verdict_since
        assert after[name].consecutive_errors - before[name].consecutive_errors <= 2
    web.unreachable = False
    await played(world, workers, 10 * MINUTE)
    assert Counter(each.verdict for each in await feeds_of(world)) == {"ok": 8, "failing": 4}


async def test_a_probe_that_fails_in_an_outage_does_not_count(world: World) -> None:
    web, workers = await started(world, 6)
    by_app: dict[str, Any] = {
        "enabled": False,
        "disabled_reason": "10 errors",
        "disabled_by": "app",
        "disabled_cause": "errors",
    }
    await world.add_feed("ill", **by_app, disabled_at=START, probes=2, probe_at=world.clock.now + 30 * MINUTE)
    web.unreachable = True
    await played(world, workers, 60 * MINUTE)
    ill = await world.feed("ill")
    assert (ill.enabled, ill.probes) == (False, 2)
    web.unreachable = False
    await played(world, workers, 15 * MINUTE)
    ill = await world.feed("ill")
    assert (ill.enabled, ill.verdict, ill.probes) == (True, "ok", 0)
