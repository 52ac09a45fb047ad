"""How requests to a container with few request units slow down instead of failing. The clock of the loop does not wait;
tests/contract/test_cosmos_faults.py has the answers of a service over the wire."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest
from azure.core.exceptions import ServiceRequestError
from azure.cosmos.exceptions import CosmosHttpResponseError

from models.errors import Unavailable
from services import deadline
from services.store.cosmos_connection import PARALLEL, Connection, Counters
from tests.builders import now_of_loop, on_a_clock_of_its_own

CONTAINER = "signals"
UNITS = 14.0
SECONDS = 0.01


def failure(status: int, wait_ms: int | None = None) -> CosmosHttpResponseError:
    error: CosmosHttpResponseError = CosmosHttpResponseError(status, "not now")  # type: ignore[no-untyped-call]
    error.headers = {} if wait_ms is None else {"x-ms-retry-after-ms": str(wait_ms)}
    return error


class Service:
    """A container that gives `limit` RU a second, to requests that cost UNITS and take SECONDS each; at first it has so
    many `left`. `status` is an answer to all of them."""

    def __init__(self, limit: float, *, left: float | None = None, status: int = 0) -> None:
        self.limit = limit
        self.status = status
        self.served = self.refused = 0
        self._left, self._at = limit if left is None else left, now_of_loop()

    def worker(self, seconds: float) -> Worker:
        """A request with all its retries may take so many seconds."""
        return Worker(self, Connection("http://127.0.0.1:9", "none", "a2V5", seconds))

    async def respond(self) -> None:
        await asyncio.sleep(SECONDS)
        if self.status:
            raise failure(self.status)
        now = now_of_loop()
        self._left, self._at = min(self.limit, self._left + self.limit * (now - self._at)), now
        if self._left <= 0:
            self.refused += 1
            raise failure(429, wait_ms=5 + int(1000 * -self._left / self.limit))
        self._left -= UNITS
        self.served += 1


class NotedCounters(Counters):
    """Notes what is added to."""

    def __init__(self, container: str) -> None:
        super().__init__(container)
        self.noted: list[str] = []

    def add(self, counter: str, amount: float = 1) -> None:
        self.noted.append(counter)


class Worker:
    def __init__(self, service: Service, connection: Connection) -> None:
        self.service = service
        self.connection = connection

    @property
    def waited_seconds(self) -> float:
        return self.connection.counters[CONTAINER].waited_seconds

    async def ask(self, _: int = 0) -> None:
        async def call() -> None:
            await self.service.respond()
            self.note_response()

        await self.connection.request_account(call, container=CONTAINER)

    def note_response(self) -> None:
        url = f"http://127.0.0.1:9/dbs/none/colls/{CONTAINER}/docs"
        request = SimpleNamespace(method="GET", headers={}, url=url)
        answer = SimpleNamespace(status_code=200, headers={"x-ms-request-charge": str(UNITS)})
        self.connection._count(SimpleNamespace(http_request=request, http_response=answer))

    async def ask_often(self, times: int) -> None:
        await self.connection.in_parallel(self.ask, range(times))


@on_a_clock_of_its_own
async def test_background_work_waits_for_units_far_longer_than_a_request_may_take() -> None:
    """Two workers need 17 seconds of what the container gives. All are served."""
    service = Service(50.0)
    workers = [service.worker(10.0) for _ in range(2)]
    with deadline.within(300, clock=now_of_loop):
        await asyncio.gather(*(each.ask_often(30) for each in workers))
    assert service.served == 60
    assert 0 < service.refused < 150, "over a thousand without a pace"
    assert now_of_loop() > 15
    assert min(each.waited_seconds for each in workers) > 10


@on_a_clock_of_its_own
async def test_a_request_without_a_deadline_gives_up_soon() -> None:
    with pytest.raises(Unavailable):
        await Service(20.0).worker(1.0).ask_often(30)
    assert now_of_loop() < 2


@on_a_clock_of_its_own
async def test_a_request_that_need_not_wait_counts_no_wait() -> None:
    """In real time even entering the turn takes microseconds, which would be a metric of each container."""
    worker = Service(50.0).worker(10.0)
    counters = NotedCounters(CONTAINER)
    worker.connection.counters[CONTAINER] = counters
    with deadline.within(300, clock=now_of_loop):
        await worker.ask()
    assert counters.noted == ["operations", "request_units"]


@on_a_clock_of_its_own
async def test_requests_of_people_go_first() -> None:
    """In the order of arrival, each would wait for dozens of others."""
    service = Service(200.0)
    worker = service.worker(60.0)

    async def background() -> None:
        with deadline.within(300, clock=now_of_loop):
            for _ in itertools.count():
                await worker.ask_often(90)

    work = asyncio.create_task(background())
    await asyncio.sleep(3)  # the burst of the beginning is paid by then
    assert service.refused
    overtaken_by = []
    with deadline.within(60, in_background=False, clock=now_of_loop):
        for _ in range(8):
            before = service.served
            await worker.ask()
            overtaken_by.append(service.served - before - 1)
            await asyncio.sleep(0.05)
    work.cancel()
    await asyncio.wait([work])
    assert sorted(overtaken_by)[4] < PARALLEL


@on_a_clock_of_its_own
async def test_near_its_deadline_background_work_gives_up() -> None:
    with deadline.within(5, clock=now_of_loop), pytest.raises(Unavailable) as failed:
        await Service(20.0).worker(1.0).ask_often(50)
    assert failed.value.retry_after
    assert 3 < now_of_loop() < 5


@on_a_clock_of_its_own
async def test_a_wait_does_not_use_up_the_time_for_an_answer() -> None:
    service = Service(10.0, left=-25.0)
    worker = service.worker(1.5)
    with deadline.within(60, clock=now_of_loop):
        await worker.ask()
    assert (service.refused, service.served) == (1, 1)
    assert worker.waited_seconds > 2.4


@on_a_clock_of_its_own
async def test_an_outage_is_not_waited_for_until_the_deadline() -> None:
    with deadline.within(60, clock=now_of_loop), pytest.raises(Unavailable, match="503"):
        await Service(200.0, status=503).worker(1.5).ask()
    assert now_of_loop() < 2


async def swallowed() -> None:
    await asyncio.Event().wait()


async def refused() -> None:
    raise ServiceRequestError("connection refused")


@pytest.mark.parametrize("call", [swallowed, refused])
@on_a_clock_of_its_own
async def test_a_person_waits_four_seconds_for_an_account_that_cannot_be_reached_and_then_not_at_all(
    call: Callable[[], Awaitable[None]],
) -> None:
    connection = Service(200.0).worker(20.0).connection
    waits, reasons = [], set()
    for pause in (0.0, 0.0, 0.5, 1.5):
        await asyncio.sleep(pause)
        began = now_of_loop()
        with deadline.within(60, in_background=False), pytest.raises(Unavailable) as failed:
            await connection.request_account(call, container=CONTAINER)
        waits.append(now_of_loop() - began)
        reasons.add(str(failed.value))
    assert max(waits[0], waits[3]) < 4.1
    assert min(waits[0], waits[3]) > 1
    assert (waits[1:3], len(reasons)) == ([0.0, 0.0], 1)


@on_a_clock_of_its_own
async def test_a_person_waits_for_an_account_that_answers_slowly_or_with_errors() -> None:
    worker = Service(200.0).worker(20.0)

    async def four_pages() -> None:
        for _ in range(4):
            await asyncio.sleep(3)
            worker.note_response()

    with deadline.within(60, in_background=False):
        await worker.connection.request_account(four_pages, container=CONTAINER)
    assert now_of_loop() == pytest.approx(12)
    with deadline.within(60, in_background=False), pytest.raises(Unavailable, match="503"):
        await Service(200.0, status=503).worker(20.0).ask()
    assert now_of_loop() > 12 + 15
