"""A store for a cache, at a time that stands still until it is moved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.store.sqlite import SqliteStore
from tests.builders import Watch

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)


@pytest.fixture
async def store(tmp_path: Path, watch: Watch) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "toolpulse.db", watch)
    yield store
    await store.close()
