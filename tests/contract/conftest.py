"""Both stores, empty, for every test of the contract."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.ports import Store
from services.store.cosmos import CosmosStore
from services.store.sqlite import SqliteStore
from tests.contract import cosmos_server
from tests.contract.cosmos_server import CosmosServer

collect_ignore = [] if cosmos_server.available() else ["test_cosmos_faults.py"]
KINDS = ("sqlite", "cosmos") if cosmos_server.available() else ("sqlite",)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", KINDS, scope="session")


@dataclass
class SettableClock:
    """The time of a test. It begins with the real time, since a Cosmos server has a clock of its own."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    def __call__(self) -> datetime:
        return self.now

    def seconds(self) -> int:
        return int(self.now.timestamp())

    def forward(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture(scope="session")
def cosmos() -> Iterator[CosmosServer]:
    with cosmos_server.running() as server:
        yield server


_databases = (f"contract-{number}" for number in itertools.count(1))


@pytest.fixture
async def another(
    kind: str, tmp_path: Path, clock: SettableClock, request: pytest.FixtureRequest
) -> AsyncIterator[Callable[[], Store]]:
    """Makes stores that look at the same, at first empty, data."""
    made: list[Store] = []
    database = next(_databases)

    def make() -> Store:
        if kind == "sqlite":
            made.append(SqliteStore(tmp_path / "data" / "store.db", clock))
        else:
            server: CosmosServer = request.getfixturevalue("cosmos")
            made.append(CosmosStore(server.endpoint, database, clock, key=server.key))
        return made[-1]

    yield make
    if kind == "cosmos" and made:
        assert isinstance(made[0], CosmosStore)
        await _drop(request.getfixturevalue("cosmos"), database)
    await asyncio.gather(*(store.close() for store in made))


async def _drop(server: CosmosServer, database: str) -> None:
    from azure.cosmos.aio import CosmosClient

    async with CosmosClient(server.endpoint, server.key, enable_endpoint_discovery=False) as client:
        await client.delete_database(database)


@pytest.fixture
async def store(another: Callable[[], Store]) -> Store:
    store = another()
    assert isinstance(store, SqliteStore | CosmosStore)
    await store.ensure_containers()
    return store


@pytest.fixture
async def unreachable(kind: str, tmp_path: Path, clock: SettableClock) -> AsyncIterator[Store]:
    """A store that is not there."""
    (tmp_path / "a file").touch()
    store: Store = (
        SqliteStore(tmp_path / "a file" / "store.db", clock)
        if kind == "sqlite"
        else CosmosStore("http://127.0.0.1:9", "none", clock, key=cosmos_server.EMULATOR_KEY, budget_seconds=0.5)
    )
    yield store
    await store.close()
