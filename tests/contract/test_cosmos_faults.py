"""How CosmosStore handles a service that throttles, fails, hangs up or stays silent: over the wire."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from models.errors import InvalidInput, Unavailable
from models.version import USER_AGENT
from services.ports import Create, Document, Query, Upsert
from services.store.cosmos import CosmosStore
from tests.contract import cosmos_server
from tests.contract.conftest import FAULTY_DATABASE as DATABASE
from tests.contract.conftest import SettableClock
from tests.contract.cosmos_server import CosmosServer
from tests.contract.faulty_proxy import CUT_BEFORE, Fault, FaultyProxy
from tests.contract.identity import Identity


def item(name: str = "a", **fields: Any) -> Document:
    return {"id": name, "tool_id": "t", **fields}


@pytest.fixture
def store(faulty_store: CosmosStore) -> CosmosStore:
    return faulty_store


@pytest.fixture(scope="module")
def tls() -> Iterator[CosmosServer]:
    with cosmos_server.running(tls=True) as server:
        yield server


Operation = Callable[[CosmosStore], Awaitable[Any]]
OPERATIONS: dict[str, Operation] = {
    "read": lambda store: store.read("mentions", "t", "a"),
    "query": lambda store: store.query("mentions", Query()),
    "query within": lambda store: store.query("mentions", Query(partition="t")),
    "count": lambda store: store.count("mentions"),
    "batch": lambda store: store.batch("mentions", "t", [Create(item("new")), Upsert(item())]),
    "batch many": lambda store: store.batch_many("mentions", [("t", [Create(item("new")), Upsert(item())])]),
}


@pytest.mark.parametrize(
    "fault",
    [
        Fault.answer(429, retry_after_ms=5),
        Fault.answer(449),
        Fault.answer(503),
        Fault.answer(408),
        Fault.answer(404, 1002),
        CUT_BEFORE,
    ],
    ids=["429", "449", "503", "408", "404-1002", "cut"],
)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
async def test_a_passing_failure_is_retried(
    store: CosmosStore, proxy: FaultyProxy, fault: Fault, operation: Operation
) -> None:
    await store.upsert("mentions", item(n=1))
    # aiohttp itself sends a GET or DELETE once more when an idle line breaks.
    proxy.script = [fault] * (2 if fault is CUT_BEFORE else 1)
    await operation(store)
    assert proxy.script == []
    assert 1 <= store.counters["mentions"].retries <= 2


async def test_a_throttled_request_waits_as_long_as_azure_asks(store: CosmosStore, proxy: FaultyProxy) -> None:
    proxy.script = [Fault.answer(429, 3200, retry_after_ms=150)] * 2
    clock = asyncio.get_running_loop().time
    start = clock()
    await store.read("mentions", "t", "a")
    assert clock() - start >= 0.3
    counted = store.counters["mentions"]
    assert (counted.operations, counted.retries, counted.throttles) == (1, 2, 2)
    assert len(proxy.item_requests) == 3


async def test_the_budget_ends_retries_with_the_wait_that_azure_asked_for(
    store: CosmosStore, proxy: FaultyProxy
) -> None:
    proxy.always = Fault.answer(429, 3200, retry_after_ms=90_000)
    with pytest.raises(Unavailable, match="429") as refused:
        await store.upsert("mentions", item())
    assert refused.value.retry_after == 90.0
    assert len(proxy.item_requests) == 1


@pytest.mark.parametrize(
    "fault", [Fault.answer(429, retry_after_ms=1), Fault.answer(503), Fault.answer(408), CUT_BEFORE]
)
async def test_the_sdk_does_not_retry_behind_our_back(proxy: FaultyProxy, store: CosmosStore, fault: Fault) -> None:
    await store.ping()
    proxy.item_requests.clear()
    proxy.always = fault
    with pytest.raises(Unavailable):
        await store.ping()
    assert len(proxy.item_requests) <= (2 if fault is CUT_BEFORE else 1)  # aiohttp repeats a GET when a line breaks


@pytest.mark.parametrize("status", [401, 403])
async def test_the_error_of_a_refused_sign_in_names_the_remedy(
    store: CosmosStore, proxy: FaultyProxy, status: int
) -> None:
    proxy.always = Fault.answer(status)
    with pytest.raises(Unavailable, match="Data Contributor"):
        await store.read("mentions", "t", "a")


async def test_a_container_that_is_gone_is_not_an_absent_document(store: CosmosStore, proxy: FaultyProxy) -> None:
    proxy.always = Fault.answer(404, 1003)
    with pytest.raises(Unavailable, match="create_cache_container"):
        await store.read("mentions", "t", "a")


async def test_a_database_that_was_never_made_is_not_an_absent_document(
    cosmos: CosmosServer, clock: SettableClock
) -> None:
    store = CosmosStore(cosmos.endpoint, "never-made", clock, key=cosmos.key)
    for ask in (store.read("mentions", "t", "a"), store.ping(), store.query("mentions", Query())):
        with pytest.raises(Unavailable, match="create_cache_container"):
            await ask
    await store.close()


async def test_support_finds_a_request_by_its_activity_id_and_the_app_by_its_user_agent(
    impatient_store: CosmosStore, proxy: FaultyProxy
) -> None:
    proxy.always = Fault(503, {"x-ms-activity-id": "af38-1"})
    with pytest.raises(Unavailable, match=r"503 \(activity id af38-1\)"):
        await impatient_store.read("mentions", "t", "a")
    assert f" {USER_AGENT}" in proxy.user_agent


async def test_silence_ends_with_the_budget(impatient_store: CosmosStore, proxy: FaultyProxy) -> None:
    proxy.always = Fault(hold=120)
    async with asyncio.timeout(300):
        with pytest.raises(Unavailable, match="did not answer"):
            await impatient_store.read("mentions", "t", "a")


async def test_cancelled_calls_give_their_connections_back(store: CosmosStore, proxy: FaultyProxy) -> None:
    proxy.always = Fault(hold=1)
    calls = [asyncio.create_task(store.read("mentions", "t", f"{n}")) for n in range(150)]  # more than the pool holds
    while proxy.requests == 0:  # noqa: ASYNC110 - the proxy signals nothing
        await asyncio.sleep(0.01)
    for call in calls:
        call.cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert any(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    proxy.always = None
    async with asyncio.timeout(300):
        await asyncio.gather(*(store.upsert("mentions", item(f"{n}")) for n in range(20)))
    await store.close()
    async with asyncio.timeout(300):
        await proxy.idle.wait()
    assert proxy.open == 0


async def test_opening_that_is_cancelled_can_be_done_again(
    proxy: FaultyProxy, cosmos: CosmosServer, clock: SettableClock, store: CosmosStore
) -> None:
    other = CosmosStore(proxy.endpoint, DATABASE, clock, key=cosmos.key)
    for delay in (0, 0.001, 0.003, 0.01):
        opening = asyncio.create_task(other.ping())
        await asyncio.sleep(delay)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
    await other.ping()
    await other.close()


async def test_requests_share_their_connections(store: CosmosStore, proxy: FaultyProxy) -> None:
    before = proxy.accepted
    for n in range(20):
        await store.upsert("mentions", item(f"{n}"))
    assert proxy.accepted == before


async def test_requests_and_their_charge_are_counted_by_container(store: CosmosStore, cosmos: CosmosServer) -> None:
    before = store.counters["mentions"].request_units
    for _ in range(3):
        await store.read("mentions", "t", "a")
    assert store.counters["mentions"].request_units == before + 3
    assert store.counters["mentions"].operations == 3
    assert store.counters["articles"].operations == 0


async def test_proxies_of_the_environment_are_not_used(
    cosmos: CosmosServer, proxy: FaultyProxy, store: CosmosStore, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy.endpoint)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    proxy.item_requests.clear()
    direct = CosmosStore(cosmos.endpoint, DATABASE, clock, key=cosmos.key)
    await direct.ping()
    await direct.close()
    assert not proxy.item_requests


async def test_a_key_or_a_credential_is_needed(clock: SettableClock) -> None:
    with pytest.raises(InvalidInput):
        CosmosStore("http://127.0.0.1:9", DATABASE, clock)


async def test_the_error_of_an_identity_without_a_token_names_the_remedy(
    tls: CosmosServer, clock: SettableClock
) -> None:
    store = CosmosStore(tls.endpoint, DATABASE, clock, credential=Identity(refused=True))
    with pytest.raises(Unavailable, match="Data Contributor"):
        await store.ping()
    await store.close()


def test_a_cold_start_does_not_load_azure() -> None:
    program = (
        "import services.store.cosmos, sys; print([name for name in sys.modules if name.split('.')[0] == 'azure'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
