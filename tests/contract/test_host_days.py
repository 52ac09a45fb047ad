"""Figures of hosts are collected and read alike on both stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from services.feeds.host_days import HostDays
from services.feeds.host_figures import HostFigures
from services.ports import Store
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
