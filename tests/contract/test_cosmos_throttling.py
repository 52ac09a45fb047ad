"""How CosmosStore works with a container that has few request units: it slows down instead of failing."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from models.errors import Unavailable
from services import deadline
from services.ports import Operation, Query, Upsert
from services.store.cosmos import CosmosStore
from services.store.cosmos_connection import PARALLEL
from tests.contract import limited_proxy
from tests.contract.conftest import SettableClock, ensured
from tests.contract.cosmos_server import CosmosServer
from tests.contract.faulty_proxy import Fault, FaultyProxy
from tests.contract.limited_proxy import LimitedProxy

DATABASE = "throttled"
LIMIT = 200.0

Workers = Callable[..., Awaitable[CosmosStore]]


@pytest.fixture
async def limited(cosmos: CosmosServer, clock: SettableClock) -> AsyncIterator[LimitedProxy]:
    store = CosmosStore(cosmos.endpoint, DATABASE, clock, key=cosmos.key)
    await ensured(store, cosmos.endpoint, DATABASE)
    await store.close()
    async with limited_proxy.running(cosmos.endpoint, LIMIT) as proxy:
        yield proxy


@pytest.fixture
async def worker(limited: LimitedProxy, cosmos: CosmosServer, clock: SettableClock) -> AsyncIterator[Workers]:
    """Opens the store of another worker. A request with all its retries may take as long as given, in seconds."""
    async with contextlib.AsyncExitStack() as opened:

        async def make(seconds: float) -> CosmosStore:
            store = CosmosStore(limited.endpoint, DATABASE, clock, key=cosmos.key, budget_seconds=seconds)
            opened.push_async_callback(store.close)
            await store.read("signals", "none", "none")
            return store

        yield make


def batches(writer: str, number: int) -> list[tuple[str, list[Operation]]]:
    """Each costs about 14 RU."""
    return [
        (f"{writer}-{n}", [Upsert({"id": each, "tool_id": f"{writer}-{n}", "n": n}) for each in "ab"])
        for n in range(number)
    ]


async def test_background_work_waits_for_units_far_longer_than_a_request_may_take(
    limited: LimitedProxy, worker: Workers
) -> None:
    """Two workers need 14 seconds of what the container gives. All are served. How often they are refused depends on
    the machine here; tests/unit/store/test_cosmos_pace.py counts it."""
    limited.limit = 50.0
    stores = [await worker(10.0) for _ in range(2)]
    with deadline.within(300):
        await asyncio.gather(*(each.batch_many("signals", batches(f"w{n}", 30)) for n, each in enumerate(stores)))
    assert limited.spent.requests["signals batch"] == 60
    assert limited.spent.total > 12 * limited.limit
    assert limited.spent.refused["signals"] > 0
    waited = [each.counters["signals"].waited_seconds for each in stores]
    assert min(waited) > 1


async def test_a_request_without_a_deadline_gives_up_soon(limited: LimitedProxy, worker: Workers) -> None:
    store = await worker(1.0)
    limited.limit = 20.0
    with pytest.raises(Unavailable):
        await store.batch_many("signals", batches("hurried", 30))


async def test_requests_of_people_go_first(limited: LimitedProxy, worker: Workers) -> None:
    """In the order of arrival, each would wait for dozens of batches."""
    store = await worker(60.0)

    async def background() -> None:
        with deadline.within(300):
            for turn in itertools.count():
                await store.batch_many("signals", batches(f"many-{turn}", 90))

    work = asyncio.create_task(background())
    while not limited.spent.refused["signals"]:  # noqa: ASYNC110 - the proxy has no event
        await asyncio.sleep(0.01)
    await asyncio.sleep(1.0)  # until the burst of the beginning is paid
    overtaken_by = []
    with deadline.within(60, in_background=False):
        for _ in range(8):
            before = limited.spent.requests["signals batch"]
            await store.read("signals", "many-1", "a")
            overtaken_by.append(limited.spent.requests["signals batch"] - before)
            await asyncio.sleep(0.05)
    work.cancel()
    await asyncio.wait([work])
    assert sorted(overtaken_by)[4] < PARALLEL


async def test_near_its_deadline_background_work_gives_up(limited: LimitedProxy, worker: Workers) -> None:
    store = await worker(1.0)
    limited.limit = 20.0
    with deadline.within(5), pytest.raises(Unavailable) as failed:
        await store.batch_many("signals", batches("late", 50))
    assert failed.value.retry_after


async def test_a_wait_does_not_use_up_the_time_for_an_answer(impatient_store: CosmosStore, proxy: FaultyProxy) -> None:
    """Three refusals take longer than the 1.5 s of a request."""
    proxy.script = [Fault.answer(429, 3200, retry_after_ms=600)] * 3
    with deadline.within(60):
        await impatient_store.query("mentions", Query())
    assert impatient_store.counters["mentions"].waited_seconds >= 1.8


async def test_an_outage_is_not_waited_for_until_the_deadline(impatient_store: CosmosStore, proxy: FaultyProxy) -> None:
    proxy.always = Fault.answer(503)
    with deadline.within(60):
        with pytest.raises(Unavailable, match="503"):
            await impatient_store.query("mentions", Query())
        assert deadline.remaining() > 30
