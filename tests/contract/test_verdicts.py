"""Verdicts on both stores: the migration of older feeds, counts and filters, and the outage beside failing hosts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from models.feed import Feed
from services.feeds.hosts import HostStates
from services.feeds.listing import feed_filter
from services.feeds.outages import Outages
from services.feeds.outcome import Failure
from services.feeds.registry import FeedRegistry
from services.fetch.hosts import HostReport
from services.operations.feed_health import count_feeds
from services.ports import Store
from services.store.containers import FEEDS
from tests.contract.conftest import SettableClock
from tests.documents import NOW, feed

DAY = timedelta(days=1)
OFF: dict[str, Any] = {"enabled": False, "disabled_at": NOW - 9 * DAY}


async def put(store: Store, name: str, **fields: Any) -> None:
    await store.create(FEEDS.name, feed(feed_id=name, feed_url=f"https://{name}.example/", **fields).to_document())


async def read(store: Store, name: str) -> Feed:
    document = await store.read(FEEDS.name, name, Feed.ID)
    assert document is not None
    return Feed.from_document(document)


DISABLED = feed_filter({"verdict": "disabled"})


async def test_feeds_are_counted_and_listed_by_verdict(store: Store) -> None:
    by_app = {"disabled_reason": "x", "disabled_by": "app", "disabled_cause": "errors", "verdict": "disabled"}
    await put(store, "a", verdict="ok", last_successful_fetch=NOW)
    await put(store, "b", verdict="silent", last_successful_fetch=NOW - 2 * DAY)
    await put(store, "c", **OFF, **by_app, probe_at=NOW)
    await put(store, "d", **OFF, disabled_reason="x", disabled_by="person", verdict="disabled")
    counts = await count_feeds(store, (), NOW - DAY)
    assert (counts.stored, counts.enabled, counts.by_people, counts.overdue) == (4, 2, 1, 1)
    assert {name: number for name, number in counts.by_verdict.items() if number} == {
        "ok": 1, "silent": 1, "disabled": 2,
    }  # fmt: skip
    registry = FeedRegistry(store, lambda: NOW)
    assert [each.feed_id for each in (await registry.page(10, None, DISABLED)).items] == ["c", "d"]
    first = await registry.page(1, None, DISABLED)
    assert [each.feed_id for each in (await registry.page(1, first.next, DISABLED)).items] == ["d"]


async def test_feeds_are_listed_by_tag(store: Store) -> None:
    registry = FeedRegistry(store, lambda: NOW)
    for name, tags in (("a", ("x", "y")), ("b", ()), ("c", ("x/y",)), ("d", ("x",))):
        await put(store, name, tags=tags, verdict="ok")
    assert [each.feed_id for each in (await registry.page(10, None, feed_filter({"tag": "x"}))).items] == ["a", "d"]
    both = feed_filter({"verdict": "ok", "tag": "x"})
    first = await registry.page(1, None, both)
    assert [each.feed_id for each in (await registry.page(1, first.next, both)).items] == ["d"]


async def test_an_outage_is_noticed_by_one_worker_and_ended_by_another(store: Store, clock: SettableClock) -> None:
    now = clock.now
    reports = {f"{number}.example:443": HostReport(failures=2, reason="dns:try_again") for number in range(3)}
    hosts = HostStates(store, lambda: reports)
    outage = await Outages(store, hosts).noticed(feed(), Failure("dns", "no such name", "dns"), now)
    assert outage is not None
    assert (outage.since, outage.failing) == (now, 3)
    other = HostStates(store, dict)
    listed = await other.listed()
    assert (len(listed.failing), other.cooling(listed, now).in_outage) == (3, True)
    await put(store, "a", last_successful_fetch=now + DAY / 4)
    later = now + DAY / 4 + timedelta(minutes=1)
    assert await Outages(store, other).judged(listed, later) is None
    ended = (await other.listed()).outage
    assert ended is not None
    assert (ended.until, ended.failing) == (later, 3)
