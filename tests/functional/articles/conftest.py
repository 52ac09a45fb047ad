"""A world on the embedded store, new for every test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.store.sqlite import SqliteStore
from tests.functional.articles.world import SettableClock, World


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def world(tmp_path: Path, clock: SettableClock) -> AsyncIterator[World]:
    store = SqliteStore(tmp_path / "store.db", clock)
    await store.ensure_containers()
    yield World(store, clock)
    await store.close()
