"""Data that the version before runs counted from observations wrote: migrated, then worked on, on both stores.

tests/data/stored/before_run_engine.json holds every document of a small app that was stopped in the middle of its
work: two feeds whose workers had died, a message lost after an edit, another lost after a new article, a flood in
quarantine, a refresh under way, a reanalysis in its queue.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from models.values import parse_time
from services.operations.migrations.runner import MIGRATIONS, run_pending
from services.ports import Store
from services.runs.engine import RunEngine
from tests.contract.conftest import SettableClock
from tests.functional.articles.killing import differences_of
from tests.functional.articles.world import START, World, item
from tests.functional.articles.world import SettableClock as WorldClock

WRITTEN = Path(__file__).resolve().parents[1] / "data" / "stored" / "before_run_engine.json"
HEADLINE = "Moorlight {} praised as excellent and fast by everybody"


def news(number: int) -> object:
    return item(number, title=HEADLINE.format(number), published=START - timedelta(hours=1))


@pytest.fixture
async def world(store: Store, clock: SettableClock) -> World:
    written = json.loads(WRITTEN.read_text())
    clock.now = parse_time(written["written_at"])
    for container, documents in written["containers"].items():
        await store.write_many(container, documents)
    ran = [migration.number async for migration in run_pending(store, clock)]
    assert ran == [2, 3, 4, 5]
    return World(store, WorldClock(clock.now), first_id=1000)


async def test_articles_of_dead_workers_are_counted_once_by_the_next_fetch(world: World) -> None:
    world.publish("interrupted", [news(6), news(7)])  # type: ignore[list-item]
    world.publish("lost", [news(9)])  # type: ignore[list-item]
    world.clock.forward(minutes=15)
    for feed_id, total in (("interrupted", 3), ("lost", 2)):
        await world.poll(feed_id, world.new_worker())
        feed = await world.feed(feed_id)
        assert (feed.total_articles_fetched, feed.recheck_entries, feed.claim_id) == (total, False, None)
    assert sorted(each["headline"] for each in await world.articles() if "lost" in each["sources"]) == [
        HEADLINE.format(number) for number in (8, 9)
    ]


async def test_every_article_whose_analysis_is_due_has_the_field(world: World) -> None:
    world.clock.forward(minutes=6)
    await world.worker.overdue_articles.announce(world.clock.now)
    due = set(world.worker.announced)
    by_feed = {each["source_id"]: each["sources"] for each in await world.articles()}
    feeds = [source for name in due for source in by_feed[name]]
    assert sorted(set(feeds)) == ["edited", "flood", "interrupted", "lost", "pending"]
    assert len(due) == 1 + 30 + 3 + 2 + 1


async def test_an_unchanged_feed_stays_known(world: World) -> None:
    world.publish("quiet", [news(1), news(2)])  # type: ignore[list-item]
    outcome = await world.poll("quiet", world.new_worker())
    feed = await world.feed("quiet")
    assert (outcome.article_ids, feed.total_articles_fetched, feed.recheck_entries) == ((), 2, False)


async def test_runs_and_attempts_are_listed_and_open_ones_are_closed(world: World) -> None:
    runs = RunEngine(world.store, world.clock, lambda: "none")
    page = await runs.page(100, None)
    assert (len(page.items), page.unreadable) == (13, ())
    for run in page.items:
        assert (await runs.listed_attempts(run.run_id)).unreadable == ()
    world.clock.forward(minutes=40)
    await world.worker.overdue.runs(world.clock.now)
    left = [each for each in (await runs.page(100, None)).items if not each.is_finished]
    assert {each.workflow_name for each in left} == {"refresh_cache", "reanalyze_tool"}


async def test_migrating_again_changes_nothing(world: World, clock: SettableClock) -> None:
    migration = next(each for each in MIGRATIONS if each.number == 2)
    before = await world.all("feeds"), await world.all("articles")
    await migration.run(world.store, clock.now)
    assert (await world.all("feeds"), await world.all("articles")) == before


async def test_what_the_earlier_version_could_not_count_is_no_difference(world: World) -> None:
    assert await differences_of(world.store, world.clock) == []
    world.publish("quiet", [news(number) for number in range(40, 43)])  # type: ignore[misc]
    world.clock.forward(minutes=30)
    await world.poll("quiet", world.new_worker())
    assert await differences_of(world.store, world.clock) == []
