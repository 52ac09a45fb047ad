"""Which articles and batches are sent again, and how often."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from models.operations import OverdueAnnouncement
from services.articles.overdue import OverdueArticles, OverdueIngestion, overdue_range
from services.feeds.claims import IngestMessage
from services.runs.engine import RunEngine
from services.store.sqlite import SqliteStore
from tests.builders import MemoryQueues, Watch
from tests.documents import NOW, article, overdue_announcement
from tests.unit.conftest import Put

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def engine(store: SqliteStore, watch: Watch) -> RunEngine:
    return RunEngine(store, watch, lambda: "run1")


@pytest.fixture
def overdue(store: SqliteStore, engine: RunEngine) -> OverdueIngestion:
    return OverdueIngestion(store, engine)


def last(announced: timedelta, due_until: timedelta) -> OverdueAnnouncement:
    return overdue_announcement(announced_at=NOW - announced, due_until=NOW - due_until)


@pytest.mark.parametrize(
    ("waiting", "before", "expected"),
    [
        (None, None, (None, MINUTE)),
        (SECOND, None, (None, MINUTE)),
        (30 * SECOND, None, (None, MINUTE)),
        (31 * SECOND, None, (None, MINUTE + SECOND)),
        (HOUR, None, (None, HOUR + 30 * SECOND)),
        (None, last(MINUTE, 2 * MINUTE), (None, MINUTE)),
        (None, last(MINUTE - SECOND, 2 * MINUTE), (2 * MINUTE, MINUTE)),
        (None, last(SECOND, MINUTE), None),
        (HOUR, last(HOUR, HOUR + MINUTE), (HOUR + MINUTE, HOUR + 30 * SECOND)),
        (HOUR, last(HOUR + 30 * SECOND, 2 * HOUR), (None, HOUR + 30 * SECOND)),
        (HOUR, last(MINUTE, 2 * MINUTE), None),
        (None, last(-MINUTE, -MINUTE), None),
        (None, last(-MINUTE - SECOND, -MINUTE), (None, MINUTE)),
    ],
)
def test_overdue_is_what_is_due_for_a_minute_and_longer_than_every_message_waits(
    waiting: timedelta | None,
    before: OverdueAnnouncement | None,
    expected: tuple[timedelta | None, timedelta] | None,
) -> None:
    found = overdue_range(NOW, None if waiting is None else NOW - waiting, before)
    ages = None if found is None else (None if found[0] is None else NOW - found[0], NOW - found[1])
    assert ages == expected


def due(number: int, since: timedelta, **changes: Any) -> Any:
    return article(dedup_key=f"{number:032x}", analysis_due_since=NOW - since, **changes)


async def test_all_pages_are_announced_and_nothing_that_is_deleted_or_young(store: SqliteStore, put: Put) -> None:
    late = [due(number, HOUR) for number in range(501)]
    await put(*late, due(1_000, MINUTE - SECOND), due(1_001, HOUR, deleted_at=NOW))
    announced: list[str] = []

    async def announce(source_ids: Iterable[str], feed_id: str | None = None) -> None:
        announced.extend(source_ids)

    overdue = OverdueArticles(store, MemoryQueues(), announce)
    assert await overdue.announce(NOW) == 501
    assert sorted(announced) == sorted(each.source_id for each in late)
    assert await overdue.announce(NOW) == 0


async def test_a_released_batch_is_sent_again_unless_messages_wait(
    overdue: OverdueIngestion, engine: RunEngine
) -> None:
    await engine.accept("ingest_feeds", "a", {"held": "BATCH:x"})
    later = NOW + timedelta(minutes=6)
    assert await overdue.runs(later, NOW - SECOND) == []
    assert await overdue.runs(later, NOW + MINUTE) == [IngestMessage("run1", quarantine_id="BATCH:x")]


async def test_a_run_without_an_end_is_closed_after_a_quarter_of_an_hour(
    overdue: OverdueIngestion, engine: RunEngine, watch: Watch
) -> None:
    await engine.accept("ingest_feeds", None, {"feeds": ["a"]})
    ends = []
    for minutes in (14, 15):
        watch.now = NOW + timedelta(minutes=minutes)
        assert await overdue.runs(watch.now) == []
        run = await engine.find("run1")
        assert run is not None
        ends.append((run.status, run.errors))
    assert ends == [("QUEUED", ()), ("FAILED", ("its message was lost or given up; its feeds are claimed anew",))]


async def test_articles_of_a_clock_that_was_ahead_are_announced_once(store: SqliteStore, put: Put) -> None:
    ahead, near = due(1, -MINUTE - SECOND), due(2, -MINUTE)
    await put(ahead, near)
    announced: list[str] = []

    async def announce(source_ids: Iterable[str], feed_id: str | None = None) -> None:
        announced.extend(source_ids)

    overdue = OverdueArticles(store, MemoryQueues(), announce)
    assert (await overdue.announce(NOW), await overdue.announce(NOW)) == (1, 0)
    assert announced == [ahead.source_id]
