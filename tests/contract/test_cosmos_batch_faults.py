"""How CosmosStore handles batches whose responses are lost, throttled or refused: over the wire."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from models.errors import ChangedMeanwhile, Conflict, Unavailable
from services.ports import Create, Delete, Document, Operation, Query, Replace, Upsert
from services.store.cosmos import CosmosStore
from services.store.cosmos_connection import BULK_REQUESTS, PARALLEL
from tests.contract.conftest import FAULTY_DATABASE, SettableClock
from tests.contract.cosmos_server import CosmosServer
from tests.contract.faulty_proxy import CUT_AFTER, LOST_ANSWER, Fault, FaultyProxy


def item(name: str = "a", **fields: Any) -> Document:
    return {"id": name, "tool_id": "t", **fields}


def refused(status: int, **headers: Any) -> Fault:
    """How Azure answers a batch of two of which the second failed."""
    body = json.dumps([{"statusCode": 424, "requestCharge": 0}, {"statusCode": status, "requestCharge": 0}])
    return Fault.answer(207, body=body.encode(), **headers)


async def stored(store: CosmosStore) -> dict[str, Any]:
    return {each["id"]: each.get("n") for each in (await store.query("mentions", Query(partition="t"))).items}


@pytest.fixture
async def other(cosmos: CosmosServer, clock: SettableClock, faulty_store: CosmosStore) -> AsyncIterator[CosmosStore]:
    """A store that another process has opened, past the proxy."""
    other = CosmosStore(cosmos.endpoint, FAULTY_DATABASE, clock, key=cosmos.key)
    yield other
    await other.close()


async def test_a_batch_is_one_request(faulty_store: CosmosStore, proxy: FaultyProxy) -> None:
    first = await faulty_store.create("mentions", item("replaced"))
    proxy.item_requests.clear()
    await faulty_store.batch(
        "mentions", "t", [Create(item("new")), Upsert(item()), Replace(item("replaced"), first["_etag"])]
    )
    assert proxy.item_requests == ["POST"]


@pytest.mark.parametrize("status", [429, 449, 503, 408])
async def test_a_passing_failure_of_an_operation_is_retried(
    faulty_store: CosmosStore, proxy: FaultyProxy, status: int
) -> None:
    proxy.script = [refused(status, retry_after_ms=5)] * 2
    await faulty_store.batch("mentions", "t", [Create(item("a", n=1)), Create(item("b", n=1))])
    assert await stored(faulty_store) == {"a": 1, "b": 1}
    counted = faulty_store.counters["mentions"]
    assert (counted.retries, counted.throttles) == (2, 2 if status == 429 else 0)


async def test_a_throttled_operation_waits_as_long_as_azure_asks(faulty_store: CosmosStore, proxy: FaultyProxy) -> None:
    proxy.script = [refused(429, retry_after_ms=300)]
    clock = asyncio.get_running_loop().time
    start = clock()
    await faulty_store.batch("mentions", "t", [Upsert(item("a")), Upsert(item("b"))])
    assert clock() - start >= 0.3
    proxy.always = refused(429, retry_after_ms=90_000)  # longer than the time for a request
    with pytest.raises(Unavailable, match="429") as failed:
        await faulty_store.batch("mentions", "t", [Upsert(item("a")), Upsert(item("b"))])
    assert failed.value.retry_after == 90.0


async def test_a_retry_still_has_its_conditions(faulty_store: CosmosStore, proxy: FaultyProxy) -> None:
    old = await faulty_store.create("mentions", item(n=1))
    await faulty_store.upsert("mentions", item(n=2))
    for operation in (Replace(item(n=3), old["_etag"]), Delete("a", old["_etag"])):
        proxy.script = [Fault.answer(429, retry_after_ms=1), Fault.answer(503), refused(429, retry_after_ms=1)]
        with pytest.raises((ChangedMeanwhile, Unavailable)) as failed:
            await faulty_store.batch("mentions", "t", [Upsert(item("b")), operation])
        # After the 503 nobody can tell whether it was the batch itself that changed the document.
        assert isinstance(failed.value, Unavailable)
        proxy.script = [Fault.answer(429, retry_after_ms=1), refused(429, retry_after_ms=1)]
        with pytest.raises(ChangedMeanwhile) as changed:
            await faulty_store.batch("mentions", "t", [Upsert(item("b")), operation])
        assert changed.value.operation == 1
    assert await stored(faulty_store) == {"a": 2}


LOST = pytest.mark.parametrize("lost", [CUT_AFTER, LOST_ANSWER], ids=["cut", "503"])


LOST_BATCHES: dict[str, Callable[[str], list[Operation]]] = {
    "replace": lambda etag: [Upsert(item("b", n=2)), Replace(item(n=2), etag)],
    "delete": lambda etag: [Delete("a", etag)],
    "create": lambda etag: [Create(item("b", n=2))],
}


@LOST
@pytest.mark.parametrize("operations", LOST_BATCHES.values(), ids=LOST_BATCHES)
async def test_a_batch_whose_response_is_lost_is_unavailable_and_no_conflict(
    faulty_store: CosmosStore, proxy: FaultyProxy, lost: Fault, operations: Callable[[str], list[Operation]]
) -> None:
    first = await faulty_store.create("mentions", item(n=1))
    proxy.script = [lost]
    with pytest.raises(Unavailable, match="it is unknown whether an earlier try"):
        await faulty_store.batch("mentions", "t", operations(first["_etag"]))
    assert await stored(faulty_store) != {"a": 1}, "it was done"
    with pytest.raises((Conflict, ChangedMeanwhile)):
        await faulty_store.batch("mentions", "t", operations(first["_etag"]))


@LOST
async def test_a_batch_of_upserts_whose_response_is_lost_is_done_again(
    faulty_store: CosmosStore, proxy: FaultyProxy, lost: Fault
) -> None:
    proxy.script = [lost]
    (etag,) = await faulty_store.batch("mentions", "t", [Upsert(item(n=1))])
    document = await faulty_store.read("mentions", "t", "a")
    assert document is not None
    assert (document["n"], document["_etag"]) == (1, etag)


@pytest.mark.parametrize(("status", "error"), [(503, Unavailable), (429, Conflict)])
async def test_only_a_try_that_surely_had_no_effect_leaves_a_conflict(
    faulty_store: CosmosStore,
    proxy: FaultyProxy,
    other: CosmosStore,
    status: int,
    error: type[Exception],
) -> None:
    proxy.script = [Fault(status, pause="before")]
    ours = asyncio.create_task(faulty_store.batch("mentions", "t", [Create(item("b")), Create(item("a", by="us"))]))
    await proxy.has_paused.wait()
    await other.create("mentions", item("a", by="them"))
    proxy.go_on.set()
    with pytest.raises(error):
        await ours
    assert (await stored(faulty_store)).keys() == {"a"}


async def test_a_create_conflicts_if_another_process_replaces_the_expired_document_first(
    faulty_store: CosmosStore, proxy: FaultyProxy, other: CosmosStore, clock: SettableClock
) -> None:
    await faulty_store.create("mentions", item(n=0, ttl_timestamp=clock.seconds() + 60))
    clock.forward(60)
    # The batch, the versions of its documents, the batch that replaces the expired one.
    proxy.script = [Fault(), Fault(), Fault(pause="before")]
    ours = asyncio.create_task(faulty_store.batch("mentions", "t", [Create(item(n=1)), Create(item("b", n=1))]))
    await proxy.has_paused.wait()
    await other.upsert("mentions", item(n=2))
    proxy.go_on.set()
    with pytest.raises(Conflict) as taken:
        await ours
    assert taken.value.operation == 0
    assert await stored(faulty_store) == {"a": 2}


async def test_an_expired_document_that_is_purged_meanwhile_is_created(
    faulty_store: CosmosStore, proxy: FaultyProxy, cosmos: CosmosServer, clock: SettableClock
) -> None:
    from azure.cosmos.aio import CosmosClient

    await faulty_store.create("mentions", item(n=0, ttl_timestamp=clock.seconds() + 60))
    clock.forward(60)
    proxy.script = [Fault(), Fault(), Fault(pause="before")]
    ours = asyncio.create_task(faulty_store.batch("mentions", "t", [Create(item(n=1))]))
    await proxy.has_paused.wait()
    async with CosmosClient(cosmos.endpoint, cosmos.key, enable_endpoint_discovery=False) as client:
        container = client.get_database_client(FAULTY_DATABASE).get_container_client("mentions")
        await container.delete_item("a", "t")
    proxy.go_on.set()
    assert len(await ours) == 1
    assert await stored(faulty_store) == {"a": 1}


@pytest.mark.parametrize("status", [400, 409, 412, 413, 500, 501])
async def test_a_batch_that_is_refused_as_a_whole_is_unavailable(
    faulty_store: CosmosStore, proxy: FaultyProxy, status: int
) -> None:
    proxy.script = [Fault.answer(status)]
    with pytest.raises(Unavailable, match=str(status)):
        await faulty_store.batch("mentions", "t", [Upsert(item())])
    assert len(proxy.item_requests) == 1


async def test_batches_are_sent_a_few_at_a_time(faulty_store: CosmosStore, proxy: FaultyProxy) -> None:
    proxy.always = Fault(pause="before")

    def batches(caller: int) -> list[tuple[str, list[Operation]]]:
        names = [f"{caller}-{n}" for n in range(PARALLEL + 4)]
        return [(name, [Create({"id": "a", "tool_id": name})]) for name in names]

    for callers, most in ((1, PARALLEL), (7, BULK_REQUESTS)):
        proxy.go_on.clear()
        calls = [asyncio.create_task(faulty_store.batch_many("mentions", batches(each))) for each in range(callers)]
        while proxy.requests < most:  # noqa: ASYNC110 - the proxy signals nothing
            await asyncio.sleep(0.01)
        proxy.go_on.set()
        await asyncio.gather(*calls)
        assert proxy.most_requests == most


async def test_one_batch_that_is_unavailable_ends_the_call(faulty_store: CosmosStore, proxy: FaultyProxy) -> None:
    proxy.script = [Fault.answer(500)]
    batches = [(f"{n}", [Create({"id": "a", "tool_id": f"{n}"})]) for n in range(40)]
    with pytest.raises(Unavailable, match="500"):
        await faulty_store.batch_many("mentions", batches)
    assert len(proxy.item_requests) <= 2 * PARALLEL
