"""At whatever operation a process dies, the next process ends in the state of one that never died."""

from __future__ import annotations

import contextlib
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from services.store.sqlite import SqliteStore
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.articles.world import START, SettableClock, World, analysed, item

SHARED = item(3, title="Both of them have this one")
BEFORE = [item(1), item(2), SHARED]
EDITED = "Edited meanwhile."
AFTER = [item(1, text=EDITED), item(2), SHARED, item(4), item(5), item(6, published=None)]
OTHERS = [item(30, title=SHARED.title), item(40, title=item(4).title), item(50)]


async def _state(world: World) -> dict[str, Any]:
    """The stored state that must be the same whether a worker died or not. Times may differ."""
    articles = {
        each["source_id"]: (
            each["headline"],
            sorted(each["sources"]),
            each["canonical"]["source"],
            each["text_for_analysis"],
            each["status"],
        )
        for each in await world.articles()
    }
    feeds = {}
    for name in ("a", "b"):
        feed = await world.feed(name)
        feeds[name] = (
            feed.fetch_count,
            feed.consecutive_errors,
            feed.worker_deaths,
        )
    return {
        "articles": articles,
        "observations": sorted((each["source_id"], each["id"], each["text"]) for each in await world.observations()),
        "aliases": sorted((each["id"], each["source_id"]) for each in await world.locators("LocatorAlias")),
        "feeds": feeds,
        "documents": sorted(
            (each["source_id"], each["provider"], each["revision"], each["eligibility"])
            for each in await world.all("documents")
        ),
    }


@pytest.fixture
async def start(tmp_path: Path) -> Path:
    """A store's folder in which both feeds have been fetched once, and their articles analysed."""
    folder = tmp_path / "start"
    clock = SettableClock()
    store = SqliteStore(folder / "store.db", clock)
    await store.ensure_containers()
    world = World(store, clock)
    await world.add_feed("a", BEFORE, full_text="short")
    await world.add_feed("b", OTHERS[:1])
    await world.poll("a")
    await world.poll("b")
    for article in await world.articles():
        await store.replace("articles", analysed(article), article["_etag"])
    await store.close()
    return folder


async def _opened(start: Path, folder: Path) -> tuple[SqliteStore, World]:
    shutil.copytree(start, folder)
    clock = SettableClock(START + timedelta(minutes=10))
    store = SqliteStore(folder / "store.db", clock)
    await store.ensure_containers()
    world = World(store, clock, first_id=100)
    world.publish("a", AFTER)
    world.publish("b", OTHERS)
    return store, world


async def _without_dying(start: Path, folder: Path) -> dict[str, Any]:
    store, world = await _opened(start, folder)
    await world.poll("a")
    await world.poll("b")
    state = await _state(world)
    await store.close()
    return state


@pytest.mark.parametrize("when", ["before", "halfway", "after"])
@pytest.mark.parametrize("recovery", ["redelivery", "lease"])
async def test_a_death_at_any_operation_changes_nothing_in_the_end(
    start: Path, tmp_path: Path, when: When, recovery: str
) -> None:
    expected = await _without_dying(start, tmp_path / "expected")
    k = 0
    while True:
        k += 1
        store, world = await _opened(start, tmp_path / f"{when}{k}")
        world.clock.forward(minutes=1)
        (batch,) = await world.claimed("a")
        dying = DyingStore(store, k, when)
        first, later = world.new_worker(dying), world.new_worker()
        with contextlib.suppress(Died):
            await first.ingestion.ingest(batch)
        if recovery == "redelivery":
            world.clock.forward(seconds=30)
            await later.ingestion.ingest(batch, 2)
        world.clock.forward(minutes=11)
        feed = await world.feed("a")
        if feed.fetch_count == 1:  # as before, so it is still due
            await world.poll("a", later)
        due = {each["source_id"] for each in await world.articles() if each["status"] == "pending"}
        assert all(each.get("analysis_due_since") for each in await world.articles() if each["source_id"] in due)
        await world.poll("b", world.new_worker())
        state = await _state(world)
        runs = {each["id"]: each["status"] for each in await world.runs()}
        await store.close()
        assert state == expected, f"died {when} operation {k}"
        assert "QUEUED" not in runs.values()
        if not dying.is_dead:
            break
    assert k > 10
