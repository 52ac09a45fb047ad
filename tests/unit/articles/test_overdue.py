"""Which articles and batches are sent again, and how often."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.values import format_time
from services.articles.overdue import MOST_RESENDS, OverdueIngestion, may_be_sent_again, sent_again
from services.feeds.claims import IngestMessage
from services.runs.engine import RunEngine
from services.store.containers import ARTICLES
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW, article
from tests.unit.conftest import Put

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


@pytest.fixture
def engine(store: SqliteStore, watch: Watch) -> RunEngine:
    return RunEngine(store, watch, lambda: "run1")


@pytest.fixture
def overdue(store: SqliteStore, engine: RunEngine) -> OverdueIngestion:
    return OverdueIngestion(store, engine)


@pytest.mark.parametrize(
    ("stored", "again"),
    [
        ({}, True),
        ({"resends": MOST_RESENDS - 1}, True),
        ({"resends": MOST_RESENDS}, False),
        ({"resent_at": format_time(NOW - HOUR)}, True),
        ({"resent_at": format_time(NOW - HOUR + SECOND)}, False),
    ],
)
def test_an_article_is_sent_again_once_an_hour_and_24_times(stored: dict[str, Any], again: bool) -> None:
    assert MOST_RESENDS == 24
    assert may_be_sent_again(stored, NOW) is again


def test_an_article_that_is_sent_again_is_marked() -> None:
    once = sent_again({"headline": "x"}, NOW)
    assert once == {"headline": "x", "resent_at": format_time(NOW), "resends": 1}
    assert sent_again(once, NOW)["resends"] == 2


def due(number: int, since: timedelta, **changes: Any) -> Any:
    return article(dedup_key=f"{number:032x}", analysis_due_since=NOW - since, **changes)


async def test_an_analysis_is_overdue_after_five_minutes(
    overdue: OverdueIngestion, put: Put, store: SqliteStore
) -> None:
    late = due(1, timedelta(minutes=5))
    await put(
        late,
        due(2, timedelta(minutes=5) - SECOND),
        due(3, HOUR, deleted_at=NOW),
        due(4, HOUR, resends=MOST_RESENDS),
    )
    assert await overdue.articles(NOW) == [late.source_id]
    assert await overdue.articles(NOW) == []
    stored = await store.read(ARTICLES.name, late.source_id, "article")
    assert stored is not None
    assert (stored["resends"], stored["resent_at"]) == (1, format_time(NOW))
    assert await overdue.articles(NOW + HOUR) == [late.source_id, due(2, HOUR).source_id]


async def test_articles_that_may_not_be_sent_again_do_not_hide_those_that_may(
    overdue: OverdueIngestion, put: Put
) -> None:
    await put(*(due(number, 2 * HOUR, resends=MOST_RESENDS) for number in range(501)))
    late = due(1_000, HOUR)
    await put(late)
    assert await overdue.articles(NOW) == [late.source_id]


async def test_at_most_500_articles_are_sent_at_once(overdue: OverdueIngestion, put: Put) -> None:
    await put(*(due(number, HOUR) for number in range(501)))
    assert len(await overdue.articles(NOW)) == 500
    assert len(await overdue.articles(NOW)) == 1


async def test_a_released_batch_is_sent_again_unless_messages_wait(
    overdue: OverdueIngestion, engine: RunEngine
) -> None:
    await engine.accept("ingest_feeds", "a", {"held": "BATCH:x"})
    later = NOW + timedelta(minutes=6)
    assert await overdue.runs(later, resend=False) == []
    assert await overdue.runs(later) == [IngestMessage("run1", quarantine_id="BATCH:x")]


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
