"""The request units of each second of an hour: the average, the busiest seconds, and which functions made them.

    python -m benchmarks.hour [--feeds 1000] [--tools 200] [--quiet]

Runs the functions of the app as the Functions host does, second by second, with the timers and the delays of messages.
What an invocation costs counts in the second in which it begins, which is the worst case. With --quiet, feeds bring
nothing new; otherwise each has ten new entries a day, of which half name a tool.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import itertools
import math
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import budgets
from benchmarks.walk import message
from services.topology import QUEUES, REANALYSIS_COMPLETED, TIMERS
from tests.builders import MemoryQueues
from tests.functional.articles.world import Item

ENTRIES, NEW_A_DAY = 20, 10
HOUR = 3600
SHOWN = 5
FUNCTIONS = {queue: queue.replace("-", "_") for queue in QUEUES} | {REANALYSIS_COMPLETED: "invalidate_tool_cache"}
"""The function of each queue."""


Units = dict[int, dict[str, float]]
"""Request units of each second, by function."""


class Delayed(MemoryQueues):
    """Queues that deliver each message at its time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.waiting: list[tuple[int, int, str, str]] = []
        self._numbers = itertools.count()

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        for text in messages:
            heapq.heappush(self.waiting, (self.now + math.ceil(delay_seconds), next(self._numbers), name, text))

    async def oldest(self, name: str) -> datetime | None:
        times = [at for at, _, queue, _ in self.waiting if queue == name and at <= self.now]
        return datetime.fromtimestamp(min(times), UTC) if times else None


class Hour:
    """The app of one worker, and the request units of each second by function."""

    def __init__(self, bench: budgets.Bench, queues: Delayed, *, news: bool) -> None:
        self.bench, self.queues, self.news = bench, queues, news
        self.units: Units = defaultdict(lambda: defaultdict(float))
        self._entries: dict[str, list[Item]] = {}
        self._random = random.Random(1)

    async def fill(self, feeds: int, tools: int) -> None:
        bench = self.bench
        bench.tools = tools
        for name in (f"feed-{number}" for number in range(feeds)):
            self._entries[name] = bench.items(ENTRIES // 4)
            bench.publish(name, self._entries[name])
            await bench.answer("add_feed", "POST", "feeds", {"url": budgets.feed_url(name), "source_name": name})
        for number in range(tools):
            await bench.answer("add_tool", "POST", "tools", {"name": f"Widget{number}x"})
        while self.queues.waiting:
            await self._second()
        while self.bench.clock.now.timestamp() % HOUR != HOUR - 1:
            bench.clock.forward(seconds=1)

    async def run(self, seconds: int) -> None:
        for _ in range(seconds):
            if self.news and self._random.random() < len(self._entries) * NEW_A_DAY / 86400:
                self._publish(self._random.choice(list(self._entries)))
            await self._second(with_timers=True)

    def _publish(self, name: str) -> None:
        new = self.bench.items(1, self._random.randrange(2))
        self._entries[name] = [*new, *self._entries[name]][:ENTRIES]
        self.bench.publish(name, self._entries[name])

    async def _second(self, *, with_timers: bool = False) -> None:
        self.bench.clock.forward(seconds=1)
        self.queues.now = now = int(self.bench.clock.now.timestamp())
        for timer in TIMERS if with_timers else ():
            if now % int(timer.every.total_seconds()) == int(
                timer.schedule.split()[0].partition("/")[0].strip("*") or 0
            ):
                await self._invoke(timer.name, timer_request=None)
        while self.queues.waiting and self.queues.waiting[0][0] <= now:
            _, _, queue, text = heapq.heappop(self.queues.waiting)
            await self._invoke(FUNCTIONS[queue], message=message(text))

    async def _invoke(self, function: str, **given: Any) -> None:
        operations = self.bench.store.operations
        operations.clear()
        await self.bench.call(function, **given)
        self.units[self.queues.now][function] += sum(each.units for each in operations)


async def measured(options: argparse.Namespace, folder: Path) -> Units:
    queues = Delayed()
    async with budgets.benched(folder, queues, with_calls=False) as bench:
        hour = Hour(bench, queues, news=not options.quiet)
        await hour.fill(options.feeds, options.tools)
        await hour.run(2 * HOUR)
        hour.units.clear()
        await hour.run(HOUR)
        return hour.units


def show(units: Units) -> None:
    by_second = {second: sum(each.values()) for second, each in units.items()}
    busiest = sorted(by_second, key=by_second.__getitem__, reverse=True)
    average, peak = sum(by_second.values()) / HOUR, by_second[busiest[0]]
    print(f"average {average:.1f} RU/s, busiest second {peak:.0f}: {peak / average:.1f} times the average")
    print(f"seconds above three times the average: {sum(each > 3 * average for each in by_second.values())}")
    for function in sorted({name for each in units.values() for name in each}):
        spent = [each[function] for each in units.values() if function in each]
        print(f"{function:28} {sum(spent) / HOUR:6.2f} RU/s, {max(spent):6.0f} in its busiest second")
    for second in busiest[:SHOWN]:
        parts = ", ".join(f"{function} {each:.0f}" for function, each in units[second].items())
        print(f"{second % HOUR // 60:02}:{second % 60:02} {by_second[second]:6.0f} RU: {parts}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--tools", type=int, default=200)
    parser.add_argument("--quiet", action="store_true", help="feeds bring nothing new")
    with tempfile.TemporaryDirectory() as folder:
        show(asyncio.run(measured(parser.parse_args(), Path(folder))))


if __name__ == "__main__":
    main()
