"""A store with a clock that is moved by hand, and ways to fill it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from models.stored import StoredDocument
from services.store.sqlite import SqliteStore

Put = Callable[..., Awaitable[None]]


@pytest.fixture
def put(store: SqliteStore) -> Put:
    async def put(*documents: StoredDocument) -> None:
        for document in documents:
            await store.upsert(document.CONTAINER, document.to_document())

    return put
