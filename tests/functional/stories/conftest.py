from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW
from tests.functional.stories.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    watch = Watch(NOW)
    store = SqliteStore(tmp_path / "toolpulse.db", watch)
    yield World(store, watch)
    await store.close()
