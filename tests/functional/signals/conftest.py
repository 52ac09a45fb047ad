import pytest

from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.signals.world import World


@pytest.fixture
async def world(store: SqliteStore, watch: Watch) -> World:
    return World(store, watch)
