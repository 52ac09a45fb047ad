"""The audit has the same results on both stores: none in a sound store, and each kind of damage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from services.ports import Store
from services.store.containers import ARTICLES
from tests.functional.articles.world import SettableClock
from tests.functional.audit import test_damage
from tests.functional.audit.world import AuditWorld, is_article


@pytest.fixture
def world(store: Store) -> AuditWorld:
    # Before now: no document is to be later than the clock of the store.
    return AuditWorld(store, SettableClock(datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)))


async def test_a_sound_store_has_no_differences_at_once_and_in_steps(world: AuditWorld) -> None:
    await world.filled(feeds=3, entries=40)
    assert await world.differences() == []
    ended, steps = await world.stepped()
    assert (ended.found, steps > 1) == ({}, True)


async def test_all_kinds_of_damage_are_found_and_what_is_derived_is_repaired(world: AuditWorld) -> None:
    tools = await world.filled()
    for damage in (
        test_damage.an_edit_that_was_not_announced,
        test_damage.a_lost_mention,
        test_damage.a_mention_too_many,
        test_damage.wrong_windows,
        test_damage.a_lost_timeline,
        test_damage.a_wrong_total,
        test_damage.wrong_figures_of_a_run,
    ):
        await damage(world, tools)
    assert await world.kinds() == [
        "analysis_not_due",
        "feed_total_differs",
        "hour_differs",
        "mention_missing",
        "mention_not_detected",
        "run_figures_differ",
        "windows_differ",
    ]
    await world.differences(repair=True)
    await world.work()
    assert await world.differences() == []
    for tool in tools:
        assert await world.served(tool) == await world.counting(tool)


async def test_a_lost_article_is_found_by_its_observation(world: AuditWorld) -> None:
    await world.filled()
    await world.lose(ARTICLES.name, is_article)
    assert "article_missing" in await world.kinds()
