"""When the app and its cache are healthy, and that a check that fails does not hide the others."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from models.cache import PERIODS, CacheMetadata, entry_id, generation_id
from models.operations import Heartbeat
from services.operations.health import (
    CHECK_SECONDS,
    MOST_LISTED,
    REPORT_SHARED_SECONDS,
    Check,
    Health,
    HealthReport,
    Lack,
    Status,
    generations_of,
    judge_cache,
    judge_entries,
    judge_feeds,
    judge_last_fetch,
    judge_queues,
    judge_timers,
    lacks_of,
)
from services.operations.heartbeats import Heartbeats
from services.ports import Document, QueueDepth
from services.store.containers import FEEDS, SENTIMENT_CACHE
from services.store.sqlite import SqliteStore
from services.topology import TIMERS, Timer
from tests.builders import NOON, MemoryQueues, Watch
from tests.documents import NOW, TOOL_ID, cache_entry, cache_generation, cache_metadata, feed, tool

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
        (beat(15 + 1 / 60), LONG_AGO, "unhealthy"),
        (beat(60 * 24), NOON - timedelta(seconds=59), "healthy"),
        (beat(60 * 24), NOON - timedelta(seconds=60), "unhealthy"),
        ({}, NOON - timedelta(minutes=14, seconds=59), "healthy"),
        ({}, NOON - timedelta(minutes=15), "unhealthy"),
        (beat(1, error="RuntimeError"), LONG_AGO, "degraded"),
    ],
)
def test_a_timer_that_has_not_run_in_time_is_unhealthy(
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
        (NOON - timedelta(minutes=60), LONG_AGO, "healthy"),
        (NOON - timedelta(minutes=60, seconds=1), LONG_AGO, "degraded"),
        (NOON - timedelta(days=2), NOON - timedelta(seconds=59), "healthy"),
        (NOON - timedelta(days=2), NOON - timedelta(seconds=60), "degraded"),
        (None, NOON - timedelta(minutes=30), "healthy"),
        (None, LONG_AGO, "degraded"),
    ],
)
def test_an_hour_without_a_successful_fetch_degrades(
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


@pytest.mark.parametrize(
    ("minutes", "started", "status"),
    [
        (30, LONG_AGO, "healthy"),
        (30 + 1 / 60, LONG_AGO, "degraded"),
        (60, NOON - timedelta(seconds=59), "healthy"),
        (60, NOON - timedelta(seconds=60), "degraded"),
    ],
)
def test_an_overdue_refresh_degrades_unless_the_worker_just_started(
    minutes: float, started: datetime, status: Status
) -> None:
    assert judge_cache(metadata(minutes), started, NOON).status == status
    assert judge_cache(None, started, NOON).status == "healthy"


def test_checks_are_shown_with_their_figures() -> None:
    assert judge_cache(metadata(1), LONG_AGO, NOON).shown() == {
        "status": "healthy",
        "detail": "refreshed in time",
        "last_refresh": "2026-02-21T11:59:00Z",
        "entries": 4,
    }
    assert judge_cache(None, LONG_AGO, NOON).shown()["last_refresh"] is None
    waiting = judge_last_fetch(True, None, NOON, NOON).shown()
    assert (waiting["detail"], waiting["last_success"]) == ("waiting for the first fetch", None)
    fetched = judge_last_fetch(True, NOON, LONG_AGO, NOON).shown()
    assert (fetched["detail"], fetched["last_success"]) == ("feeds are being fetched", "2026-02-21T12:00:00Z")
    late = judge_timers([TIMER], {}, LONG_AGO, NOON)
    assert late.detail == "no run in time: tick"
    assert judge_timers([TIMER], beat(1), LONG_AGO, NOON).shown()["timers"] == {"tick": "2026-02-21T11:59:00Z"}
    assert judge_queues([QueueDepth("a", 7, 0)]).shown()["messages"] == {"a": 7}


def test_the_worst_check_decides() -> None:
    def status(*each: Status) -> Status:
        return HealthReport({str(n): Check(one, "") for n, one in enumerate(each)}, "1", NOON).status

    assert [status("healthy", "healthy"), status("degraded", "healthy")] == ["healthy", "degraded"]
    assert status("degraded", "unhealthy", "healthy") == "unhealthy"


def test_a_report_is_shared_for_a_second_and_a_check_may_take_five() -> None:
    assert (REPORT_SHARED_SECONDS, CHECK_SECONDS) == (1.0, 5.0)


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


async def test_news_apis_without_a_token_are_named_and_do_not_degrade(store: SqliteStore) -> None:
    watch = Watch()
    health = Health(store, MemoryQueues(), Heartbeats(store, watch), watch, "1.2.3", NOON, sources_off=("finnhub",))
    shown = (await health.report()).shown()["checks"]["feeds_active"]
    assert (shown["status"], shown["sources_off"]) == ("healthy", ["finnhub"])
    assert shown["detail"].endswith("off, as they have no token: finnhub")


@pytest.mark.parametrize(("taken", "status"), [((), "healthy"), (("finnhub",), "degraded")])
def test_a_news_api_that_cannot_become_a_feed_degrades_the_check_of_the_feeds(
    taken: tuple[str, ...], status: Status
) -> None:
    check = judge_feeds(3, ("tiingo",), taken)
    assert (check.status, check.facts) == (status, {"count": 3, "sources_off": ["tiingo"]})
    assert check.detail.endswith("not polled, as another feed has their id: finnhub") == bool(taken)


@pytest.mark.parametrize(("kind", "status"), [("feed", "degraded"), ("tiingo", "healthy")])
async def test_a_feed_that_has_the_name_of_a_news_api_as_its_id_is_named(
    store: SqliteStore, kind: str, status: Status
) -> None:
    watch = Watch()
    await store.create(FEEDS.name, feed(feed_id="tiingo", kind=kind).to_document())
    health = Health(
        store, MemoryQueues(), Heartbeats(store, watch), watch, "1", NOON, ("finnhub", "tiingo"), ("newswire",)
    )
    check = (await health.report()).checks["feeds_active"]
    assert (check.status, check.facts["count"]) == (status, 1)
    assert check.detail.endswith("as another feed has their id: tiingo") == (status == "degraded")


async def test_a_feed_that_has_the_name_of_a_news_api_without_a_token_is_an_active_feed(store: SqliteStore) -> None:
    watch = Watch()
    await store.create(FEEDS.name, feed(feed_id="tiingo").to_document())
    health = Health(store, MemoryQueues(), Heartbeats(store, watch), watch, "1", LONG_AGO, sources_off=("tiingo",))
    checks = (await health.report()).checks
    assert (checks["feeds_active"].status, checks["feeds_active"].facts["count"]) == ("healthy", 1)
    assert checks["last_successful_fetch"].status == "degraded"


@pytest.mark.parametrize(("others", "status"), [((), "healthy"), (("reuters-world",), "degraded")])
async def test_a_news_api_without_a_token_is_not_an_active_feed_and_its_fetch_is_not_expected(
    store: SqliteStore, others: tuple[str, ...], status: Status
) -> None:
    watch = Watch()
    for each in (feed(feed_id="tiingo", kind="tiingo"), *(feed(feed_id=other) for other in others)):
        await store.create(FEEDS.name, each.to_document())
    health = Health(store, MemoryQueues(), Heartbeats(store, watch), watch, "1.2.3", LONG_AGO, sources_off=("tiingo",))
    checks = (await health.report()).shown()["checks"]
    assert checks["feeds_active"]["count"] == len(others)
    assert checks["last_successful_fetch"]["status"] == status


async def test_queues_that_do_not_answer_are_unhealthy_and_the_other_checks_are_made(store: SqliteStore) -> None:
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


async def test_metadata_that_cannot_be_read_do_not_stop_the_health_check(store: SqliteStore) -> None:
    await store.upsert(SENTIMENT_CACHE.name, {**metadata(1).to_document(), "total_entries": "many"})
    report = await health_of(store, MemoryQueues(), Watch()).report()
    assert report.checks["cache"].detail == "not refreshed yet"
    await store.upsert(SENTIMENT_CACHE.name, metadata(1).to_document())
    report = await health_of(store, MemoryQueues(), Watch()).report()
    assert report.checks["cache"].detail == "refreshed in time"


async def test_concurrent_callers_share_one_report(store: SqliteStore) -> None:
    health = health_of(store, MemoryQueues(), Watch())
    reports = await asyncio.gather(*(health.report() for _ in range(50)))
    assert all(report is reports[0] for report in reports)


async def test_a_cancelled_caller_does_not_cancel_the_report_of_the_others(store: SqliteStore) -> None:
    health = health_of(store, MemoryQueues(), Watch())
    leaving = asyncio.ensure_future(health.report())
    staying = asyncio.ensure_future(health.report())
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying).status == "healthy"


TOOL = tool(tool_id=TOOL_ID)


def _entries(**changes: Any) -> dict[str, Document]:
    entries = {}
    for period, span in PERIODS.items():
        fields = {"period": period, "period_start_ts": int((NOW - span).timestamp()), **changes}
        entries[entry_id(TOOL_ID, period)] = cache_entry(**fields).to_document()
    return entries


def _lacks(documents: dict[str, Document], now: datetime = NOW) -> list[Lack]:
    return lacks_of([TOOL], documents, generations_of(documents.values()), now)


def test_fresh_entries_of_the_tools_generation_are_neither_stale_nor_missing() -> None:
    assert _lacks(_entries()) == []
    raised = {generation_id(TOOL_ID): cache_generation(generation=2).to_document()}
    assert _lacks(_entries(generation=2) | raised) == []


def test_entries_that_are_absent_unreadable_or_of_another_generation_are_missing() -> None:
    raised = {generation_id(TOOL_ID): cache_generation(generation=2).to_document()}
    unreadable = {key: {**entry, "total_mentions": 99} for key, entry in _entries().items()}
    unknown = {generation_id(TOOL_ID): {**raised[generation_id(TOOL_ID)], "generation": "many"}}
    for documents in ({}, unreadable, _entries(generation=1) | raised, _entries(generation=1), _entries() | unknown):
        lacks = _lacks(documents)
        assert [(lack["period"], lack["state"]) for lack in lacks] == [(period, "missing") for period in PERIODS]


def test_entries_older_than_half_an_hour_are_stale() -> None:
    assert _lacks(_entries(), NOW + timedelta(minutes=30)) == []
    lacks = _lacks(_entries(), NOW + timedelta(minutes=30, seconds=1))
    assert [lack["state"] for lack in lacks] == ["stale"] * 4
    assert lacks[0] == Lack(tool_id=TOOL_ID, tool=TOOL.primary_name, period="HOUR_1", state="stale")


@pytest.mark.parametrize(
    ("changes", "stale", "status", "detail"),
    [
        ({}, 0, "healthy", "refreshed in time"),
        ({}, 3, "degraded", "3 entries are stale"),
        ({"last_refresh_status": "PARTIAL", "last_refresh_run_id": "r"}, 3, "degraded", "see its run r"),
        ({"last_refresh_ts": 0}, 0, "degraded", "overdue"),
    ],
)
def test_the_cache_is_degraded_by_a_late_or_partial_refresh_or_stale_entries(
    changes: dict[str, Any], stale: int, status: str, detail: str
) -> None:
    metadata: CacheMetadata = cache_metadata(**changes)
    check = judge_entries(metadata, stale, (), NOW - timedelta(days=1), NOW)
    assert check.status == status
    assert detail in check.detail


def test_missing_entries_and_a_first_refresh_to_come_are_healthy() -> None:
    assert judge_entries(None, 0, (), NOW, NOW).status == "healthy"


def test_the_cache_is_degraded_by_generations_that_cannot_be_read_and_names_them() -> None:
    check = judge_entries(None, 0, ("a:generation", "b:generation"), NOW, NOW)
    assert (check.status, check.detail) == ("degraded", "cannot be read: a:generation, b:generation")


def test_at_most_a_thousand_entries_are_listed() -> None:
    assert MOST_LISTED == 1000
