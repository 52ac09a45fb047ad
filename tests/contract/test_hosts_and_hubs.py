"""Figures of hosts are collected and read, and subscriptions found when they are due, alike on both stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from models.websub import FeedSubscription, FeedWebSub
from services.feeds.host_days import HostDays
from services.feeds.host_figures import HostFigures
from services.feeds.registry import FeedRegistry
from services.feeds.subscriptions import Subscriptions
from services.ports import Store
from services.store.containers import FEEDS
from tests import documents
from tests.contract.conftest import SettableClock

HUB, TOPIC = "https://hub.example/", "https://a.example/feed"


async def test_workers_that_collect_at_once_count_each_request_once(
    store: Store, another: Callable[[], Store], clock: SettableClock
) -> None:
    today, earlier = f"{clock.now:%Y%m%d}", f"{clock.now - timedelta(days=9):%Y%m%d}"
    feeds = [
        documents.feed(feed_id=f"feed-{number}", traffic={day: {"a.example:8080": {"requests": 2, "delay_4": 1}}})
        for number in range(6)
        for day in (today, earlier)[: 1 + number % 2]
    ]
    workers = [HostDays(each, clock) for each in (store, another(), another())]
    await asyncio.gather(*(each.collect([feed.to_document() for feed in feeds]) for each in workers))
    await asyncio.gather(
        *(each.add_pages({"b.example": {"robots_allowed": 1}}, f"{n % 2}") for n, each in enumerate(workers))
    )
    figures = HostFigures(another(), clock)
    found = {each.host: each for each in (await figures.page(50)).items}
    assert (found["a.example:8080"].requests, found["a.example:8080"].discovery_delay.articles) == (12, 6)
    assert found["b.example"].robots.allowed == 2
    assert (await figures.get("a.example:8080", days=30)).requests == 18


class Hub:
    """Says nothing, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def post_form(self, url: str, form: bytes) -> int | None:
        self.asked.append(form.decode().partition("hub.mode=")[2].partition("&")[0])
        return 202


async def test_what_is_due_for_hubs_is_found_of_feeds_and_of_feeds_that_are_gone(
    store: Store, clock: SettableClock
) -> None:
    hub = Hub()
    app = Subscriptions(store, hub, clock, "https://news.example", lambda: "text")
    websub = FeedWebSub(hub=HUB, topic=TOPIC, next_at=clock.now)
    await store.create(FEEDS.name, documents.feed(feed_id="a", feed_url=TOPIC, websub=websub).to_document())
    assert [await app.work() for _ in range(2)] == [1, 0]
    stored = await store.read(FEEDS.name, "a", FeedSubscription.ID)
    assert stored is not None
    known = FeedSubscription.from_document(stored)
    alive = known.changed(clock.now, lease_ends=clock.now + timedelta(days=1))
    await store.upsert(FEEDS.name, alive.to_document())
    await FeedRegistry(store, clock).remove("a")
    assert [await app.work() for _ in range(2)] == [1, 0]
    assert hub.asked == ["subscribe", "unsubscribe"]
    clock.now += timedelta(days=2)
    assert await app.work() == 0
    assert await store.read(FEEDS.name, "a", FeedSubscription.ID) is None
