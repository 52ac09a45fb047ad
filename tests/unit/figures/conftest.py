"""A store whose time stands still."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.store.sqlite import SqliteStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "toolpulse.db", lambda: datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC))
    yield store
    await store.close()
