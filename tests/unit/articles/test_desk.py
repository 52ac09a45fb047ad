"""What came is read as far as there is room, in the order in which it came."""

import asyncio

from services.articles.desk import LEAST_BYTES, Desk


class Visitors:
    """Those who are at a desk, by their size, each until it is told to go."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._goes: dict[int, asyncio.Event] = {}
        self._came: dict[int, asyncio.Event] = {}
        self.there: list[int] = []

    async def come(self, size: int) -> asyncio.Task[None]:
        self._goes[size], self._came[size] = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(self._visit(size))
        await self._settled()
        return task

    async def leaves(self, size: int) -> None:
        self._goes[size].set()
        await self._settled()

    async def comes_in(self, size: int) -> None:
        async with asyncio.timeout(5):
            await self._came[size].wait()

    async def _visit(self, size: int) -> None:
        async with self._desk.place(size):
            self.there.append(size)
            self._came[size].set()
            await self._goes[size].wait()
        self.there.remove(size)

    async def _settled(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


async def test_as_many_are_read_at_once_as_there_is_room_for() -> None:
    visitors = Visitors(Desk(10 * LEAST_BYTES))
    for size in (6 * LEAST_BYTES, 1, 2, 3, 4):
        await visitors.come(size)
    assert visitors.there == [6 * LEAST_BYTES, 1, 2, 3, 4]
    await visitors.come(5)
    assert 5 not in visitors.there


async def test_those_who_had_to_wait_begin_together_once_most_have_left() -> None:
    visitors = Visitors(Desk(4 * LEAST_BYTES, room_seconds=60))
    for size in range(1, 9):
        await visitors.come(size)
    await visitors.leaves(1)
    await visitors.leaves(2)
    assert visitors.there == [3, 4]
    await visitors.leaves(3)
    assert visitors.there == [4, 5, 6, 7]


async def test_one_who_is_slow_to_leave_keeps_nobody_waiting_for_whom_there_is_room() -> None:
    visitors = Visitors(Desk(4 * LEAST_BYTES, room_seconds=0.01))
    for size in range(1, 6):
        await visitors.come(size)
    await visitors.leaves(1)
    assert 5 not in visitors.there
    await visitors.comes_in(5)
    assert visitors.there == [2, 3, 4, 5]


async def test_however_long_it_takes_nobody_comes_in_for_whom_there_is_no_room() -> None:
    visitors = Visitors(Desk(4 * LEAST_BYTES, room_seconds=0.01))
    for size in range(1, 6):
        await visitors.come(size)
    await asyncio.sleep(0.05)
    assert visitors.there == [1, 2, 3, 4]
    await visitors.leaves(1)
    assert visitors.there == [2, 3, 4, 5]


async def test_a_large_one_gets_its_turn_before_small_ones_that_came_later_and_has_the_desk_alone() -> None:
    visitors = Visitors(Desk(10 * LEAST_BYTES))
    await visitors.come(1)
    await visitors.come(99 * LEAST_BYTES)
    await visitors.come(2)
    assert visitors.there == [1]
    await visitors.leaves(1)
    assert visitors.there == [99 * LEAST_BYTES]
    await visitors.leaves(99 * LEAST_BYTES)
    assert visitors.there == [2]


async def test_whoever_leaves_the_queue_holds_nobody_up() -> None:
    visitors = Visitors(Desk(10 * LEAST_BYTES))
    await visitors.come(1)
    large = await visitors.come(10 * LEAST_BYTES)
    await visitors.come(2)
    large.cancel()
    await asyncio.gather(large, return_exceptions=True)
    await visitors.come(3)
    assert visitors.there == [1, 2, 3]
