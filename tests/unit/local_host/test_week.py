"""A week of the host on a virtual clock: timers fire at the right instants, and nothing grows with time."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scripts.local_host.data import DataFolder
from scripts.local_host.functions import Function
from scripts.local_host.invoke import Outcome
from scripts.local_host.queues import Queues
from scripts.local_host.schedule import parse_schedule
from scripts.local_host.timers import Timer, TimerRecords

BEGIN = datetime(2026, 2, 21, tzinfo=UTC)
DAY, WEEK = timedelta(days=1), timedelta(days=7)
SCHEDULES = {"often": "0 * * * * *", "quarter": "0 */15 * * * *", "upkeep": "0 */5 * * * *", "daily": "0 20 3 * * *"}


class Stopped(Exception):
    pass


class Time:
    """Goes on only when everybody sleeps, to the next one who wakes up."""

    def __init__(self) -> None:
        self.now = BEGIN
        self._sleeping: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def seconds(self) -> float:
        return self.now.timestamp()

    async def sleep(self, seconds: float) -> None:
        wakes: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleeping, (self.now + timedelta(seconds=seconds), next(self._numbers), wakes))
        await wakes

    async def pass_until(self, end: datetime) -> None:
        await self._settle()
        while self._sleeping and self._sleeping[0][0] <= end:
            self.now, _, wakes = heapq.heappop(self._sleeping)
            if not wakes.cancelled():
                wakes.set_result(None)
                await self._settle()
        self.now = end

    async def _settle(self) -> None:
        # A timer that wakes up runs its function in two tasks, then sleeps again.
        for _ in range(8):
            await asyncio.sleep(0)


class Host:
    """The timers and queues of a host in one data folder. Each run of `quarter` sends three messages, which are
    worked on at once; one of `daily` sends one that nobody takes."""

    def __init__(self, path: Path, time: Time) -> None:
        self.fired: dict[str, list[datetime]] = defaultdict(list)
        self._path, self._time = path, time

    @contextmanager
    def running(self) -> Iterator[None]:
        folder = DataFolder(self._path)
        self._queues = Queues(folder, self._time.seconds, lambda *_: None)
        self._queues.recover()
        for queue in ("work", "left"):
            self._queues.create(queue)
        records = TimerRecords(folder)
        loops = [
            asyncio.create_task(
                Timer(_function(name), records, cast(Any, self), lambda: self._time.now, self._time.sleep).run()
            )
            for name in SCHEDULES
        ]
        try:
            yield
        finally:
            for loop in loops:
                loop.cancel()
            folder.close()

    def start(self, function: Function, *_: object) -> asyncio.Task[Outcome]:
        async def run() -> Outcome:
            self.fired[function.name].append(self._time.now)
            if function.name == "quarter":
                self._queues.send([("work", f"message {n}") for n in range(3)])
                for message in self._queues.take("work", 16, 600, hold=True):
                    self._queues.done(message)
            elif function.name == "daily":
                self._queues.send([("left", "nobody takes it")])
            return Outcome("")

        return asyncio.create_task(run())

    def left(self) -> int:
        return self._queues.count("left")

    def size(self) -> int:
        return sum(path.stat().st_size for path in self._path.glob("host.sqlite*"))


def _function(name: str) -> Function:
    schedule = parse_schedule(SCHEDULES[name])
    found = SimpleNamespace(name=name, schedule=schedule, monitored=name != "often", run_on_startup=False)
    return cast(Function, found)


@pytest.mark.slow
async def test_a_week_of_timers_and_queues(tmp_path: Path) -> None:
    time = Time()
    host = Host(tmp_path, time)
    with host.running():
        await time.pass_until(BEGIN + DAY)
        tasks, size = len(asyncio.all_tasks()), host.size()
        await time.pass_until(BEGIN + WEEK)
        assert len(asyncio.all_tasks()) == tasks
        assert host.size() <= size * 1.1
        assert host.left() == 7
    steps = {"often": timedelta(minutes=1), "quarter": timedelta(minutes=15), "upkeep": timedelta(minutes=5)}
    for name, step in steps.items():
        assert host.fired[name] == [BEGIN + n * step for n in range(1, WEEK // step + 1)]
    assert host.fired["daily"] == [BEGIN + timedelta(days=n, hours=3, minutes=20) for n in range(7)]


async def test_a_host_that_was_down_makes_up_each_timer_once_and_keeps_to_the_schedule(tmp_path: Path) -> None:
    time = Time()
    host = Host(tmp_path, time)
    for day in range(9):
        # Up for two hours, down for 22, over the time of the daily timer.
        with host.running():
            await time.pass_until(BEGIN + day * DAY + timedelta(hours=2))
        time.now = BEGIN + (day + 1) * DAY
    with host.running():
        await time.pass_until(time.now)
        # The messages of the first days have lived for a week.
        assert host.left() == 7
    made_up = [BEGIN + n * DAY for n in range(1, 10)]
    assert host.fired["daily"] == made_up
    assert set(made_up) < set(host.fired["quarter"])
    assert len(host.fired["quarter"]) == 9 * 8 + len(made_up)
