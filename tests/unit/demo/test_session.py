"""Demo feeds are registered once, follow the demo when it moves, and go when it goes."""

from pathlib import Path

import pytest

from scripts.demo.cast import OUTLETS, PRODUCTS
from scripts.demo.session import RunningApp, forget_products, register, unregister, watch_products
from scripts.local_host.data import Running
from services.feeds.form import new_feed
from services.feeds.registry import FeedRegistry
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog, tool_change
from tests.builders import Watch
from tests.documents import NOW

IDS = sorted(each.id for each in OUTLETS)


@pytest.fixture
def registry(store: SqliteStore, watch: Watch) -> FeedRegistry:
    return FeedRegistry(store, watch)


async def ids(registry: FeedRegistry) -> list[str]:
    return [feed.feed_id for feed in await registry.every()]


async def test_a_restart_registers_nothing_twice_and_leaves_what_was_changed(registry: FeedRegistry) -> None:
    await register(registry, "http://127.0.0.1:7072")
    await registry.change("demo-dev-wire", {"enabled": False})
    await register(registry, "http://127.0.0.1:7072")
    assert await ids(registry) == IDS
    assert not (await registry.get("demo-dev-wire")).enabled


async def test_feeds_follow_the_demo_to_another_port(registry: FeedRegistry) -> None:
    await register(registry, "http://127.0.0.1:7072")
    await register(registry, "http://127.0.0.1:8000")
    assert await ids(registry) == IDS
    assert (await registry.get("demo-frontier")).feed_url == "http://127.0.0.1:8000/demo-frontier/"


async def test_a_run_without_the_demo_removes_its_feeds_only(registry: FeedRegistry) -> None:
    await registry.add(new_feed({"url": "https://example.com/", "source_name": "Mine", "feed_id": "mine"}, NOW))
    await register(registry, "http://127.0.0.1:7072")
    await unregister(registry)
    await unregister(registry)
    assert await ids(registry) == ["mine"]


async def test_the_demos_tools_are_watched_while_it_runs_and_stay_as_people_change_them(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "toolpulse.db", Watch())
    ids = (f"00000000-0000-4000-8000-{number:012d}" for number in range(10_000))
    catalog = Catalog(store, Watch(), lambda: next(ids))
    await watch_products(catalog)
    await catalog.change("Nimbry", tool_change({"aliases": ["Nimbry Cloud"]}))
    await forget_products(catalog)
    assert await catalog.active() == []
    await watch_products(catalog)
    assert sorted(tool.primary_name for tool in await catalog.active()) == sorted(each.name for each in PRODUCTS)
    assert (await catalog.get("Nimbry Cloud")).tickers == ("NMBY",)
    await store.close()


def test_an_app_with_keys_is_asked_at_its_own_port_and_with_both_keys_and_one_without_has_one_port() -> None:
    keys = {"FUNCTION_KEYS": "one, two", "MANAGEMENT_KEY": "three"}
    host = Running("http://127.0.0.1:5000", "http://127.0.0.1:7071")
    app = RunningApp.of({"WEBSITE_HOSTNAME": "127.0.0.1:5000", **keys}, host)
    assert (app.own, app.functions) == ("http://127.0.0.1:5000", "http://127.0.0.1:7071")
    assert app.keys == {"x-functions-key": "one", "X-Management-Key": "three"}
    plain = RunningApp.of({"WEBSITE_HOSTNAME": "127.0.0.1:7071"}, None)
    assert (plain.own, plain.functions, plain.keys) == ("http://127.0.0.1:7071", "http://127.0.0.1:7071", {})
