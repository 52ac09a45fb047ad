"""What one article more costs beside few and beside many stored ones, on the embedded store.

    python -m benchmarks.size [--stored 10000 1000000] [--only articles|tool]

Real articles about tools are ingested, analysed and grouped. Copies of all that this stored, with other ids and days,
fill the store. Then new articles take the same steps beside each number in turn: processor time, requests to the store
and request units of each step. The last line is the refresh of one tool with so many mentions and nothing new, every
15 minutes. A million articles take five minutes of processor time, and 12 GB in the folder of temporary files.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import logging
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import orjson

from benchmarks.cache import MADE, NOW, embedded, fill
from benchmarks.quality.made_news import Newsroom
from benchmarks.scale.counting import CountingStore
from benchmarks.scale.steps import Bench, grouping_worker
from services.store.containers import ARTICLES, CATALOG, LOCATORS, MENTIONS, STORIES
from services.store.sqlite import SqliteStore
from services.stories.candidates import latest
from services.work.stage import parts_of
from tests.builders import Watch
from tests.functional.articles.world import Item, SettableClock
from tests.functional.figures.world import Process, a_tool

PER_DAY = 33_000
"""A million articles in the 30 days for which they are kept."""
REAL, TOOLS, FEEDS, ENTRIES, ROUNDS = 1000, 200, 12, 40, 10
COPIED = ("Article", "Observation", "LocatorAlias", "SeenHash", "SentimentScore", "StoryMember")
STEPS = ("poll", "analysis", "grouping", "refresh")
_VARIES = re.compile(r'\b[0-9a-f]{32}\b|2026-?02-?2[01]|(?<="minute":)\d+')
"""What tells a copy from its original: ids, days, and the minute in which a grouped article was published."""


class Copy(dict[bytes, bytes]):
    """The texts of one of `copies` copies that differ from the original, by their names in the template. The higher
    `number`, the older are its articles."""

    def __init__(self, number: int, copies: int) -> None:
        self._days = number * REAL // PER_DAY
        prefix = f"{number * (2**32 // copies):08x}"  # ids are spread evenly, as those of new articles
        super().__init__({b"id": prefix.encode()})

    def __missing__(self, original: bytes) -> bytes:
        if original.startswith(b"m"):
            found = f"{int(original[1:]) - 1440 * self._days}"
        else:
            day = date.fromisoformat(original.decode()) - timedelta(days=self._days)
            found = f"{day:%Y-%m-%d}" if b"-" in original else f"{day:%Y%m%d}"
        return self.setdefault(original, found.encode())


def _template(text: str) -> bytes:
    """The text, with places for what a copy changes."""

    def place(found: re.Match[str]) -> str:
        if len(found[0]) == 32:
            return f"%(id)b{found[0][8:]}"
        return f"%({'' if found[0].startswith('2026') else 'm'}{found[0]})b"

    return _VARIES.sub(place, text.replace("%", "%%")).encode()


def copy(path: Path, copies: int) -> None:
    """Copies what is stored of the real articles, straight into the tables. The keys under which articles are found
    name the latest copies."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000")
    some = [Copy(number, copies) for number in range(1, copies)]
    connection.execute("BEGIN")
    for container in (ARTICLES.name, LOCATORS.name, MENTIONS.name, STORIES.name):
        rows = connection.execute(f"SELECT * FROM {container} WHERE body ->> 'entity_type' IN {COPIED}").fetchall()
        templates = [(_template("\0".join(row[:3])), row[3:]) for row in rows]
        made = ((*(text % each).decode().split("\0"), *rest) for each in some for text, rest in templates)
        connection.executemany(f"INSERT INTO {container} VALUES (?, ?, ?, ?, ?, ?)", made)
    prefixes = [each[b"id"].decode() for each in some[: PER_DAY // REAL]]
    for row, body in connection.execute("SELECT rowid, body FROM locators WHERE id LIKE 'group:%'").fetchall():
        key = orjson.loads(body)
        copied = {prefix + name[8:]: minute for name, minute in key["articles"].items() for prefix in prefixes}
        key["articles"] = latest(key["articles"] | copied)
        connection.execute("UPDATE locators SET body = ? WHERE rowid = ?", (orjson.dumps(key).decode(), row))
    connection.execute("COMMIT")
    connection.close()


class Sized:
    """A store with many articles, and two workers: one is timed, the requests of the other one are counted."""

    def __init__(self, path: Path, first_id: int = 0) -> None:
        self.clock = SettableClock()
        self.store = SqliteStore(path, self.clock)
        self.counting = CountingStore(self.store)
        self.timed = Bench(cast("CountingStore", self.store), self.clock)
        self.counted = Bench(self.counting, self.clock)
        self.timed.ids, self.counted.ids = (
            (f"{n:028x}" for n in itertools.count(first_id + start)) for start in (10**6, 2 * 10**6)
        )
        self._groupings = {bench: grouping_worker(bench) for bench in (self.timed, self.counted)}
        self._news = Newsroom(2 + first_id, self.clock.now - timedelta(days=1)).news(PER_DAY)
        self._entries: dict[str, list[Item]] = {}
        self._numbers = itertools.count(first_id)
        self._tool_ids: list[str] = []
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.units: defaultdict[str, float] = defaultdict(float)
        self.requests: defaultdict[str, float] = defaultdict(float)

    async def begin(self) -> None:
        """Stores the real articles."""
        await self.store.ensure_containers()
        for number in range(TOOLS):
            await self.timed.catalog.add({"primary_name": f"Widget{number}x"})
        for start in range(0, REAL, ENTRIES):
            await self.timed.world.add_feed(f"first-{start}", self._items(ENTRIES))
            await self.timed.writer.write(await self.timed.world.poll(f"first-{start}", self.timed.worker()))
        await self._group(self.timed)

    async def settle(self) -> None:
        """Counts the mentions, and polls the feeds of the new articles for the first time."""
        self.clock.forward(hours=1)
        tools = {each.primary_name: each.tool_id for each in await self.timed.catalog.active()}
        self._tool_ids = [tools[f"Widget{number}x"] for number in range(TOOLS)]
        for tool_id in self._tool_ids:
            await self.timed.figures.recount.rebuild_tool(tool_id, self.clock.now)
        for tool_ids in parts_of(self._tool_ids, 50):
            await self.timed.figures.refresh.refresh_tools(tool_ids)
        for bench in self._groupings:
            for number in range(FEEDS):
                self._entries[_feed(bench, number)] = self._items(ENTRIES)
                await bench.world.add_feed(_feed(bench, number))
                await self._new_article(bench, number)
        for each in (self.seconds, self.units, self.requests):
            each.clear()

    def _items(self, number: int) -> list[Item]:
        """Entries of the last day, each about one tool."""
        found = []
        for made, n in zip(self._news, itertools.islice(self._numbers, number), strict=False):
            at = self.clock.now - timedelta(minutes=1 + n * 7 % 1200)
            head, link = f"{made.headline}, Widget{n % TOOLS}x wins", f"https://{made.publisher}/2026/{n}"
            found.append(Item(head, link, f"{n}", at, made.text))
        return found

    async def measure(self) -> None:
        """One new article of each feed, in both workers."""
        for bench in self._groupings:
            for number in range(FEEDS):
                await self._new_article(bench, number)

    async def _new_article(self, bench: Bench, number: int) -> None:
        (new,) = self._items(1)
        feed = _feed(bench, number)
        self._entries[feed] = [new, *self._entries[feed]][:ENTRIES]
        bench.world.publish(feed, self._entries[feed])
        tool_id = self._tool_ids[int(new.guid or 0) % TOOLS]
        await bench.figures.refresh.refresh_tools([tool_id])  # as every 15 minutes
        with self._measured(bench, "poll"):
            found = await bench.world.poll(feed, bench.worker())
        await bench.watchlist.detector(anew=True)  # every 15 minutes in a worker
        with self._measured(bench, "analysis"):
            await bench.writer.write(found)
        with self._measured(bench, "grouping"):
            await self._group(bench)
        with self._measured(bench, "refresh"):
            await bench.figures.refresh.refresh_tools([tool_id])

    async def _group(self, bench: Bench) -> None:
        while (await self._groupings[bench].handle(())).done:
            pass

    @contextmanager
    def _measured(self, bench: Bench, step: str) -> Iterator[None]:
        self.counting.operations.clear()
        began = time.process_time()
        yield
        if bench is self.timed:
            self.seconds[step].append(time.process_time() - began)
        else:
            self.units[step] += sum(each.units for each in self.counting.operations)
            self.requests[step] += len(self.counting.operations)

    async def close(self) -> None:
        await self.timed.figures.close()
        await self.counted.figures.close()
        await self.store.close()


def _feed(bench: Bench, number: int) -> str:
    return f"feed-{id(bench)}-{number}"


async def articles(sizes: Sequence[int]) -> None:
    async with AsyncExitStack() as stack:
        folder, found = Path(stack.enter_context(tempfile.TemporaryDirectory())), list[Sized]()
        real = Sized(folder / "real.db")
        await real.begin()
        await real.close()
        for size in sizes:
            path = folder / f"{size}.db"
            shutil.copy(folder / "real.db", path)
            copy(path, size // REAL)
            sized = Sized(path, REAL)
            stack.push_async_callback(sized.close)
            await sized.settle()
            found.append(sized)
        for _ in range(ROUNDS):
            for sized in found:
                await sized.measure()
    count = ROUNDS * FEEDS
    heads = "".join(f"{size:>12,}: ms{'requests':>10}{'RU':>9}" for size in sizes)
    print(f"{'one article more':18}{heads}   ratios")
    for step in (*STEPS, "all"):
        steps = STEPS if step == "all" else (step,)
        rows = []
        for sized in found:
            ms = sum(1000 * statistics.median(sized.seconds[each]) for each in steps)
            rows.append((ms, *(sum(of[each] for each in steps) / count for of in (sized.requests, sized.units))))
        ratios = " ".join(f"{last / first:.2f}" for first, last in zip(rows[0], rows[-1], strict=True))
        listed = "".join(f"{ms:16.2f}{requests:10.1f}{units:9.1f}" for ms, requests, units in rows)
        print(f"{step:18}{listed}   {ratios}")


async def tool(sizes: Sequence[int]) -> None:
    watch = Watch(NOW)
    tools = [a_tool(number, MADE) for number in range(len(sizes))]
    async with embedded(watch) as store:
        for each, size in zip(tools, sizes, strict=True):
            await store.create(CATALOG.name, each.to_document())
            await fill(store, [each.tool_id], size)
        process = Process(store, watch)
        for each in tools:
            await process.cache.recount.rebuild_tool(each.tool_id, NOW)
        times = defaultdict[str, list[float]](list)
        for number in range(300):
            watch.advance(minutes=15)
            for each in tools[:: 1 - number % 2 * 2]:
                began = time.process_time()
                await process.cache.refresh.refresh_tools([each.tool_id])
                times[each.tool_id].append(time.process_time() - began)
        found = [1000 * statistics.median(times[each.tool_id]) for each in tools]
        listed = ", ".join(f"{size:,} mentions {ms:.2f} ms" for size, ms in zip(sizes, found, strict=True))
        print(f"refresh of one tool with nothing new: {listed}: {found[-1] / found[0]:.2f} times")
        await process.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--stored", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--only", choices=("articles", "tool"))
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    if given.only != "tool":
        asyncio.run(articles(given.stored))
    if given.only != "articles":
        asyncio.run(tool(given.stored))


if __name__ == "__main__":
    main()
