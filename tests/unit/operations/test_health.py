"""When the app and its cache are healthy, and that a check that fails does not hide the others."""

import asyncio
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from benchmarks.scale.counting import CountingStore
from models.cache import CacheMetadata, LastRefresh
from models.errors import Damaged
from models.operations import AuditRound, Heartbeat, StagePause
from services.mentions.due import ANALYSIS_STAGE, DirtyTools
from services.operations.checks import Check, Heartbeats, Status
from services.operations.feed_health import NO_SUCCESS_FOR
from services.operations.health import (
    CHECK_SECONDS,
    REPORT_SHARED_SECONDS,
    CacheFacts,
    Health,
    HealthReport,
    judge_audit,
    judge_backlog,
    judge_cache,
    judge_last_fetch,
    judge_no_active_feed,
    judge_queues,
    judge_store,
    judge_timers,
)
from services.operations.traffic import Load, StoreTraffic
from services.ports import QueueDepth
from services.store.containers import FEEDS, SENTIMENT_CACHE
from services.store.sqlite import SqliteStore
from services.topology import TIMERS, Timer
from services.work.backlog import UNKNOWN, Backlog, BacklogReader
from tests import documents
from tests.builders import NOON, MemoryArchive, MemoryQueues, Watch
from tests.documents import feed, last_refresh
from tests.unit.conftest import Put

LONG_AGO = NOON - timedelta(days=3)
TIMER = Timer("tick", "0 */5 * * * *", timedelta(minutes=5))


def beat(minutes_ago: float, error: str | None = None) -> dict[str, Heartbeat]:
    moment = NOON - timedelta(minutes=minutes_ago)
    return {"tick": Heartbeat.first("tick", moment).beaten(moment, moment, error)}


@pytest.mark.parametrize(
    ("beats", "started", "status"),
    [
        (beat(15), LONG_AGO, "healthy"),
        (beat(15 + 1 / 60), LONG_AGO, "unhealthy"),
        (beat(60 * 24), NOON - timedelta(seconds=59), "healthy"),
        (beat(60 * 24), NOON - timedelta(seconds=60), "unhealthy"),
        ({}, NOON - timedelta(minutes=14, seconds=59), "healthy"),
        ({}, NOON - timedelta(minutes=15), "unhealthy"),
        (beat(1, error="RuntimeError"), LONG_AGO, "degraded"),
        (beat(-1 - 1 / 60), LONG_AGO, "unhealthy"),
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


def test_an_app_whose_feeds_are_all_disabled_is_degraded_and_one_without_feeds_is_not() -> None:
    new, off = judge_no_active_feed(False), judge_no_active_feed(True)
    assert (new.status, new.detail) == ("healthy", "no feeds yet: add one with POST feeds")
    assert (off.status, off.detail) == ("degraded", "no feed is enabled, so nothing is fetched")


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
    assert judge_last_fetch(last_success, started, NOON).status == status


def metadata(minutes_ago: float) -> CacheMetadata:
    return documents.cache_metadata(last_refresh_ts=int((NOON - timedelta(minutes=minutes_ago)).timestamp()))


def ended(status: str, failed: int = 0) -> LastRefresh:
    tools = {f"tool-{number}": "UnreadableDocument" for number in range(failed)}
    return last_refresh(status=status, failed_tools=tools, failed_tools_count=failed)


CLEAN = DirtyTools(0, None)


def state(minutes_ago: float | None = 1, last: LastRefresh | None = None, dirty: DirtyTools = CLEAN) -> CacheFacts:
    return CacheFacts(None if minutes_ago is None else metadata(minutes_ago), last, dirty)


@pytest.mark.parametrize(
    ("found", "started", "status", "detail"),
    [
        (state(30), LONG_AGO, "healthy", "refreshed in time"),
        (state(30 + 1 / 60), LONG_AGO, "degraded", "overdue"),
        (state(60), NOON - timedelta(seconds=60), "degraded", "overdue"),
        (state(None), NOON - timedelta(minutes=30), "healthy", "not refreshed yet"),
        (state(None), NOON - timedelta(minutes=30, seconds=1), "degraded", "overdue"),
        (state(1, ended("PARTIAL", 2)), NOON, "degraded", "the last refresh was PARTIAL, 2 tools were not refreshed"),
        (state(None, ended("FAILED")), NOON, "degraded", "the last refresh was FAILED, 0 tools"),
        (state(1, None, DirtyTools(3, NOON - timedelta(minutes=2))), LONG_AGO, "healthy", "refreshed in time"),
        (state(1, None, DirtyTools(3, NOON - timedelta(seconds=121))), LONG_AGO, "degraded", "3 tools have mentions"),
        (state(1, None, DirtyTools(3, LONG_AGO)), NOON - timedelta(seconds=59), "healthy", "refreshed in time"),
    ],
)
def test_a_refresh_that_failed_or_is_overdue_and_tools_that_wait_degrade(
    found: CacheFacts, started: datetime, status: Status, detail: str
) -> None:
    check = judge_cache(found, started, NOON)
    assert check.status == status
    assert detail in check.detail


def test_several_faults_of_the_cache_are_all_named() -> None:
    detail = judge_cache(state(60, ended("PARTIAL", 2), DirtyTools(3, LONG_AGO)), LONG_AGO, NOON).detail
    assert [each in detail for each in ("PARTIAL", "overdue", "3 tools have mentions")] == [True] * 3


def test_tools_with_mostly_unscored_mentions_are_shown_and_are_no_fault() -> None:
    metadata = documents.cache_metadata(
        last_refresh_ts=int(NOON.timestamp()), mentions_7d={"positive": 5, "unscored": 70}, mostly_unscored_count=2
    )
    check = judge_cache(CacheFacts(metadata, None, DirtyTools(0, None)), LONG_AGO, NOON)
    assert check.status == "healthy"
    assert check.detail == "refreshed in time; most mentions of 2 tools are unscored: see GET cache/health"
    assert (check.facts["unscored_mentions"], check.facts["mostly_unscored_tools"]) == (70, 2)


def test_the_worst_check_decides() -> None:
    def status(*each: Status) -> Status:
        return HealthReport({str(n): Check(one, "") for n, one in enumerate(each)}, "1", NOON).status

    assert [status("healthy", "healthy"), status("degraded", "healthy")] == ["healthy", "degraded"]
    assert status("degraded", "unhealthy", "healthy") == "unhealthy"


def test_a_report_is_shared_for_a_second_and_a_check_may_take_five() -> None:
    assert (REPORT_SHARED_SECONDS, CHECK_SECONDS) == (1.0, 5.0)


def health_of(store: SqliteStore, queues: MemoryQueues, watch: Watch, started: datetime = NOON, **more: Any) -> Health:
    traffic = StoreTraffic(store, watch, more.pop("counted", None))
    archive, beats, backlog = (
        more.pop("archive", None) or MemoryArchive(),
        Heartbeats(store, watch),
        BacklogReader(store, ANALYSIS_STAGE, 0.0),
    )
    return Health(store, queues, archive, beats, backlog, traffic, watch, "1.2.3", started, **more)


async def test_a_fresh_app_is_healthy_and_reports_every_check_in_the_designed_shape(store: SqliteStore) -> None:
    report = await health_of(store, MemoryQueues(), Watch()).report()
    shown = report.shown()
    assert shown["status"] == "healthy"
    assert set(shown["checks"]) == {
        "database", "scheduler", "clock", "web", "feeds_active", "last_successful_fetch", "queues", "analysis", "cache",
        "archive", "quarantine", "audit",
    }  # fmt: skip
    assert (shown["version"], shown["timestamp"]) == ("1.2.3", "2026-02-21T12:00:00Z")


async def test_an_archive_that_cannot_be_reached_shows_once_a_full_text_is_kept(store: SqliteStore) -> None:
    archive = MemoryArchive()
    archive.down = True
    health = health_of(store, MemoryQueues(), Watch(), archive=archive)
    assert (await health.report()).checks["archive"] == Check("healthy", "no full text is kept")
    await store.upsert("documents", documents.document().to_document())
    health = health_of(store, MemoryQueues(), Watch(), archive=archive)
    check = (await health.report()).checks["archive"]
    assert (check.status, "cannot be reached" in check.detail) == ("degraded", True)
    archive.down = False
    health = health_of(store, MemoryQueues(), Watch(), archive=archive)
    assert (await health.report()).checks["archive"] == Check("healthy", "the archive answers")


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"enabled": False, "disabled_reason": "HTTP 410", "verdict": "disabled"}, "none of 1 feeds is enabled"),
        ({"consecutive_errors": 3, "verdict": "failing"}, "1 of 1 feeds are ill (1 failing)"),
    ],
)
async def test_stored_feeds_that_fail_or_are_disabled_are_counted(
    store: SqliteStore, changes: dict[str, Any], detail: str
) -> None:
    await store.create(FEEDS.name, feed(**changes).to_document())
    checks = (await health_of(store, MemoryQueues(), Watch()).report()).checks
    assert checks["feeds_active"].status == "degraded"
    assert checks["feeds_active"].detail.startswith(detail)
    assert "no feeds yet" not in checks["last_successful_fetch"].detail


@pytest.mark.parametrize(
    ("backlog", "started", "status", "detail"),
    [
        (Backlog(0, 0), LONG_AGO, "healthy", "articles are analysed in time"),
        (Backlog(9, 0, NOON - timedelta(seconds=120)), LONG_AGO, "healthy", "articles are analysed in time"),
        (Backlog(9, 0, NOON - timedelta(seconds=121)), LONG_AGO, "degraded", "9 articles wait for their analysis"),
        (Backlog(9, 0, LONG_AGO), NOON - timedelta(seconds=59), "healthy", "articles are analysed in time"),
        (Backlog(9, 0, LONG_AGO), NOON - timedelta(seconds=60), "degraded", "the first for 259200 s"),
        (Backlog(0, 2), NOON, "degraded", "2 articles could not be analysed"),
        (UNKNOWN, LONG_AGO, "degraded", "could not be counted within 4 s"),
    ],
)
def test_articles_that_are_not_analysed_degrade(
    backlog: Backlog, started: datetime, status: Status, detail: str
) -> None:
    check = judge_backlog(backlog, started, NOON)
    assert check.status == status
    assert detail in check.detail
    assert (check.facts["pending_articles"], check.facts["failed_articles"]) == (backlog.pending, backlog.failed)
    assert check.facts["oldest_pending_seconds"] == backlog.oldest_seconds(NOON)


def test_a_late_backlog_and_errors_are_both_named() -> None:
    detail = judge_backlog(Backlog(9, 2, LONG_AGO), LONG_AGO, NOON).detail
    assert "see analyze-articles in GET queues; 2 articles could not" in detail
    assert detail.endswith("redrive analyze-articles")


def test_a_pause_without_articles_that_wait_does_not_degrade() -> None:
    pause = StagePause(created_at=LONG_AGO, stage="analysis", reason="answered 503")
    assert judge_backlog(Backlog(0, 0), LONG_AGO, NOON, pause).status == "healthy"
    assert judge_backlog(Backlog(1, 0), LONG_AGO, NOON, pause).status == "degraded"


@pytest.mark.parametrize(
    ("load", "status"),
    [
        (None, "healthy"),
        (Load(100, 10, 1.0), "healthy"),
        (Load(100, 11, 1.0), "degraded"),
        (Load(10_000, 101, 1.0), "degraded"),
    ],
)
def test_a_store_that_refuses_a_share_of_the_requests_degrades(load: Load | None, status: Status) -> None:
    check = judge_store(load)
    assert check.status == status
    assert ("throttled" in check.detail) == (status == "degraded")
    assert ("refused" in check.facts) == (load is not None)


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


async def test_health_needs_the_same_operations_for_ten_feeds_and_a_thousand(store: SqliteStore) -> None:
    counting = CountingStore(store)
    operations, units = [], []
    for start, end in ((0, 10), (10, 1000)):
        feeds = [feed(feed_id=f"feed-{n:05}", last_successful_fetch=NOON) for n in range(start, end)]
        await store.write_many(FEEDS.name, [each.to_document() for each in feeds])
        counting.operations.clear()
        report = await health_of(cast("SqliteStore", counting), MemoryQueues(), Watch()).report()
        assert report.checks["feeds_active"].facts["count"] == end
        operations.append(sorted((each.kind, each.container) for each in counting.operations))
        units.append(sum(each.units for each in counting.operations))
    assert operations[0] == operations[1]
    assert units[1] - units[0] < 50, "nothing but the feeds that are counted, at a fraction of a unit each"
    assert units[1] < 150


async def test_overdue_feeds_are_counted_a_quarter_of_an_hour_after_the_start(store: SqliteStore, put: Put) -> None:
    overdue = {"last_successful_fetch": NOON - NO_SUCCESS_FOR - timedelta(seconds=1)}
    await put(feed(**overdue), feed(feed_id="well", last_successful_fetch=NOON - NO_SUCCESS_FOR))
    await put(feed(feed_id="off", enabled=False, disabled_reason="by hand", **overdue))
    for started, count in ((NOON - timedelta(minutes=14), 0), (NOON - timedelta(minutes=15), 1)):
        report = await health_of(store, MemoryQueues(), Watch(), started).report()
        assert report.checks["feeds_active"].facts["overdue"] == count


class _Damaged:
    async def ping(self) -> None:
        raise Damaged("/data/toolpulse.db is damaged: restore a backup")

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_a_damaged_store_is_unhealthy_with_its_path_and_what_to_do(store: SqliteStore) -> None:
    report = await health_of(cast("SqliteStore", _Damaged(store)), MemoryQueues(), Watch()).report()
    detail = "/data/toolpulse.db is damaged: restore a backup"
    assert (report.status, report.checks["database"].detail) == ("unhealthy", detail)


@pytest.mark.parametrize(("minutes_ago", "status"), [(-1, "healthy"), (-2, "degraded")])
def test_a_refresh_of_a_clock_that_was_ahead_does_not_count(minutes_ago: float, status: Status) -> None:
    state = CacheFacts(metadata(minutes_ago), None, DirtyTools(0, None))
    assert judge_cache(state, LONG_AGO, NOON).status == status


async def test_a_success_of_a_clock_that_was_ahead_does_not_count(store: SqliteStore, put: Put) -> None:
    await put(feed(last_successful_fetch=NOON + timedelta(days=1)))
    report = await health_of(store, MemoryQueues(), Watch(), LONG_AGO).report()
    assert report.checks["last_successful_fetch"].status == "degraded"
    assert report.checks["clock"].status == "degraded"


def test_before_the_first_audit_has_ended_nothing_is_wrong() -> None:
    assert judge_audit(None).shown() == {
        "status": "healthy", "detail": "the first audit has not ended yet",
        "differences": {}, "last_ended": None, "checked": 0,
    }  # fmt: skip
    sound = AuditRound(started_at=NOON, ended_at=NOON, checked=5)
    found = judge_audit(documents.audit(last=sound))
    assert (found.status, found.detail, found.facts["last_ended"]) == (
        "healthy",
        "no differences",
        "2026-02-21T12:00:00Z",
    )


def test_differences_degrade_with_their_kinds_and_numbers_and_what_to_do() -> None:
    found = judge_audit(documents.audit())
    assert (found.status, found.facts["differences"], found.facts["checked"]) == ("degraded", {"hour_differs": 2}, 9)
    assert found.detail == (
        "stored documents differ: 2 hour_differs: `toolpulse audit` lists them, `toolpulse tools reanalyze TOOL`"
        " counts a tool anew"
    )
