"""Whatever happens to mentions, in whatever order, and wherever a process dies: the aggregates are what they say."""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.cache import PERIODS
from services.ports import Store
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.figures.world import Judgement, Process, a_tool, check_entry, check_tables

START = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
TOOLS = 3
EDGES = (timedelta(0), *PERIODS.values(), timedelta(days=33))
# Around the edges of the windows, to the second, and around full hours.
AGES = st.builds(
    lambda edge, minutes, seconds: max(timedelta(0), edge + timedelta(minutes=minutes, seconds=seconds)),
    st.sampled_from(EDGES),
    st.sampled_from([-61, -60, -18, -17, -2, -1, 0, 1, 17, 43, 60]),
    st.sampled_from([-31, -1, 0, 1, 29]),
)
NUMBERS = st.integers(0, TOOLS - 1)
SOURCES = st.integers(0, 5)
SENTIMENTS = st.sampled_from(["positive", "negative", "neutral", "unscored"])
VERSIONS = st.sampled_from(["1", "2"])
STORIES = st.sampled_from([None, "story:20260221:a", "story:20260221:b", "story:20260221:c"])
PUBLISHERS = st.sampled_from([None, "reuters.com", "heise.de"])
FEEDS = st.sampled_from(["reuters-world", "heise"])
BREADTH = st.tuples(STORIES, PUBLISHERS, FEEDS)
DEATHS = st.none() | st.tuples(st.integers(1, 40), st.sampled_from(["before", "halfway", "after"]))
STEPS = st.one_of(
    st.tuples(st.just("say"), NUMBERS, SOURCES, SENTIMENTS, AGES, VERSIONS, BREADTH, DEATHS),
    st.tuples(st.just("say"), NUMBERS, SOURCES, SENTIMENTS, AGES, VERSIONS, BREADTH, DEATHS),
    st.tuples(st.just("unsay"), NUMBERS, SOURCES, DEATHS),
    st.tuples(st.just("regroup"), NUMBERS, SOURCES, STORIES, DEATHS),
    st.tuples(st.just("refresh"), DEATHS),
    st.tuples(st.just("refresh"), DEATHS),
    st.tuples(st.just("read"), NUMBERS, st.sampled_from(list(PERIODS)), DEATHS),
    st.tuples(st.just("drop"), NUMBERS, DEATHS),
    st.tuples(st.just("reanalyse"), NUMBERS, DEATHS),
    st.tuples(st.just("redeliver")),
    st.tuples(st.just("wait"), st.sampled_from([1, 29, 60, 13 * 60, 15 * 60, 31 * 60, 3600, 7200, 20 * 3600, 86_400])),
)

Work = Callable[[Process], Awaitable[Any]]


class Machine:
    """The app with its tools; `said` is what the articles say, `waiting` the messages that will come again."""

    def __init__(self, store: Store, clock: Watch) -> None:
        self.store = store
        self.clock = clock
        self.process = Process(store, clock)
        self.judgements: dict[tuple[str, str], Judgement] = {}
        self.waiting: list[Work] = []
        self.tools = [a_tool(number, START - timedelta(days=40)) for number in range(TOOLS)]

    async def take(self, step: tuple[Any, ...]) -> None:
        what, *given_values = step
        if what == "wait":
            self.clock.advance(seconds=given_values[0])
        elif what == "redeliver":
            await self.redeliver()
        else:
            *arguments, death = given_values
            work = await getattr(self, what)(*arguments)
            if work is not None:
                await self.run(work, death)

    async def run(self, work: Work, death: tuple[int, Any] | None) -> None:
        if death is None:
            await work(self.process)
            return
        dying = Process(DyingStore(self.store, *death), self.clock)
        try:
            await work(dying)
        except Died:
            self.waiting.append(work)
        finally:
            await dying.close()

    async def redeliver(self) -> None:
        waiting, self.waiting = self.waiting, []
        for work in waiting:
            await work(self.process)

    async def say(
        self, number: int, source: int, sentiment: Any, age: timedelta, version: str, breadth: Any
    ) -> Work | None:
        key = (self.tools[number].tool_id, f"article-{source}")
        known = self.judgements.get(key)
        published_at = known.published_at if known else self.clock.now - age
        self.judgements[key] = Judgement(published_at, sentiment, version, *breadth)
        return self._settling(key)

    async def regroup(self, number: int, source: int, story: str | None) -> Work | None:
        key = (self.tools[number].tool_id, f"article-{source}")
        if key not in self.judgements:
            return None
        self.judgements[key] = replace(self.judgements[key], story=story)
        return self._settling(key)

    async def unsay(self, number: int, source: int) -> Work | None:
        key = (self.tools[number].tool_id, f"article-{source}")
        if key not in self.judgements:
            return None
        self.judgements[key] = Judgement(self.judgements[key].published_at, None)
        return self._settling(key)

    def _settling(self, key: tuple[str, str]) -> Work:
        """A message names the article only: whoever gets it late does what the article says by then."""

        async def work(process: Process) -> None:
            await process.analyse(*key, self.judgements[key])

        return work

    async def refresh(self) -> Work:
        return Process.refresh

    async def drop(self, number: int) -> Work:
        return lambda process: process.cache.generations.raise_(self.tools[number].tool_id)

    async def reanalyse(self, number: int) -> Work:
        return lambda process: process.reanalyse(self.tools[number].tool_id)

    async def read(self, number: int, period: Any) -> Work:
        """Exact, unless a message about the tool has still to come again."""

        async def work(process: Process) -> None:
            served = await process.cache.reader.read(self.tools[number].tool_id, period)
            entry = served.entry
            if served.state == "MISS" and not self.waiting:
                await check_entry(self.store, entry, self.clock.now)

        return work

    async def check(self) -> None:
        await self.redeliver()
        await self.process.refresh()
        for tool in self.tools:
            await check_tables(self.store, tool.tool_id, self.clock.now)
        fresh = Process(self.store, self.clock)
        for tool in self.tools:
            for period in PERIODS:
                served = await fresh.cache.reader.read(tool.tool_id, period)
                assert served.state == "HIT"
                await check_entry(self.store, served.entry, self.clock.now)
                assert served.entry.tool_id == tool.tool_id
        for process in (self.process, fresh):
            await process.close()


async def _run(template: Path, steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(template, Path(folder) / "store.db")
        clock = Watch(START)
        store = SqliteStore(Path(folder) / "store.db", clock)
        try:
            machine = Machine(store, clock)
            await store.write_many(CATALOG.name, [tool.to_document() for tool in machine.tools])
            for step in steps:
                await machine.take(step)
            await machine.check()
        finally:
            await store.close()


async def _empty(path: Path) -> None:
    store = SqliteStore(path, Watch(START))
    await store.ensure_containers()
    await store.close()


@pytest.mark.slow
def test_aggregates_equal_a_count_over_the_mentions(tmp_path: Path) -> None:
    template = tmp_path / "empty.db"
    with asyncio.Runner() as runner:
        runner.run(_empty(template))

        @settings(max_examples=100, database=None)
        @given(steps=st.lists(STEPS, min_size=1, max_size=25))
        def check(steps: list[tuple[Any, ...]]) -> None:
            runner.run(_run(template, steps))

        check()
