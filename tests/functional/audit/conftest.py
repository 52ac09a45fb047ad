"""A world on the embedded store, new for every test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.store.sqlite import SqliteStore
from tests.functional.articles.world import SettableClock
from tests.functional.audit.world import AuditWorld


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def world(tmp_path: Path, clock: SettableClock) -> AsyncIterator[AuditWorld]:
    store = SqliteStore(tmp_path / "store.db", clock)
    await store.ensure_containers()
    world = AuditWorld(store, clock)
    yield world
    await world.figures.close()
    await store.close()
