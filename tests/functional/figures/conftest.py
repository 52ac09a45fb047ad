"""A store for a cache, at a time that stands still until it is moved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.figures.world import Process

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)


@pytest.fixture
async def process(store: SqliteStore, watch: Watch) -> AsyncIterator[Process]:
    begun = Process(store, watch)
    yield begun
    await begun.close()
