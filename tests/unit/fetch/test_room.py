"""Bodies are held within one bound, and somebody may always go on."""

import asyncio

import pytest

from services.fetch.room import FREE_BYTES, STEP_BYTES, Place, Room

MEGABYTE = STEP_BYTES


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_small_bodies_take_nothing_and_never_wait() -> None:
    room = Room(0)
    with room.place() as place:
        await place.grow(FREE_BYTES)
        assert room.taken_bytes == 0


async def test_a_body_waits_for_room_until_another_is_gone() -> None:
    room = Room(3 * MEGABYTE)
    first, second = room.place(), room.place()
    await first.grow(FREE_BYTES + 2 * MEGABYTE)
    waiting = asyncio.create_task(second.grow(FREE_BYTES + 2 * MEGABYTE))
    await settle()
    assert not waiting.done()
    first.leave()
    await waiting
    assert room.taken_bytes == 2 * MEGABYTE
    second.leave()
    second.leave()
    assert (room.taken_bytes, second.granted_bytes) == (0, FREE_BYTES)


async def test_when_all_wait_the_one_that_has_been_at_it_longest_goes_on() -> None:
    room = Room(4 * MEGABYTE)
    most_held = 0
    through: list[int] = []

    async def body(number: int) -> None:
        nonlocal most_held
        with room.place() as place:
            for size in range(1, 11):
                await place.grow(size * MEGABYTE)
                most_held = max(most_held, room.taken_bytes)
                await asyncio.sleep(0)
        through.append(number)

    async with asyncio.timeout(5):
        await asyncio.gather(*(body(number) for number in range(20)))
    assert through[0] == 0
    assert sorted(through) == list(range(20))
    assert most_held <= (4 + 10) * MEGABYTE
    assert room.taken_bytes == 0


@pytest.mark.parametrize("held", [0, 1])
async def test_whoever_gives_up_waiting_holds_nobody_up(held: int) -> None:
    room = Room(2 * MEGABYTE)

    async def kept(place: Place) -> None:
        with place:
            await place.grow(FREE_BYTES + held * MEGABYTE)
            await place.grow(FREE_BYTES + 2 * MEGABYTE)

    first = room.place()
    await first.grow(FREE_BYTES + (2 - held) * MEGABYTE)
    giving_up = asyncio.create_task(kept(room.place()))
    await settle()
    giving_up.cancel()
    await asyncio.gather(giving_up, return_exceptions=True)
    assert room.taken_bytes == (2 - held) * MEGABYTE
    await first.grow(FREE_BYTES + 10 * MEGABYTE)
