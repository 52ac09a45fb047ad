"""A store and a catalog on it, at a time that stands still until it is moved."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from services.ports import Store
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog
from tests.builders import Watch


@pytest.fixture
def catalog_on(watch: Watch) -> Callable[[Store], Catalog]:
    """A catalog of another process, on a store that may behave badly."""
    ids = itertools.count(1)
    return lambda store: Catalog(store, watch, lambda: f"00000000-0000-4000-8000-{next(ids):012d}")


@pytest.fixture
def catalog(store: SqliteStore, catalog_on: Callable[[Store], Catalog]) -> Catalog:
    return catalog_on(store)
