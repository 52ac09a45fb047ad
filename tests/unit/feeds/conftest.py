"""A store and a registry on it, at a time that stands still until it is moved."""

from __future__ import annotations

import pytest

from services.feeds.registry import FeedRegistry
from services.store.sqlite import SqliteStore
from tests.builders import Watch


@pytest.fixture
def registry(store: SqliteStore, watch: Watch) -> FeedRegistry:
    return FeedRegistry(store, watch)
