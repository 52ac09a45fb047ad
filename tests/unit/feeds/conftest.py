"""A store and a registry on it, at a time that stands still until it is moved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.feeds.registry import FeedRegistry
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)


@pytest.fixture
async def store(tmp_path: Path, watch: Watch) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "toolpulse.db", watch)
    yield store
    await store.close()


@pytest.fixture
def registry(store: SqliteStore, watch: Watch) -> FeedRegistry:
    return FeedRegistry(store, watch)
