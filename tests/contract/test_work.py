"""The mechanism of services/work over a toy stage: whatever happens to messages and workers, each due item is worked on
until it is done or given up. On every store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from models.errors import ChangedMeanwhile, Unavailable
from models.run import WORKER_DIED
from models.values import format_time
from services import deadline
from services.ports import Document, Query, Store
from services.store.containers import STORIES
from services.work.announcing import PAGE, Announcer, Sweeper
from services.work.backlog import BacklogReader
from services.work.handling import Handled, Handler, Worked
from services.work.stage import FIRST_WAIT, LONGEST_WAIT, MAX_TRIES, Stage, Tries
from tests.builders import MemoryQueues
from tests.contract.conftest import SettableClock
from tests.failing_stores import Crash, mortal

DAY = "2026-02-21"
MINUTE = 60


TOYS = Stage(
    name="toys",
    queue="toys",
    container=STORIES.name,
    order="by_signals_due",
    due="signals_due_at",
    key="toy",
    named="toys",
    most=4,
    tries=Tries(address=lambda key: (DAY, f"toy:{key}")),
)


class World:
    """Workers on one store, which paint toys. `broken` toys cannot be painted, `deadly` ones kill the worker."""

    def __init__(self, store: Store, clock: SettableClock) -> None:
        self.store = store
        self.clock = clock
        self.queues = MemoryQueues()
        self.passed = 0.0
        self.sweeper = self.new_sweeper()
        self.broken: set[str] = set()
        self.deadly: set[str] = set()
        self.down = False

    def announcer(self) -> Announcer:
        return Announcer(self.queues, lambda: self.passed)

    def worker(self, store: Store | None = None, **options: Any) -> Handler:
        store = store or self.store

        async def paint(keys: Sequence[str], *, alone: bool) -> Worked:
            found = await store.read_many(STORIES.name, [TOYS.tries.address(key) for key in keys])  # type: ignore[union-attr]
            due, kill = TOYS.turns(found, self.clock(), alone=alone)
            if self.down:
                raise Unavailable("the paint shop does not answer")
            done, failed = 0, {}
            for each in due:
                if each["toy"] in self.deadly:
                    raise Crash
                if each["toy"] in self.broken:
                    failed[each["toy"]] = "it is broken"
                    continue
                after = {**each, "painted": each["painted"] + 1, "tries": 0}
                del after[TOYS.due]
                try:
                    await store.replace(STORIES.name, after, each["_etag"])
                except ChangedMeanwhile:
                    continue  # another worker has painted it
                done += 1
            return Worked(done, failed, kill=kill)

        return Handler(TOYS, paint, store, self.announcer(), self.clock, **options)

    async def add(self, *keys: str, due_in: timedelta = timedelta(0), tries: int = 0) -> None:
        at = format_time(self.clock() + due_in)
        toys = [
            {"id": f"toy:{key}", "day": DAY, "toy": key, "painted": 0, "tries": tries, TOYS.due: at} for key in keys
        ]
        await self.store.create_many(STORIES.name, toys)

    async def toy(self, key: str) -> Document:
        found = await self.store.read(STORIES.name, DAY, f"toy:{key}")
        assert found is not None
        return found

    async def painted(self, *keys: str) -> list[int]:
        return [(await self.toy(key))["painted"] for key in keys]

    def sent(self) -> list[list[str]]:
        return [TOYS.keys_of(each) for each in self.queues.sent.pop(TOYS.queue, [])]

    def new_sweeper(self) -> Sweeper:
        return Sweeper(self.store, self.queues, self.announcer(), self.clock)

    async def sweep(self, **how: bool) -> int:
        return await self.sweeper.sweep(TOYS, **how)

    async def delivered(self, keys: Sequence[str], worker: Handler | None = None) -> Handled | None:
        """Delivers a message as the queue does: up to five times, until a worker does not die. A worker that dies is
        replaced, and the clock goes on meanwhile."""
        for delivery in range(1, 6):
            try:
                return await (worker or self.worker()).handle(keys, delivery)
            except Crash:
                self.clock.forward(1)
        return None

    async def settle(self) -> None:
        """Ticks until nothing is due, for an hour at most."""
        for _ in range(60):
            for keys in self.sent():
                await self.delivered(keys)
            if not (await BacklogReader(self.store, TOYS).read()).pending:
                return
            self.clock.forward(MINUTE)
            await self.sweep()


@pytest.fixture
def world(store: Store, clock: SettableClock) -> World:
    return World(store, clock)


async def test_a_message_does_the_work_of_its_items_once_however_often_it_comes(world: World) -> None:
    await world.add("a", "b", "c")
    assert (await world.worker().handle(["a", "b", "b"])).done == 2
    for keys in (["b", "c"], ["a"], ["c", "a"], ["unknown"]):
        await world.worker().handle(keys)
    assert await world.painted("a", "b", "c") == [1, 1, 1]


async def test_an_invocation_is_one_run_and_one_that_finds_nothing_due_is_none(world: World) -> None:
    await world.add("a", "b")
    stage = replace(TOYS, workflow="generate_ideas")
    for _ in range(2):
        await Handler(stage, world.worker().work, world.store, world.announcer(), world.clock).handle(["a", "b"])
    (run,) = (await world.store.query("runs", Query(order="by_start"))).items
    assert (run["status"], run["progress"], len(run["attempts"])) == ("SUCCEEDED", 2, 1)


async def test_an_item_whose_message_was_lost_is_announced_after_a_minute(world: World) -> None:
    await world.add("a")
    assert await world.sweep() == 0
    world.clock.forward(MINUTE)
    assert await world.sweep() == 1
    assert world.sent() == [["a"]]
    assert await world.sweep() == 0  # its message is under way
    world.clock.forward(MINUTE + 1)
    assert await world.sweep() == 1  # that one was lost too


async def test_nothing_is_announced_again_whose_message_waits_in_the_queue(world: World) -> None:
    await world.add("a")
    world.clock.forward(5 * MINUTE)
    await world.add("b")
    world.queues.waiting_since[TOYS.queue] = world.clock()
    world.clock.forward(5 * MINUTE)
    assert await world.sweep() == 1
    assert world.sent() == [["a"]]
    world.clock.forward(5 * MINUTE)
    assert await world.sweep() == 0
    del world.queues.waiting_since[TOYS.queue]
    assert await world.sweep() == 2


async def test_a_worker_that_starts_announces_what_is_due_at_once_and_its_next_tick_does_not(world: World) -> None:
    await world.add("a")
    await world.add("later", due_in=timedelta(minutes=5))
    world.clock.forward(30)
    assert await world.sweep(at_start=True) == 1
    world.clock.forward(30)
    assert await world.sweep() == 0
    assert world.sent() == [["a"]]


async def test_workers_that_a_backlog_starts_do_not_announce_all_of_it_again(world: World) -> None:
    await world.add(*map(str, range(PAGE + 1)))
    world.clock.forward(2 * MINUTE)
    assert [await world.new_sweeper().sweep(TOYS, at_start=True) for _ in range(3)] == [PAGE] * 3
    assert [await world.sweep(at_start=True), await world.sweep(), await world.sweep()] == [PAGE, PAGE + 1, 0]


async def test_of_sweeps_at_once_one_announces(world: World) -> None:
    await world.add("a", "b")
    world.clock.forward(2 * MINUTE)
    assert sorted(await asyncio.gather(*(world.sweep() for _ in range(4)))) == [0, 0, 0, 2]


async def test_an_item_of_a_clock_that_was_ahead_is_due(world: World) -> None:
    await world.add("a", due_in=timedelta(days=400))
    assert await world.sweep() == 0
    assert await world.sweep(ahead=True) == 1
    await world.worker().handle(["a"])
    assert await world.painted("a") == [1]


async def test_an_item_that_is_not_due_yet_is_left(world: World) -> None:
    await world.add("a", due_in=LONGEST_WAIT, tries=1)
    assert await world.sweep(ahead=True) == 0
    await world.worker().handle(["a"], 3)
    assert await world.painted("a") == [0]


async def test_what_this_process_has_sent_and_nobody_got_is_not_sent_again(world: World) -> None:
    delayed = replace(TOYS, delay_seconds=1.0)
    announcer = world.announcer()
    assert await announcer.announce(delayed, ["a", "a", "b"]) == ["a", "b"]
    assert await announcer.announce(delayed, ["b", "c"]) == ["c"]
    world.passed += 1.0
    assert await announcer.announce(delayed, ["b"]) == ["b"]
    assert world.sent() == [["a", "b"], ["c"], ["b"]]


async def test_a_message_that_could_not_be_sent_is_not_taken_as_sent(world: World) -> None:
    delayed = replace(TOYS, delay_seconds=1.0)
    announcer = world.announcer()
    world.queues.down = True
    with pytest.raises(Unavailable):
        await announcer.announce(delayed, ["a"])
    world.queues.down = False
    assert await announcer.announce(delayed, ["a"]) == ["a"]


async def test_an_item_that_fails_is_tried_again_later_and_given_up_visibly(world: World) -> None:
    await world.add("a", "b")
    world.broken.add("a")
    handled = await world.worker().handle(["a", "b"])
    assert (handled.done, handled.failed) == (1, {"a": "it is broken"})
    assert world.sent() == [["a"]]
    toy = await world.toy("a")
    assert (toy["tries"], toy["error"], toy[TOYS.due]) == (1, "it is broken", format_time(world.clock() + FIRST_WAIT))
    for _ in range(MAX_TRIES - 1):
        world.clock.forward(int(LONGEST_WAIT.total_seconds()))
        await world.worker().handle(["a"])
    toy = await world.toy("a")
    assert (toy["tries"], toy.get(TOYS.due)) == (MAX_TRIES, None)
    await world.worker().handle(["a"])
    assert (await world.toy("a"))["tries"] == MAX_TRIES

    world.broken.clear()
    await world.store.replace(STORIES.name, TOYS.redriven(toy, world.clock()), toy["_etag"])
    await world.settle()
    assert await world.painted("a", "b") == [1, 1]


@pytest.mark.parametrize("deadly", ["a", "b", "d"])
async def test_an_item_that_kills_its_workers_is_given_up_and_the_others_are_done(world: World, deadly: str) -> None:
    await world.add("a", "b", "c", "d")
    world.deadly.add(deadly)
    await world.delivered(["a", "b", "c", "d"])
    await world.settle()
    others = sorted(set("abcd") - {deadly})
    assert await world.painted(*others) == [1, 1, 1]
    toy = await world.toy(deadly)
    assert (toy["painted"], toy["tries"], toy["error"]) == (0, MAX_TRIES, WORKER_DIED)
    assert TOYS.due not in toy


async def test_an_item_that_a_worker_alone_leaves_as_it_is_counts_no_death(world: World) -> None:
    async def leave(keys: Sequence[str], *, alone: bool) -> Worked:
        return Worked()

    await world.add("a")
    handler = Handler(TOYS, leave, world.store, world.announcer(), world.clock)
    for _ in range(MAX_TRIES + 1):
        await handler.handle(["a"], 3)
        world.clock.forward(MINUTE)
    toy = await world.toy("a")
    assert (toy["tries"], toy.get("error"), TOYS.is_due(toy, world.clock())) == (0, None, True)


async def test_an_outage_counts_as_no_failure(world: World) -> None:
    await world.add("a")
    world.down = True
    for delivery in range(1, 9):
        with pytest.raises(Unavailable):
            await world.worker().handle(["a"], delivery)
    world.down = False
    toy = await world.toy("a")
    assert (toy.get("tries", 0), toy.get("error")) == (0, None)
    await world.settle()
    assert await world.painted("a") == [1]


@pytest.mark.parametrize("delivery", [1, 3])
async def test_a_worker_that_dies_at_any_write_leaves_work_that_others_do(world: World, delivery: int) -> None:
    for writes in range(12):
        keys = [f"{key}{writes}" for key in "abc"]
        await world.add(*keys)
        world.broken = {keys[2]}
        try:
            await world.worker(mortal(world.store, writes)).handle(keys, delivery)
        except Crash:
            world.clock.forward(MINUTE)
            assert await world.new_sweeper().sweep(TOYS, at_start=True) > 0 or (await world.toy(keys[2]))["tries"]
        world.broken = set()
        await world.settle()
        assert await world.painted(*keys) == [1, 1, 1]


async def test_workers_that_get_the_same_messages_do_everything_once(
    world: World, another: Callable[[], Store]
) -> None:
    keys = [f"toy{number}" for number in range(12)]
    await world.add(*keys)
    other = another()
    await asyncio.gather(
        *(world.worker(store).handle(some, delivery) for store in (world.store, other) for some in (keys, keys[::-1])
          for delivery in (1, 3))
    )  # fmt: skip
    await world.settle()
    assert await world.painted(*keys) == [1] * len(keys)


async def test_what_has_no_turn_before_the_deadline_is_announced_again(world: World) -> None:
    await world.add("a", "b")
    passed = 0.0
    with deadline.within(100, clock=lambda: passed):
        passed = 90.0
        handled = await world.worker().handle(["a", "b"])
    assert (handled.done, handled.left) == (0, ["a", "b"])
    assert world.sent() == [["a", "b"]]


async def test_a_message_that_waits_for_a_busy_service_until_the_deadline_is_sent_in_halves(world: World) -> None:
    await world.add("a", "b", "c", "d")
    passed = 0.0

    async def slow(keys: Sequence[str], *, alone: bool) -> Worked:
        nonlocal passed
        passed = 90.0
        raise Unavailable("busy")

    worker = Handler(TOYS, slow, world.store, world.announcer(), world.clock)
    with deadline.within(100, clock=lambda: passed):
        handled = await worker.handle(["a", "b", "c", "d"])
    assert handled.left == ["a", "b", "c", "d"]
    assert world.sent() == [["a", "b"], ["c", "d"]]


async def test_an_unforeseen_error_is_the_failure_of_one_item(world: World) -> None:
    await world.add("a", "b", "c")

    async def strict(keys: Sequence[str], *, alone: bool) -> Worked:
        if "b" in keys:
            raise KeyError("colour")
        return Worked(done=len(keys))

    handled = await Handler(TOYS, strict, world.store, world.announcer(), world.clock).handle(["a", "b", "c"])
    assert (handled.done, handled.failed) == (2, {"b": "KeyError"})
    assert (await world.toy("b"))["error"] == "KeyError"


async def test_a_worker_works_on_a_few_portions_at_once(world: World) -> None:
    under_way: list[int] = []
    most = 0

    async def slow(keys: Sequence[str], *, alone: bool) -> Worked:
        nonlocal most
        under_way.append(len(keys))
        most = max(most, len(under_way))
        await asyncio.sleep(0.01)
        under_way.pop()
        return Worked(done=len(keys))

    worker = Handler(TOYS, slow, world.store, world.announcer(), world.clock, portion=2, at_once=3)
    handled = await asyncio.gather(*(worker.handle(["a", "b", "c"]) for _ in range(5)))
    assert (most, [each.done for each in handled]) == (3, [3] * 5)


async def test_the_backlog_has_what_is_due_and_since_when(world: World) -> None:
    assert (await BacklogReader(world.store, TOYS).read()).pending == 0
    await world.add("a")
    world.clock.forward(90)
    await world.add("b")
    found = await BacklogReader(world.store, TOYS).read()
    assert (found.pending, found.oldest_seconds(world.clock())) == (2, 90)
