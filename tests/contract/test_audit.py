"""The audit has the same results on both stores."""

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


async def test_a_sound_store_has_no_differences_at_once_and_in_portions(world: AuditWorld) -> None:
    await world.filled(feeds=3, entries=40)
    ended, _ = await world.stepped()
    assert ended.found == {}
    assert await world.differences() == []


async def test_damage_is_found(world: AuditWorld) -> None:
    tools = await world.filled()
    for damage in (
        test_damage.an_edit_that_was_not_announced,
        test_damage.a_lost_mention,
        test_damage.a_mention_too_many,
        test_damage.a_lost_timeline,
    ):
        await damage(world, tools)
    kinds = ["analysis_not_due", "hour_differs", "mention_missing", "mention_unfounded"]
    assert await world.kinds() == kinds


async def test_a_lost_article_is_found_by_its_observation(world: AuditWorld) -> None:
    await world.filled()
    await world.lose(ARTICLES.name, is_article)
    assert "article_missing" in await world.kinds()
