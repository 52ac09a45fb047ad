"""The list of hosts: figures, filters, orders and pages, from stored days."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from models.errors import InvalidInput, NotFound
from services.feeds.host_days import HostDays
from services.feeds.host_figures import HOST_SORTS, HostFigures, host_filter, name_of
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests.documents import NOW, feed, host_state

TODAY, LAST_WEEK = "20260221", "20260214"


def of(name: str, *, requests: int, **counters: int) -> dict[str, Any]:
    return {f"{name}.example": {"requests": requests, **counters}}


@pytest.fixture
async def figures(tmp_path: Path) -> AsyncIterator[HostFigures]:
    store = SqliteStore(tmp_path / "store.db", lambda: NOW)
    await store.ensure_containers()
    days = HostDays(store, lambda: NOW)
    quick = of("quick", requests=10, bytes=900, not_modified=5, delay_4=19, delay_24=1)
    feeds = [
        feed(feed_id="a", traffic={TODAY: quick, LAST_WEEK: of("quick", requests=7)}),
        feed(feed_id="b", traffic={TODAY: of("quick", requests=10, bytes=100, not_modified=10, rate_limited=2)}),
        feed(feed_id="c", traffic={TODAY: of("slow", requests=30, failed=30, delay_40=1)}),
    ]
    await days.collect(each.to_document() for each in feeds)
    await days.add_pages({"pages.example": {"robots_disallowed": 2, "robots_allowed": 1}}, "one")
    state = host_state(host="slow.example:443", failures=6, open_until=NOW + timedelta(minutes=2))
    await store.create(CATALOG.name, state.to_document())
    yield HostFigures(store, lambda: NOW)
    await store.close()


async def names(figures: HostFigures, **wanted: Any) -> list[str]:
    return [each.host.partition(".")[0] for each in (await figures.page(50, **wanted)).items]


async def test_the_feeds_of_a_host_are_counted_together(figures: HostFigures) -> None:
    quick = next(each for each in (await figures.page(50)).items if each.host == "quick.example")
    assert (quick.requests, quick.bytes, quick.not_modified_share, quick.rate_limited) == (20, 1000, 0.75, 2)
    assert quick.discovery_delay.model_dump() == {"articles": 20, "p50_seconds": 18.3, "p95_seconds": 18.3}
    assert (quick.first_day, quick.last_day, quick.failing) == ("2026-02-15", "2026-02-21", None)
    assert quick.links == {"self": "/api/v1/hosts/quick.example", "feeds": "/api/v1/feeds?host=quick.example"}


async def test_a_host_of_pages_has_the_decisions_of_its_robots_txt(figures: HostFigures) -> None:
    pages = await figures.get("PAGES.example")
    assert pages.robots.model_dump() == {"allowed": 1, "disallowed": 2, "unreachable": 0}
    assert (pages.requests, pages.not_modified_share, pages.discovery_delay.p50_seconds) == (0, None, None)


async def test_a_host_shows_its_days_and_its_present_failures(figures: HostFigures) -> None:
    quick = await figures.get("quick.example", days=30)
    assert [(each.day, each.requests) for each in quick.by_day] == [("2026-02-21", 20), ("2026-02-14", 7)]
    assert quick.requests == 27
    slow = await figures.get("slow.example")
    assert slow.failing is not None
    assert (slow.failing.failures, slow.failing.reason) == (6, "timeout")
    assert slow.failing.cools_until == NOW + timedelta(minutes=2)
    with pytest.raises(NotFound, match="nobody"):
        await figures.get("nobody.example")


async def test_hosts_are_filtered_by_name_and_failure(figures: HostFigures) -> None:
    assert await names(figures, by=host_filter("QUI", None)) == ["quick"]
    assert await names(figures, by=host_filter(None, True)) == ["slow"]
    assert await names(figures, by=host_filter(None, False)) == ["quick", "pages"]
    with pytest.raises(InvalidInput, match="text"):
        host_filter(" ", None)


async def test_each_order_begins_with_the_largest_and_hosts_without_the_value_come_last(figures: HostFigures) -> None:
    assert {sort: await names(figures, sort=sort) for sort in HOST_SORTS} == {
        "requests": ["slow", "quick", "pages"],
        "host": ["pages", "quick", "slow"],
        "bytes": ["quick", "pages", "slow"],
        "not_modified": ["quick", "slow", "pages"],
        "rate_limited": ["quick", "pages", "slow"],
        "failed": ["slow", "pages", "quick"],
        "delay": ["slow", "quick", "pages"],
    }
    assert await names(figures, sort="delay", reverse=True) == ["quick", "slow", "pages"]
    assert await names(figures, sort="host", reverse=True) == ["slow", "quick", "pages"]


async def test_pages_follow_each_other_and_a_foreign_cursor_is_refused(figures: HostFigures) -> None:
    first = await figures.page(2)
    assert [each.host for each in first.items] == ["slow.example", "quick.example"]
    last = await figures.page(2, first.next)
    assert ([each.host for each in last.items], last.next) == (["pages.example"], None)
    with pytest.raises(InvalidInput, match="cursor"):
        await figures.page(2, "nobody.example")


def test_a_host_is_named_without_its_usual_port() -> None:
    assert (name_of("a.example:443"), name_of("a.example:80"), name_of("127.0.0.1:7071")) == (
        "a.example",
        "a.example",
        "127.0.0.1:7071",
    )


async def test_the_same_addition_counts_once(figures: HostFigures) -> None:
    days = HostDays(figures._store, lambda: NOW)
    for addition in ("two", "two", "one", "three"):
        await days.add_pages({"pages.example": {"robots_allowed": 1}}, addition)
    assert (await figures.get("pages.example")).robots.allowed == 3
