"""What may be stale costs half on the wire, and bulk reads are few requests."""

from collections.abc import AsyncIterator

import pytest

from services.ports import Query
from services.store.cosmos import MANY, CosmosStore
from services.store.cosmos_connection import Counters
from tests.contract.conftest import SettableClock, ensured
from tests.contract.cosmos_server import CosmosServer
from tests.contract.limited_proxy import LimitedProxy, Spent

DATABASE = "limited"


@pytest.fixture
async def limited(cosmos: CosmosServer) -> AsyncIterator[LimitedProxy]:
    async with LimitedProxy(cosmos.endpoint).serving() as proxy:
        yield proxy


@pytest.fixture
async def store(limited: LimitedProxy, cosmos: CosmosServer, clock: SettableClock) -> AsyncIterator[CosmosStore]:
    patient = CosmosStore(cosmos.endpoint, DATABASE, clock, key=cosmos.key)
    await ensured(patient, cosmos.endpoint, DATABASE)
    for each in (await patient.query("signals", Query(limit=1000))).items:
        await patient.delete("signals", each["tool_id"], each["id"])
    await patient.close()
    store = CosmosStore(limited.endpoint, DATABASE, clock, key=cosmos.key, budget_seconds=5.0)
    await store.read("signals", "none", "none")
    limited.spent, store.counters["signals"] = Spent(), Counters()
    yield store
    await store.close()


def signal(name: str, at: int, **fields: object) -> dict[str, object]:
    return {"id": name, "tool_id": "t", "timestamp": f"2026-02-21T20:00:{at:02}Z", "text": "x" * 1500, **fields}


async def test_what_may_be_stale_costs_half(store: CosmosStore, limited: LimitedProxy) -> None:
    await store.upsert("signals", signal("one", 1))
    few = [("t", "one"), ("t", "two")]
    many = [("t", "one"), *(("t", f"{number}") for number in range(20))]
    spent = []
    for may_be_stale in (False, True):
        limited.spent = Spent()
        for keys in (few, many):
            found = await store.read_many("signals", keys, may_be_stale=may_be_stale)
            assert [each is not None for each in found] == [True, *[False] * (len(keys) - 1)]
        await store.query("signals", Query(order="by_time", may_be_stale=may_be_stale))
        assert await store.count("signals", may_be_stale=may_be_stale) == 1
        spent.append(limited.spent.total)
    assert spent[0] == pytest.approx(2 * spent[1])


async def test_many_documents_are_read_with_one_request(store: CosmosStore, limited: LimitedProxy) -> None:
    """Each as a single read returns it, in the order of the keys; also one that is named twice."""
    await store.write_many("signals", [{"id": "a", "tool_id": f"t-{n}", "n": n} for n in range(150)])
    limited.spent = Spent()
    keys = [(f"t-{n}", "a") for n in range(149, -1, -1)] + [("t-7", "a"), ("t-7", "b"), ("none", "a")]
    found = await store.read_many("signals", keys)
    assert [each and each["n"] for each in found] == [*range(149, -1, -1), 7, None, None]
    assert found[-3] == await store.read("signals", "t-7", "a")
    assert limited.spent.requests == {"signals query": 2, "signals read": 1}
    limited.spent = Spent()
    assert await store.read_many("signals", keys[:MANY]) == found[:MANY]
    assert await store.read_many("signals", keys[: MANY - 1]) == found[: MANY - 1]
    assert limited.spent.requests == {"signals query": 1, "signals read": MANY - 1}
    in_one_partition = [("t-1", name) for name in "abcdefghijklmnopq"]
    assert [each is not None for each in await store.read_many("signals", in_one_partition)] == [True] + [False] * 16
