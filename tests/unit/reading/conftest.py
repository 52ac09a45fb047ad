"""A store with a clock that is moved by hand, and ways to fill it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from models.stored import StoredDocument
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW

Put = Callable[..., Awaitable[None]]


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)


@pytest.fixture
async def store(tmp_path: Path, watch: Watch) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "toolpulse.db", watch)
    yield store
    await store.close()


@pytest.fixture
def put(store: SqliteStore) -> Put:
    async def put(*documents: StoredDocument) -> None:
        for document in documents:
            await store.upsert(document.CONTAINER, document.to_document())

    return put
