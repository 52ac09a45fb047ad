"""When the app calls itself well, and that one thing that cannot be asked does not hide the others."""

import asyncio
from datetime import datetime, timedelta

import pytest

from models.cache import CacheMetadata
from models.operations import Heartbeat
from services.operations.health import (
    Health,
    Status,
    judge_cache,
    judge_last_fetch,
    judge_queues,
    judge_timers,
)
from services.operations.heartbeats import Heartbeats
from services.ports import QueueDepth
from services.store.containers import FEEDS
from services.store.sqlite import SqliteStore
from services.topology import TIMERS, Timer
from tests.builders import NOON, MemoryQueues, Watch
from tests.documents import feed

LONG_AGO = NOON - timedelta(days=3)
TIMER = Timer("tick", "0 */5 * * * *", timedelta(minutes=5))


def beat(minutes_ago: float, error: str | None = None) -> dict[str, Heartbeat]:
    moment = NOON - timedelta(minutes=minutes_ago)
    return {"tick": Heartbeat.first("tick", moment).beaten(moment, moment, error)}


@pytest.mark.parametrize(
    ("beats", "started", "status"),
    [
        (beat(1), LONG_AGO, "healthy"),
        (beat(15), LONG_AGO, "healthy"),
        (beat(16), LONG_AGO, "unhealthy"),
        (beat(60 * 24), NOON - timedelta(seconds=59), "healthy"),
        (beat(60 * 24), NOON - timedelta(seconds=61), "unhealthy"),
        ({}, NOON - timedelta(minutes=14), "healthy"),
        ({}, NOON - timedelta(minutes=16), "unhealthy"),
        (beat(1, error="RuntimeError"), LONG_AGO, "degraded"),
    ],
)
def test_a_timer_that_has_gone_silent_is_unhealthy_once_it_had_time_to_catch_up(
    beats: dict[str, Heartbeat], started: datetime, status: Status
) -> None:
    assert judge_timers([TIMER], beats, started, NOON).status == status


def test_poison_messages_degrade_and_name_their_queue() -> None:
    assert judge_queues([QueueDepth("a", 1000, 0)]).status == "healthy"
    check = judge_queues([QueueDepth("a", 0, 0), QueueDepth("b", 0, 2)])
    assert check.status == "degraded"
    assert check.shown()["poison"] == {"b": 2}
    assert "b" in check.detail


def test_a_new_app_without_feeds_is_healthy() -> None:
    assert judge_last_fetch(False, None, LONG_AGO, NOON).status == "healthy"


@pytest.mark.parametrize(
    ("last_success", "started", "status"),
    [
        (NOON - timedelta(minutes=59), LONG_AGO, "healthy"),
        (NOON - timedelta(minutes=61), LONG_AGO, "degraded"),
        (NOON - timedelta(days=2), NOON - timedelta(seconds=30), "healthy"),
        (None, NOON - timedelta(minutes=30), "healthy"),
        (None, LONG_AGO, "degraded"),
    ],
)
def test_feeds_that_are_not_fetched_well_for_an_hour_degrade(
    last_success: datetime | None, started: datetime, status: Status
) -> None:
    assert judge_last_fetch(True, last_success, started, NOON).status == status


def metadata(minutes_ago: float) -> CacheMetadata:
    moment = NOON - timedelta(minutes=minutes_ago)
    return CacheMetadata(
        created_at=moment,
        updated_at=moment,
        last_refresh_ts=int(moment.timestamp()),
        last_refresh_duration_ms=5,
        total_entries=4,
        cache_hits_24h=0,
        cache_misses_24h=0,
        error_count_24h=0,
        tools_refreshed=(),
    )


@pytest.mark.parametrize(("minutes", "status"), [(29, "healthy"), (31, "degraded")])
def test_an_overdue_refresh_degrades(minutes: int, status: Status) -> None:
    assert judge_cache(metadata(minutes), LONG_AGO, NOON).status == status
    assert judge_cache(None, LONG_AGO, NOON).status == "healthy"


def health_of(store: SqliteStore, queues: MemoryQueues, watch: Watch, started: datetime = NOON) -> Health:
    return Health(store, queues, Heartbeats(store, watch), watch, "1.2.3", started)


async def test_a_fresh_app_is_healthy_and_reports_every_check_in_the_designed_shape(store: SqliteStore) -> None:
    report = await health_of(store, MemoryQueues(), Watch()).report()
    shown = report.shown()
    assert shown["status"] == "healthy"
    assert set(shown["checks"]) == {
        "database", "scheduler", "feeds_active", "last_successful_fetch", "queues", "cache",
    }  # fmt: skip
    assert (shown["version"], shown["timestamp"]) == ("1.2.3", "2026-02-21T12:00:00Z")


async def test_news_apis_without_a_token_are_named_and_no_fault(store: SqliteStore) -> None:
    watch = Watch()
    health = Health(store, MemoryQueues(), Heartbeats(store, watch), watch, "1.2.3", NOON, sources_off=("finnhub",))
    shown = (await health.report()).shown()["checks"]["feeds_active"]
    assert (shown["status"], shown["sources_off"]) == ("healthy", ["finnhub"])
    assert shown["detail"].endswith("off, as they have no token: finnhub")


@pytest.mark.parametrize(("others", "status"), [((), "healthy"), (("reuters-world",), "degraded")])
async def test_a_news_api_that_lost_its_token_is_no_active_feed_and_nobody_waits_for_it(
    store: SqliteStore, others: tuple[str, ...], status: Status
) -> None:
    watch = Watch()
    for each in (feed(feed_id="tiingo", kind="tiingo"), *(feed(feed_id=other) for other in others)):
        await store.create(FEEDS.name, each.to_document())
    health = Health(store, MemoryQueues(), Heartbeats(store, watch), watch, "1.2.3", LONG_AGO, sources_off=("tiingo",))
    checks = (await health.report()).shown()["checks"]
    assert checks["feeds_active"]["count"] == len(others)
    assert checks["last_successful_fetch"]["status"] == status


async def test_queues_that_do_not_answer_are_unhealthy_and_the_rest_is_still_told(store: SqliteStore) -> None:
    queues = MemoryQueues()
    queues.down = True
    report = await health_of(store, queues, Watch()).report()
    assert report.status == "unhealthy"
    assert report.checks["queues"].status == "unhealthy"
    assert report.checks["database"].status == "healthy"


async def test_a_store_that_is_gone_is_unhealthy(store: SqliteStore) -> None:
    await store.close()
    report = await health_of(store, MemoryQueues(), Watch()).report()
    assert report.status == "unhealthy"
    assert report.checks["database"].status == "unhealthy"
    assert report.checks["queues"].status == "healthy"


async def test_stored_heartbeats_are_what_counts_for_the_scheduler(store: SqliteStore) -> None:
    watch = Watch()
    health = health_of(store, MemoryQueues(), watch, started=LONG_AGO)
    assert (await health.report()).checks["scheduler"].status == "unhealthy"
    beats = Heartbeats(store, watch)
    for timer in TIMERS:
        await beats.record(timer.name, watch())
    other = health_of(store, MemoryQueues(), watch, started=LONG_AGO)
    assert (await other.report()).checks["scheduler"].status == "healthy"


async def test_many_who_ask_at_once_share_one_answer(store: SqliteStore) -> None:
    health = health_of(store, MemoryQueues(), Watch())
    reports = await asyncio.gather(*(health.report() for _ in range(50)))
    assert all(report is reports[0] for report in reports)


async def test_one_caller_that_leaves_takes_nobody_elses_answer_away(store: SqliteStore) -> None:
    health = health_of(store, MemoryQueues(), Watch())
    leaving = asyncio.ensure_future(health.report())
    staying = asyncio.ensure_future(health.report())
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying).status == "healthy"
