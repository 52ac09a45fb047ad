from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.archive.folder import FolderArchive
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.documents.world import World
from tests.functional.fetch.conftest import Server, server

__all__ = ["server"]


@pytest.fixture
async def world(tmp_path: Path, server: Server, store: SqliteStore, watch: Watch) -> AsyncIterator[World]:
    made = World(store, watch, server, FolderArchive(tmp_path / "archive"))
    yield made
    await made.worker.fetcher.close()
