"""A store for a cache, at a time that stands still until it is moved."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.figures.world import NOW, Process


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)


@pytest.fixture
async def process(store: SqliteStore, watch: Watch) -> AsyncIterator[Process]:
    begun = Process(store, watch)
    yield begun
    await begun.close()
