"""The 24-hour figures: exact over processes and restarts, and over a kill up to what was not flushed."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from models.errors import InvalidInput, NotFound, Unavailable, UnreadableDocument
from models.values import format_time
from services.figures.counters import Counters
from services.ports import utc_now
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.articles.counting import CountingStore
from tests.functional.figures.counting_process import PAUSE_SECONDS
from tests.hosting import ROOT

FLUSHED_EVERY = 0.2
BOTH_COUNT = 300


async def _counting(path: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.functional.figures.counting_process", str(path), str(FLUSHED_EVERY)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def _count_to(process: asyncio.subprocess.Process, number: int) -> None:
    assert process.stdout is not None
    for _ in range(number):
        await process.stdout.readline()


async def _last(process: asyncio.subprocess.Process, at_least: int) -> int:
    assert process.stdout is not None
    lines = (await process.stdout.read()).splitlines(keepends=True)
    await process.wait()
    return max((int(line) for line in lines if line.endswith(b"\n")), default=at_least)


async def test_two_processes_and_a_kill_are_off_by_one_flush_interval_at_most(tmp_path: Path) -> None:
    path = tmp_path / "toolpulse.db"
    store = SqliteStore(path, utc_now)
    await store.ensure_containers()
    ending, killed = await _counting(path), await _counting(path)
    await asyncio.gather(_count_to(ending, BOTH_COUNT), _count_to(killed, BOTH_COUNT))
    killed.kill()
    assert ending.stdin is not None
    ending.stdin.write(b"stop\n")
    await ending.stdin.drain()
    by_ending, by_killed = await _last(ending, BOTH_COUNT), await _last(killed, BOTH_COUNT)
    counted = await Counters(store, utc_now).last_24_hours()
    lost = by_ending + by_killed - counted["cache_hits_24h"]
    assert ending.returncode == 0
    assert 0 <= lost <= FLUSHED_EVERY / PAUSE_SECONDS + 1
    assert counted["cache_hits_24h"] >= by_ending
    await store.close()


async def test_counts_are_of_the_present_hour_and_the_23_before_it(store: SqliteStore, watch: Watch) -> None:
    watch.now = watch.now.replace(minute=17, second=0)
    counters = Counters(store, watch)
    counters.read("HIT", 0.001)
    counters.read("STALE", 0.001)
    counters.read("MISS", 0.2)
    counters.errors(3)
    counters.errors(0)
    await counters.flush()
    watch.advance(hours=1)
    counters.read("HIT", 0.001)
    await counters.flush()
    hours = await counters.hours()
    assert len(hours) == 24
    hour = format_time(watch.now.replace(minute=0) - timedelta(hours=1))
    assert hours[-2] == {"hour": hour, "hits": 2, "misses": 1, "errors": 3}
    assert await counters.last_24_hours() == {"cache_hits_24h": 3, "cache_misses_24h": 1, "error_count_24h": 3}
    watch.advance(hours=23)
    assert await counters.last_24_hours() == {"cache_hits_24h": 1, "cache_misses_24h": 0, "error_count_24h": 0}
    await counters.close()


async def test_a_read_that_fails_is_an_error_but_a_wrong_request_is_none(store: SqliteStore, watch: Watch) -> None:
    counters = Counters(store, watch)
    for error in (Unavailable("busy"), UnreadableDocument("Tool", "key", "why"), KeyError("name")):
        with pytest.raises(type(error)), counters.failures():
            raise error
    for wrong in (NotFound("tool"), InvalidInput("hours", "one of 1, 24")):
        with pytest.raises(type(wrong)), counters.failures():
            raise wrong
    await counters.flush()
    assert await counters.last_24_hours() == {"cache_hits_24h": 0, "cache_misses_24h": 0, "error_count_24h": 3}
    await counters.close()


async def test_a_flush_of_nothing_needs_no_operation(store: SqliteStore, watch: Watch) -> None:
    counting = CountingStore(store)
    counters = Counters(counting, watch)
    await counters.flush()
    assert counting.operations == 0, "a worker that only ticks writes nothing"
    counters.read("HIT", 0.001)
    await counters.flush()
    assert counting.operations == 2, "the counters of the hour, and the totals"
    await counters.close()
