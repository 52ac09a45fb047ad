"""Hosts are grouped from the documents of their feeds, beside those that fail at present."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.errors import InvalidInput, NotFound
from services.feeds.hosts import HostListing
from services.store.containers import CATALOG, FEEDS
from services.store.sqlite import SqliteStore
from tests.documents import NOW, feed, host_state

HOUR = timedelta(hours=1)


@pytest.fixture
async def listing(store: SqliteStore) -> HostListing:
    fields = [
        {"feed_id": "a", "feed_url": "https://a.example/1", "next_fetch_time": NOW + HOUR},
        {"feed_id": "b", "feed_url": "https://a.example/2", "next_fetch_time": NOW, "consecutive_errors": 2},
        {"feed_id": "c", "feed_url": "https://b.example:8443/", "last_successful_fetch": NOW - HOUR},
        {"feed_id": "d", "feed_url": "https://c.example/", "enabled": False, "disabled_reason": "gone"},
    ]
    await store.create_many(FEEDS.name, [feed(**each).to_document() for each in fields])
    cooling = host_state(host="a.example", open_until=NOW + timedelta(minutes=5), failures=6)
    await store.create_many(CATALOG.name, [cooling.to_document(), host_state(host="gone.example").to_document()])
    return HostListing(store, lambda: NOW)


async def test_a_host_has_its_feeds_their_failures_and_the_next_fetch(listing: HostListing) -> None:
    shown = await listing.get("A.example ")
    assert (shown.feeds, shown.enabled_feeds, shown.failing_feeds, shown.next_fetch_time) == (2, 2, 1, NOW)
    assert shown.failing is not None
    assert (shown.failing.failures, shown.failing.cools_until) == (6, NOW + timedelta(minutes=5))
    assert shown.links == {"self": "/api/v1/hosts/a.example", "feeds": "/api/v1/feeds?host=a.example"}
    other = await listing.get("b.example:8443")
    assert (other.failing, other.last_successful_fetch) == (None, NOW - HOUR)
    off = await listing.get("c.example")
    assert (off.enabled_feeds, off.next_fetch_time) == (0, None)
    with pytest.raises(NotFound, match="no feed is fetched from 'nobody'"):
        await listing.get("nobody")


async def test_hosts_are_listed_by_number_of_feeds_or_name_page_by_page(listing: HostListing) -> None:
    first = await listing.page(2)
    assert [each.host for each in first.items] == ["a.example", "b.example:8443"]
    rest = await listing.page(5, first.next)
    assert ([each.host for each in rest.items], rest.next) == (["c.example", "gone.example"], None)
    named = await listing.page(9, sort="host", reverse=True)
    assert [each.host for each in named.items] == ["gone.example", "c.example", "b.example:8443", "a.example"]
    with pytest.raises(InvalidInput, match="cursor"):
        await listing.page(5, "unknown.example")


@pytest.mark.parametrize(
    ("by", "hosts"),
    [
        ({"text": " A.EX "}, ["a.example"]),
        ({"failing": True}, ["a.example", "gone.example"]),
        ({"text": "c.", "failing": False}, ["c.example"]),
    ],
)
async def test_hosts_are_filtered(listing: HostListing, by: dict[str, Any], hosts: list[str]) -> None:
    assert [each.host for each in (await listing.page(9, **by)).items] == hosts
