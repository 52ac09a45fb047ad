"""What counts as backlog, for how long a count is kept, and what happens if the store does not answer."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from models.errors import Unavailable
from services.mentions.due import ANALYSIS_STAGE
from services.ports import Query, Store, Where
from services.store import sqlite_sql
from services.store.containers import ARTICLES
from services.store.plans import plan
from services.store.sqlite import SqliteStore
from services.work.backlog import UNKNOWN, Backlog, BacklogReader
from tests.documents import NOW, article


async def put(store: SqliteStore, number: int, **changes: Any) -> None:
    await store.upsert(ARTICLES.name, article(dedup_key=f"{number:032x}", **changes).to_document())


class Slow:
    """A store that answers when `answer` is set, or refuses."""

    def __init__(self, store: Store, *, refuses: bool = False) -> None:
        self._store = store
        self._refuses = refuses
        self.answer = asyncio.Event()
        self.counts = 0

    async def count(self, *args: Any, **more: Any) -> int:
        self.counts += 1
        if self._refuses:
            raise Unavailable("busy")
        await self.answer.wait()
        return await self._store.count(*args, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class AnswersLate:
    """A store whose answers to queries are as of now, and arrive when `answer` is set."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.has_read = asyncio.Event()
        self.answer = asyncio.Event()

    async def query(self, *args: Any, **more: Any) -> Any:
        found = await self._store.query(*args, **more)
        self.has_read.set()
        await self.answer.wait()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_articles_that_are_due_are_pending_and_those_given_up_have_failed(store: SqliteStore) -> None:
    reader = BacklogReader(store, ANALYSIS_STAGE)
    assert await reader.read() == Backlog(0, 0, None)
    await put(store, 1, analysis_due_since=NOW - timedelta(minutes=3))
    await put(store, 2, analysis_due_since=NOW, status="analyzed", sentiment="positive", score=0.9)
    await put(store, 3, status="analyzed", sentiment="positive", score=0.9)
    await put(store, 4, status="error")
    await put(store, 5, status="error", deleted_at=NOW)
    found = await reader.read()
    assert found == Backlog(2, 1, NOW - timedelta(minutes=3))
    assert found.oldest_seconds(NOW) == 180
    assert not found.is_empty
    assert [Backlog(*each).is_empty for each in ((0, 0), (1, 0), (0, 1), (None, None))] == [True, False, False, False]
    assert Backlog(0, 0).oldest_seconds(NOW) == 0


async def test_a_count_is_kept_for_two_seconds(store: SqliteStore) -> None:
    times = [100.0]
    reader = BacklogReader(store, ANALYSIS_STAGE, seconds=lambda: times[0])
    assert (await reader.counted()).pending == 0
    await put(store, 1, analysis_due_since=NOW)
    times[0] = 101.9
    assert (await reader.counted()).pending == 0
    times[0] = 102.0
    assert (await reader.counted()).pending == 1


async def test_an_empty_backlog_is_kept_until_the_next_write_only(store: SqliteStore) -> None:
    times = [100.0]
    reader = BacklogReader(store, ANALYSIS_STAGE, seconds=lambda: times[0], last_write=store.last_write)
    assert (await reader.counted()).is_empty
    times[0] = 100.1
    await put(store, 1, analysis_due_since=NOW)
    assert (await reader.counted()).pending == 1
    times[0] = 100.2
    await put(store, 2, analysis_due_since=NOW)
    assert (await reader.counted()).pending == 1, "figures are incomplete in any case"


async def test_a_count_that_began_before_a_write_does_not_make_later_calls_find_the_backlog_empty(
    store: SqliteStore,
) -> None:
    times = [100.0]
    slow = AnswersLate(store)
    reader = BacklogReader(cast("Store", slow), ANALYSIS_STAGE, seconds=lambda: times[0], last_write=store.last_write)
    early = asyncio.create_task(reader.counted())
    await slow.has_read.wait()
    times[0] = 100.1
    await put(store, 1, analysis_due_since=NOW)
    late = asyncio.create_task(reader.counted())
    await asyncio.sleep(0)
    slow.answer.set()
    assert (await early).is_empty
    assert (await late).pending == 1


async def test_nothing_is_kept_for_zero_seconds(store: SqliteStore) -> None:
    reader = BacklogReader(store, ANALYSIS_STAGE, kept_seconds=0.0)
    await reader.counted()
    await put(store, 1, analysis_due_since=NOW)
    assert (await reader.counted()).pending == 1


async def test_callers_share_one_count_and_wait_for_a_second_at_most(store: SqliteStore) -> None:
    times = [100.0]
    slow = Slow(store)
    reader = BacklogReader(cast("Store", slow), ANALYSIS_STAGE, seconds=lambda: times[0])
    first = asyncio.create_task(reader.counted())
    await asyncio.sleep(0)
    times[0] = 101.0
    assert await reader.counted() is UNKNOWN, "it has been waited for a second already"
    slow.answer.set()
    assert (await first).pending == 0
    assert slow.counts == 2, "one count of pending articles, one of failed ones"


async def test_a_store_that_does_not_answer_makes_the_backlog_unknown(store: SqliteStore) -> None:
    reader = BacklogReader(cast("Store", Slow(store, refuses=True)), ANALYSIS_STAGE)
    assert await reader.counted() is UNKNOWN
    with pytest.raises(Unavailable):
        await reader.read()


async def test_the_embedded_store_counts_by_an_index(store: SqliteStore, tmp_path: Path) -> None:
    await store.ensure_containers()
    with contextlib.closing(sqlite3.connect(tmp_path / "toolpulse.db")) as connection:
        for where in ((Where("analysis_due_since", "gt", ""),), ANALYSIS_STAGE.failed):
            statement, values = sqlite_sql.count(plan(ARTICLES, Query(where)), 0)
            steps = connection.execute(f"EXPLAIN QUERY PLAN {statement}", dict(values)).fetchall()
            assert all(step[3].startswith("SEARCH articles USING INDEX") for step in steps), steps
