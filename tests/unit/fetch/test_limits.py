"""Limits of requests and of bytes: requests to one host, bodies in memory, bodies parsed."""

from __future__ import annotations

import asyncio

import pytest

from services.fetch.limits import (
    FREE_BYTES,
    MAX_BODY_BYTES,
    MAX_PARSED_BYTES,
    MIN_PARSED_BYTES,
    POLITE_PER_HOST,
    STEP_BYTES,
    BodyBudget,
    BodyReservation,
    HostLimits,
    ParsingBudget,
)

MEGABYTE = STEP_BYTES


async def other_tasks_ran() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def in_flight(limits: HostLimits, *hosts: str) -> list[int]:
    """Which of these requests, begun in this order, have a slot."""
    have: list[int] = []

    async def request(number: int, host: str) -> None:
        async with limits.slot(host):
            have.append(number)
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(request(number, host)) for number, host in enumerate(hosts)]
    await other_tasks_ran()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return have


async def test_requests_that_wait_for_their_host_take_no_slot_from_other_hosts() -> None:
    limits = HostLimits(overall=4, per_host=2)
    assert await in_flight(limits, "a", "a", "a", "a", "b", "c", "c") == [0, 1, 4, 5]
    assert await in_flight(limits, "a", "a", "a") == [0, 1], "cancelled requests give their slots back"


async def test_without_a_limit_for_hosts_this_machine_has_none_and_others_are_spared() -> None:
    assert POLITE_PER_HOST == 2
    here, there = ["127.0.0.1:8080"] * 4, ["a.example:443"] * 3
    assert await in_flight(HostLimits(overall=3, per_host=0), *here) == [0, 1, 2]
    assert await in_flight(HostLimits(overall=9, per_host=0), *here, *there) == [0, 1, 2, 3, 4, 5]
    assert await in_flight(HostLimits(overall=9, per_host=1), *here, "[::1]:80", "::1:80") == [0, 4, 5]
    assert await in_flight(HostLimits(overall=9, per_host=0), *["::1:80"] * 4, *["localhost:80"] * 3) == [*range(7)]


async def test_small_bodies_take_nothing_and_never_wait() -> None:
    budget = BodyBudget(0)
    with budget.reservation() as reservation:
        await reservation.grow(FREE_BYTES)
        assert budget.reserved_bytes == 0


async def test_a_body_takes_its_bytes_in_whole_steps_beyond_those_that_are_free() -> None:
    budget = BodyBudget()
    with budget.reservation() as reservation:
        await reservation.grow(FREE_BYTES + 1)
        assert (budget.reserved_bytes, reservation.granted_bytes) == (STEP_BYTES, FREE_BYTES + STEP_BYTES)
        await reservation.grow(FREE_BYTES + STEP_BYTES)
        assert budget.reserved_bytes == STEP_BYTES
        await reservation.grow(FREE_BYTES + STEP_BYTES + 1)
        assert budget.reserved_bytes == 2 * STEP_BYTES
    assert budget.reserved_bytes == 0


async def test_a_body_waits_until_another_is_gone() -> None:
    budget = BodyBudget(3 * MEGABYTE)
    first, second = BodyReservation(budget), BodyReservation(budget)
    await first.grow(FREE_BYTES + 2 * MEGABYTE)
    waiting = asyncio.create_task(second.grow(FREE_BYTES + 2 * MEGABYTE))
    await other_tasks_ran()
    assert not waiting.done()
    first.release()
    await waiting
    assert budget.reserved_bytes == 2 * MEGABYTE
    second.release()
    second.release()
    assert (budget.reserved_bytes, second.granted_bytes) == (0, FREE_BYTES)


async def test_when_all_bodies_wait_the_one_that_began_first_goes_on() -> None:
    budget = BodyBudget(4 * MEGABYTE)
    most_taken = 0
    done: list[int] = []

    async def body(number: int) -> None:
        nonlocal most_taken
        with budget.reservation() as reservation:
            for size in range(1, 11):
                await reservation.grow(size * MEGABYTE)
                most_taken = max(most_taken, budget.reserved_bytes)
                await asyncio.sleep(0)
        done.append(number)

    async with asyncio.timeout(300):
        await asyncio.gather(*(body(number) for number in range(20)))
    assert done[0] == 0
    assert sorted(done) == list(range(20))
    assert most_taken <= (4 + 10) * MEGABYTE
    assert budget.reserved_bytes == 0


@pytest.mark.parametrize("taken", [0, 1])
async def test_a_body_that_gives_up_waiting_blocks_no_other(taken: int) -> None:
    budget = BodyBudget(2 * MEGABYTE)

    async def body() -> None:
        with budget.reservation() as reservation:
            await reservation.grow(FREE_BYTES + taken * MEGABYTE)
            await reservation.grow(FREE_BYTES + 2 * MEGABYTE)

    first = BodyReservation(budget)
    await first.grow(FREE_BYTES + (2 - taken) * MEGABYTE)
    giving_up = asyncio.create_task(body())
    await other_tasks_ran()
    giving_up.cancel()
    await asyncio.gather(giving_up, return_exceptions=True)
    assert budget.reserved_bytes == (2 - taken) * MEGABYTE
    await first.grow(FREE_BYTES + 10 * MEGABYTE)


class Bodies:
    """Bodies that are parsed within a budget, by their size, each until it is done."""

    def __init__(self, budget: ParsingBudget) -> None:
        self._budget = budget
        self._done: dict[int, asyncio.Event] = {}
        self._begun: dict[int, asyncio.Event] = {}
        self.parsed: list[int] = []

    async def arrives(self, size: int) -> asyncio.Task[None]:
        self._done[size], self._begun[size] = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(self._parse(size))
        await other_tasks_ran()
        return task

    async def is_done(self, size: int) -> None:
        self._done[size].set()
        await other_tasks_ran()

    async def begins(self, size: int) -> None:
        async with asyncio.timeout(300):
            await self._begun[size].wait()

    async def _parse(self, size: int) -> None:
        async with self._budget.reserve(size):
            self.parsed.append(size)
            self._begun[size].set()
            await self._done[size].wait()
        self.parsed.remove(size)


async def test_as_many_bodies_are_parsed_at_once_as_the_budget_has_bytes() -> None:
    bodies = Bodies(ParsingBudget(10 * MIN_PARSED_BYTES))
    for size in (6 * MIN_PARSED_BYTES, 1, 2, 3, 4):
        await bodies.arrives(size)
    assert bodies.parsed == [6 * MIN_PARSED_BYTES, 1, 2, 3, 4]
    await bodies.arrives(5)
    assert 5 not in bodies.parsed


async def test_bodies_that_had_to_wait_begin_together_once_most_of_the_budget_is_free() -> None:
    bodies = Bodies(ParsingBudget(4 * MIN_PARSED_BYTES, batch_seconds=60))
    for size in range(1, 9):
        await bodies.arrives(size)
    await bodies.is_done(1)
    await bodies.is_done(2)
    assert bodies.parsed == [3, 4]
    await bodies.is_done(3)
    assert bodies.parsed == [4, 5, 6, 7]


async def test_large_bodies_are_parsed_one_at_a_time_and_keep_no_small_one_waiting() -> None:
    bodies = Bodies(ParsingBudget(10 * MIN_PARSED_BYTES))
    large, larger = 11 * MIN_PARSED_BYTES, 99 * MIN_PARSED_BYTES
    for size in (1, large, larger, 2):
        await bodies.arrives(size)
    assert bodies.parsed == [1, large, 2]
    await bodies.is_done(large)
    assert bodies.parsed == [1, 2, larger]


async def test_a_large_body_that_gives_up_waiting_blocks_no_other() -> None:
    bodies = Bodies(ParsingBudget(MIN_PARSED_BYTES))
    first, second, third = (MIN_PARSED_BYTES + number for number in (1, 2, 3))
    await bodies.arrives(first)
    waiting = await bodies.arrives(second)
    await bodies.arrives(third)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await bodies.is_done(first)
    assert bodies.parsed == [third]


def test_the_limits() -> None:
    assert (MAX_BODY_BYTES, MAX_PARSED_BYTES) == (16_000_000, 1_500_000)
