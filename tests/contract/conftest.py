"""Both stores, empty, for every test of the contract."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from models.errors import Unavailable
from services.ports import Operation, Query, Store
from services.store.containers import CONTAINERS, DEFAULT_TTL
from services.store.cosmos import CosmosStore
from services.store.cosmos_connection import Counters
from services.store.sqlite import SqliteStore
from tests.contract import cosmos_server
from tests.contract.cosmos_server import CosmosServer
from tests.contract.faulty_proxy import FaultyProxy

OF_COSMOS = (
    "cosmos_faults",
    "cosmos_batch_faults",
    "ingestion_faults",
    "limited_proxy",
    "scale_on_the_wire",
)
collect_ignore = [] if cosmos_server.available() else [f"test_{name}.py" for name in OF_COSMOS]
KINDS = ("sqlite", "cosmos") if cosmos_server.available() else ("sqlite",)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", KINDS, scope="session")


@dataclass
class SettableClock:
    """The time of a test. It begins at the real time, since a Cosmos server purges by a clock of its own."""

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


DATABASE = "contract"
FAULTY_DATABASE = "faults"


@pytest.fixture
async def another(
    kind: str, tmp_path: Path, clock: SettableClock, request: pytest.FixtureRequest
) -> AsyncIterator[Callable[[], Store]]:
    """Opens stores on the same data, which is empty at first."""
    made: list[Store] = []

    def make() -> Store:
        if kind == "sqlite":
            made.append(SqliteStore(tmp_path / "data" / "store.db", clock))
        else:
            server: CosmosServer = request.getfixturevalue("cosmos")
            made.append(CosmosStore(server.endpoint, DATABASE, clock, key=server.key))
        return made[-1]

    yield make
    written = {
        name
        for store in made
        if isinstance(store, CosmosStore)
        for name, counted in store.counters.items()
        if counted.operations
    }
    await asyncio.gather(*(store.close() for store in made))
    if written:
        await _empty(request.getfixturevalue("cosmos"), written)


async def _empty(server: CosmosServer, containers: set[str]) -> None:
    """Drops and creates these containers. To do so with all of them would take longer than the tests."""
    from azure.cosmos import PartitionKey
    from azure.cosmos.aio import CosmosClient

    async with CosmosClient(server.endpoint, server.key, enable_endpoint_discovery=False) as client:
        database = client.get_database_client(DATABASE)
        for name in containers:
            key, policy = PartitionKey(f"/{CONTAINERS[name].partition_key}"), CONTAINERS[name].indexing_policy()
            await database.delete_container(name)
            await database.create_container(name, key, indexing_policy=policy, default_ttl=DEFAULT_TTL)


_with_containers: set[str] = set()


async def ensured(store: CosmosStore, endpoint: str, database: str) -> None:
    """Creates the containers of a database once for each run."""
    if f"{endpoint} {database}" not in _with_containers:
        await store.ensure_containers()
        _with_containers.add(f"{endpoint} {database}")


@pytest.fixture
async def store(another: Callable[[], Store], request: pytest.FixtureRequest) -> Store:
    store = another()
    assert isinstance(store, SqliteStore | CosmosStore)
    if isinstance(store, CosmosStore):
        await ensured(store, request.getfixturevalue("cosmos").endpoint, DATABASE)
    else:
        await store.ensure_containers()
    return store


async def each_done(store: Store, container: str, operations: Sequence[tuple[str, Operation]]) -> list[bool]:
    """Whether each operation was done, each of them a batch of its own."""
    outcomes = await store.batch_many(container, [(partition, [operation]) for partition, operation in operations])
    return [isinstance(outcome, list) for outcome in outcomes]


@pytest.fixture
async def unreachable(kind: str, tmp_path: Path, clock: SettableClock) -> AsyncIterator[Store]:
    """A store on a server or file that is not there."""
    (tmp_path / "a file").touch()
    store: Store = (
        SqliteStore(tmp_path / "a file" / "store.db", clock)
        if kind == "sqlite"
        else CosmosStore("http://127.0.0.1:9", "none", clock, key=cosmos_server.EMULATOR_KEY, budget_seconds=0.5)
    )
    yield store
    await store.close()


@pytest.fixture
async def proxy(cosmos: CosmosServer) -> AsyncIterator[FaultyProxy]:
    async with FaultyProxy(cosmos.endpoint).serving() as proxy:
        yield proxy


@asynccontextmanager
async def _behind(
    proxy: FaultyProxy, cosmos: CosmosServer, clock: SettableClock, budget_seconds: float
) -> AsyncIterator[CosmosStore]:
    """A store behind `proxy` that is open and has read its container, so that scripts meet requests for items only."""
    patient = CosmosStore(cosmos.endpoint, FAULTY_DATABASE, clock, key=cosmos.key)
    await ensured(patient, cosmos.endpoint, FAULTY_DATABASE)
    for document in (await patient.query("mentions", Query(limit=1000))).items:
        await patient.delete("mentions", document["tool_id"], document["id"])
    await patient.close()
    store = CosmosStore(proxy.endpoint, FAULTY_DATABASE, clock, key=cosmos.key, budget_seconds=budget_seconds)
    try:
        await _opened(store)
        proxy.item_requests.clear()
        store.counters["mentions"] = Counters()
        yield store
    finally:
        proxy.always = None
        await store.close()


@pytest.fixture
async def faulty_store(proxy: FaultyProxy, cosmos: CosmosServer, clock: SettableClock) -> AsyncIterator[CosmosStore]:
    """The time for a request is longer than any test: what is slow on a busy machine does not fail."""
    async with _behind(proxy, cosmos, clock, budget_seconds=60) as store:
        yield store


@pytest.fixture
async def impatient_store(proxy: FaultyProxy, cosmos: CosmosServer, clock: SettableClock) -> AsyncIterator[CosmosStore]:
    async with _behind(proxy, cosmos, clock, budget_seconds=1.5) as store:
        yield store


async def _opened(store: CosmosStore) -> None:
    """On a busy machine opening may take longer than the budget of a request."""
    async with asyncio.timeout(300):
        while True:
            try:
                await store.query("mentions", Query())
            except Unavailable:
                continue
            return
