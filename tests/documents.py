"""One valid example of every stored document, for tests to start from; keyword arguments replace fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from models.article import Article, CanonicalReading, Observation, SourceAttribution
from models.cache import (
    CacheCounters,
    CacheGeneration,
    CacheMetadata,
    LastRefresh,
    SentimentCacheEntry,
)
from models.correction import Correction, GroupingCorrection
from models.document import CreatedBy, DocumentProduct, FileObject, Locator
from models.feed import Feed, FeedSeen, FetchDay, FetchDaysProgress, HostState
from models.locator import LocatorAlias, SeenHash
from models.mention import Match, SentimentScore
from models.operations import (
    AnalysisTotals,
    AnnouncedWork,
    Audit,
    AuditRound,
    CacheTotals,
    Heartbeat,
    IngestionTotals,
    MigrationRecord,
    StoreLoad,
    StoreTotals,
)
from models.quarantine import QuarantineItem, quarantine_id
from models.run import Attempt, CollisionMetrics, IngestionBatch, JobRun
from models.signal import Side, Signal, SignalsDue
from models.stored import StoredDocument
from models.story import RemovedStory, Story, StoryMember, event_id
from models.tally import Tally, by_day
from models.timeline import (
    DailyClose,
    DayCounts,
    DaySums,
    DirtyHour,
    EarlierHours,
    HistoryProgress,
    HourRows,
    Timeline,
    WindowTables,
)
from models.tool import CatalogVersion, NameRule, Reference, ReferenceDay, Tool, ToolMerge, ToolName
from services.articles.identity import dedup_key, normalize_headline

NOW = datetime(2026, 2, 21, 20, 0, 0, tzinfo=UTC)
TOOL_ID = "877eb2d8-661b-4643-ae62-cfc49e74c31e"
OTHER_TOOL_ID = "a5c3e9f1-2b4d-4e1c-9a8b-3c5d7f9e1a2b"
HEADLINE = "Apple Reports Q4 Earnings Beat"
KEY = dedup_key(normalize_headline(HEADLINE), NOW.date())
ARTICLE_ID = f"dedup:{KEY}"
URL = "https://www.fool.com.au/2026/02/21/apple/"
SHA256 = "0c3b" * 16

Stored = TypeVar("Stored", bound=StoredDocument)


def _of(build: type[Stored], fields: dict[str, Any], changes: dict[str, Any]) -> Stored:
    return build(**({"created_at": NOW, "updated_at": NOW} | fields | changes))


def attribution(**changes: Any) -> SourceAttribution:
    fields: dict[str, Any] = {
        "article_id": "91144751",
        "url": URL,
        "crawl_timestamp": NOW,
        "original_headline": HEADLINE,
    }
    return SourceAttribution(**(fields | changes))


def reading(**changes: Any) -> CanonicalReading:
    fields: dict[str, Any] = {
        "source": "tiingo",
        "observation_id": "obs:tiingo:20260221",
        "headline": HEADLINE,
        "url": URL,
        "published_at": NOW,
        "scraped_at": NOW,
        "revision": "r1",
    }
    return CanonicalReading(**(fields | changes))


def article(**changes: Any) -> Article:
    fields = {
        "dedup_key": KEY,
        "timestamp": NOW,
        "headline": HEADLINE,
        "normalized_headline": normalize_headline(HEADLINE),
        "sources": ("tiingo",),
        "source_attribution": {"tiingo": attribution()},
        "canonical": reading(),
        "matched_tickers": ("AAPL",),
    }
    return _of(Article, fields, changes)


def observation(**changes: Any) -> Observation:
    fields = {
        "source_id": ARTICLE_ID,
        "source": "tiingo",
        "observed_day": "2026-02-21",
        "scraped_at": NOW,
        "article_id": "91144751",
        "url": URL,
        "headline": HEADLINE,
        "published_at": NOW,
        "revision": "r1",
    }
    return _of(Observation, fields, changes)


def grouping_correction(**changes: Any) -> GroupingCorrection:
    fields = {
        "day": "2026-02-21",
        "correction_id": "correction:20260221:run-1",
        "kind": "ONE_STORY",
        "articles": (ARTICLE_ID,),
        "others": ("dedup:" + "0" * 32,),
        "author": "Ada",
        "made_at": NOW,
        "made_by_run": "run-1",
    }
    return _of(GroupingCorrection, fields, changes)


def story(**changes: Any) -> Story:
    fields = {
        "day": "2026-02-21",
        "event_id": event_id(ARTICLE_ID, NOW),
        "headline": HEADLINE,
        "published_at": NOW,
        "timestamp": NOW,
        "article_count": 2,
        "near_duplicate_count": 0,
        "publisher_count": 1,
    }
    return _of(Story, fields, changes)


def story_member(**changes: Any) -> StoryMember:
    fields = {
        "day": "2026-02-21",
        "source_id": ARTICLE_ID,
        "published_at": NOW,
        "revision": "r1",
        "signature": {},
        "event_id": event_id(ARTICLE_ID, NOW),
    }
    return _of(StoryMember, fields, changes)


def signal(**changes: Any) -> Signal:
    fields = {
        "tool_id": TOOL_ID,
        "event_id": event_id(ARTICLE_ID, NOW),
        "kind": "NEW",
        "timestamp": NOW,
        "story_published_at": NOW,
        "reason": "A new story: 2 articles by 2 publishers since 2026-02-21T20:00:00Z.",
        "after": Side(articles=2, publishers=2, average_sentiment=0.5),
        "publishers": ("a.example", "b.example"),
        "articles": (ARTICLE_ID,),
    }
    return _of(Signal, fields, changes)


def signals_due(**changes: Any) -> SignalsDue:
    fields = {"day": "2026-02-21", "event_id": event_id(ARTICLE_ID, NOW), "signals_due_at": NOW}
    return _of(SignalsDue, fields, changes)


def cache_entry(**changes: Any) -> SentimentCacheEntry:
    end = int(NOW.timestamp())
    fields = {
        "tool_id": TOOL_ID,
        "period": "HOUR_24",
        "total_mentions": 3,
        "positive_count": 1,
        "negative_count": 1,
        "neutral_count": 1,
        "positive_percentage": 33.4,
        "negative_percentage": 33.3,
        "neutral_percentage": 33.3,
        "average_sentiment": 0.15,
        "period_start_ts": end - 86400,
        "period_end_ts": end,
        "last_updated_ts": end,
    }
    return _of(SentimentCacheEntry, fields, changes)


def cache_generation(**changes: Any) -> CacheGeneration:
    return _of(CacheGeneration, {"tool_id": TOOL_ID, "generation": 3}, changes)


def cache_metadata(**changes: Any) -> CacheMetadata:
    fields = {
        "last_refresh_ts": int(NOW.timestamp()),
        "last_refresh_duration_ms": 12500,
        "total_entries": 60,
        "cache_hits_24h": 1250,
        "cache_misses_24h": 45,
        "error_count_24h": 2,
        "tools_refreshed": (TOOL_ID, OTHER_TOOL_ID),
    }
    return _of(CacheMetadata, fields, changes)


def last_refresh(**changes: Any) -> LastRefresh:
    fields = {"run_id": "run-1", "status": "PARTIAL", "ended_at": NOW, "failed_tools": {TOOL_ID: "ValueError"}}
    return _of(LastRefresh, fields | {"failed_tools_count": 1}, changes)


def cache_counters(**changes: Any) -> CacheCounters:
    return _of(CacheCounters, {"hour": "2026022120", "hits": 5}, changes)


def fetch_day(**changes: Any) -> FetchDay:
    return _of(FetchDay, {"day": "20260221", "feeds": {"reuters-world": (0b111, 0b101, 0b111)}}, changes)


def fetch_days_progress(**changes: Any) -> FetchDaysProgress:
    return _of(FetchDaysProgress, {"after": "page-2"}, changes)


def cache_totals(**changes: Any) -> CacheTotals:
    return _of(CacheTotals, {"cache_hits": 5, "read_microseconds": 1500}, changes)


def store_totals(**changes: Any) -> StoreTotals:
    return _of(StoreTotals, {"requests": 7, "request_units": 55}, changes)


def analysis_totals(**changes: Any) -> AnalysisTotals:
    return _of(AnalysisTotals, {"articles": 2, "within_5_s": 1}, changes)


def store_load(**changes: Any) -> StoreLoad:
    return _of(StoreLoad, {"hour": "2026022120", "requests_07": 5}, changes)


def ingestion_totals(**changes: Any) -> IngestionTotals:
    return _of(IngestionTotals, {"articles_parsed": 5, "fetches": 2}, changes)


def alias(**changes: Any) -> LocatorAlias:
    fields = {"provider": "tiingo", "locator_identity": "provider_product_id:91144751", "source_id": ARTICLE_ID}
    return _of(LocatorAlias, fields, changes)


def seen_hash(**changes: Any) -> SeenHash:
    fields = {"source": "tiingo", "content_hash": SHA256, "revision": "r1"}
    return _of(SeenHash, fields, changes)


def correction(**changes: Any) -> Correction:
    fields = {
        "tool_id": TOOL_ID,
        "subject": "MENTION",
        "source_id": ARTICLE_ID,
        "verdict": "negative",
        "label": "negative",
        "author": "Ada",
        "made_at": NOW,
        "made_by_run": "run-1",
        "headline": HEADLINE,
        "revision": "r1",
        "passages": ({"text": HEADLINE, "names": ((0, 5),)},),
        "said": {
            "sentiment": "positive",
            "score": 0.9,
            "polarity": 0.5,
            "analyzer": "words",
            "analyzer_version": "1",
        },
    }
    return _of(Correction, fields, changes)


def feed(**changes: Any) -> Feed:
    fields = {
        "feed_id": "reuters-world",
        "feed_url": "https://www.reuters.com/rssFeed/worldNews",
        "source_name": "Reuters",
        "next_fetch_time": NOW,
    }
    return _of(Feed, fields, changes)


def feed_seen(**changes: Any) -> FeedSeen:
    return _of(FeedSeen, {"feed_id": "reuters-world", "hashes": "0123456789abcdef"}, changes)


def metrics(**changes: Any) -> CollisionMetrics:
    fields: dict[str, Any] = {
        "invocation_id": "5a4fce02",
        "timestamp": NOW,
        "articles_fetched": {"tiingo": 50, "finnhub": 50},
        "articles_stored": 80,
        "collisions_detected": 20,
        "duration_ms": 1234,
    }
    return CollisionMetrics(**(fields | changes))


def run(**changes: Any) -> JobRun:
    fields = {"run_id": "5a4fce02", "workflow_name": "reanalyze_tool", "started_at": NOW, "subject": TOOL_ID}
    return _of(JobRun, fields, changes)


def ingestion_batch(**changes: Any) -> IngestionBatch:
    fields = {
        "run_id": "5a4fce02",
        "status": "SUCCEEDED",
        "started_at": NOW,
        "ended_at": NOW + timedelta(seconds=2),
        "sources_queried": ("tiingo", "finnhub"),
        "metrics": metrics(),
    }
    return _of(IngestionBatch, fields, changes)


def attempt(**changes: Any) -> Attempt:
    fields = {
        "run_id": "5a4fce02",
        "task_name": "fetch_feed",
        "subject": "reuters-world",
        "attempt_no": 1,
        "started_at": NOW,
    }
    return _of(Attempt, fields, changes)


def tool(**changes: Any) -> Tool:
    fields = {
        "tool_id": TOOL_ID,
        "primary_name": "Visual  Studio Code",
        "aliases": ("VS Code", "C#"),
        "name_rules": {"C#": NameRule(case_sensitive=True, context=("language",))},
    }
    return _of(Tool, fields, changes)


def removed_story(**changes: Any) -> RemovedStory:
    fields = {"day": "2026-02-21", "event_id": "story:20260221:" + "0" * 32, "removed_at": NOW}
    return _of(RemovedStory, fields, changes)


def tool_merge(**changes: Any) -> ToolMerge:
    fields = {
        "tool_id": TOOL_ID,
        "merged_tool_id": OTHER_TOOL_ID,
        "merged_name": "VSC",
        "names": ("VSC",),
        "tickers": ("VSCX",),
        "author": "Ada",
        "made_at": NOW,
        "made_by_run": "run-1",
    }
    return _of(ToolMerge, fields, changes)


def tool_name(**changes: Any) -> ToolName:
    fields = {"name_raw": "VS Code", "name_kind": "ALIAS", "tool_id": TOOL_ID}
    return _of(ToolName, fields, changes)


def catalog_version(**changes: Any) -> CatalogVersion:
    return _of(CatalogVersion, {"version": "5a4fce02"}, changes)


def reference(**changes: Any) -> Reference:
    fields: dict[str, Any] = {
        "source_id": ARTICLE_ID,
        "source": "Reuters",
        "source_identifier": "https://reuters.example/apple",
        "title": HEADLINE,
        "published_at": NOW,
        "role": "TIMELINE_SOURCE",
        "created_at": NOW,
    }
    return Reference(**(fields | changes))


def reference_day(**changes: Any) -> ReferenceDay:
    kept = reference()
    fields = {"tool_id": TOOL_ID, "day": kept.published_at.date().isoformat(), "references": (kept,)}
    return _of(ReferenceDay, fields, changes)


def timeline(**changes: Any) -> Timeline:
    fields = {"tool_id": TOOL_ID, "hours": {"2026022120": Tally(2, 1, 0, 150_000)}, "ingestion_count": 3}
    return _of(Timeline, fields, changes)


_ROWS: HourRows = {
    "embedded/1": {"reuters.com": {"reuters-world": [[7, "5f0c9d3e2b1a4877", 1, 0, 0, 0, 5_000, 25_000_000]]}}
}


_WHOLE = {
    "numbers": Tally(1, 0, 0, 500_000),
    "analyzers": {"embedded/1": 1},
    "crowded": 0,
    "stories": {"5f0c9d3e2b1a4877": (1, 5_000)},
    "ungrouped": (0, 0, 0),
    "publishers": {"reuters.com": 1},
    "sources": {"reuters-world": 1},
}


def day_counts(**changes: Any) -> DayCounts:
    return _of(
        DayCounts,
        {"tool_id": TOOL_ID, "day": "20260221", "whole": _WHOLE, "hours": json.dumps({"2026022120": _ROWS})},
        changes,
    )


def window_tables(**changes: Any) -> WindowTables:
    names = ("numbers", "stories", "publishers", "sources")
    whole = {name: _WHOLE[name] for name in names} | {"analyzers": ("embedded/1",), "is_broad": True}
    whole |= {"sums": {"stories": "1", "mentions": "1"}}
    fields = {
        "tool_id": TOOL_ID,
        "hour": "2026022120",
        "made_at": NOW,
        "whole": {"HOUR_24": whole},
        "edges": {"2026022120": _ROWS},
    }
    return _of(WindowTables, fields, changes)


def day_sums(**changes: Any) -> DaySums:
    fields = {"tool_id": TOOL_ID, "edges": ("20260122", "20260214"), "between": {"20260122": _WHOLE}}
    return _of(DaySums, fields, changes)


def dirty_hour(**changes: Any) -> DirtyHour:
    return _of(DirtyHour, {"tool_id": TOOL_ID, "hour": "2026022120"}, changes)


def daily_close(**changes: Any) -> DailyClose:
    close = DailyClose.of(TOOL_ID, "2026-02-20", {"total_mentions": 1}, NOW)
    fields = {name: getattr(close, name) for name in ("tool_id", "day", "closed_at", "text", "sha256")}
    return _of(DailyClose, fields, changes)


def earlier_hours(**changes: Any) -> EarlierHours:
    days = by_day({"2026012020": Tally(2, 1, 0, 150_000)})
    return _of(EarlierHours, {"tool_id": TOOL_ID, "days": days}, changes)


def history_progress(**changes: Any) -> HistoryProgress:
    fields = {"since": "2026-01-01", "closed_until": "2026-02-20", "after": "tool-1"}
    return _of(HistoryProgress, fields, changes)


def mention(**changes: Any) -> SentimentScore:
    fields = {
        "tool_id": TOOL_ID,
        "source_id": ARTICLE_ID,
        "sentiment": "positive",
        "score": 0.9,
        "polarity": 0.6,
        "published_at": NOW,
        "analyzer": "embedded",
        "analyzer_version": "1",
        "matches": (Match(name="VS Code", kind="ALIAS", where="HEADLINE"),),
    }
    return _of(SentimentScore, fields, changes)


def document(**changes: Any) -> DocumentProduct:
    fields = {
        "source_id": ARTICLE_ID,
        "provider": "reuters-world",
        "locators": (Locator(kind="URL", value=URL),),
        "locator_identity": f"url:{URL}",
    }
    return _of(DocumentProduct, fields, changes)


def file_object(**changes: Any) -> FileObject:
    fields = {
        "source_id": ARTICLE_ID,
        "role": "RAW",
        "name": "primary",
        "archive_container": "archive",
        "archive_key": f"raw/{KEY}/primary.html",
        "content_type": "text/html",
        "byte_length": 184233,
        "sha256": SHA256,
        "created_by": CreatedBy(workflow="acquire_documents", job_run_id="5a4fce02"),
    }
    return _of(FileObject, fields, changes)


def quarantined(**changes: Any) -> QuarantineItem:
    fields = {
        "quarantine_id": quarantine_id("BATCH", "reuters-world", SHA256),
        "kind": "BATCH",
        "subject": "reuters-world",
        "reason_code": "FLOOD",
        "reason": "60 new ids over known URLs",
        "item_count": 60,
        "payload": {"items": [1, None, "x"]},
    }
    return _of(QuarantineItem, fields, changes)


def announced_work(**changes: Any) -> AnnouncedWork:
    return _of(AnnouncedWork, {"stage": "signals", "due_until": NOW, "announced_at": NOW}, changes)


def audit(**changes: Any) -> Audit:
    ended = AuditRound(started_at=NOW, ended_at=NOW, checked=9, found={"hour_differs": 2})
    return _of(Audit, {"section": "mentions", "present": AuditRound(started_at=NOW), "last": ended}, changes)


def heartbeat(**changes: Any) -> Heartbeat:
    return _of(Heartbeat, {"timer": "clean_up", "last_succeeded_at": NOW}, changes)


def host_state(**changes: Any) -> HostState:
    fields = {"host": "news.example:443", "failures": 5, "openings": 1, "open_until": NOW, "reason": "timeout"}
    return _of(HostState, fields, changes)


def migration(**changes: Any) -> MigrationRecord:
    return _of(MigrationRecord, {"number": 1, "name": "start", "started_at": NOW, "completed_at": NOW}, changes)


EVERY_DOCUMENT: tuple[Callable[..., StoredDocument], ...] = (
    article,
    observation,
    story,
    story_member,
    signal,
    signals_due,
    announced_work,
    cache_entry,
    cache_generation,
    cache_metadata,
    cache_counters,
    fetch_day,
    fetch_days_progress,
    cache_totals,
    ingestion_totals,
    alias,
    seen_hash,
    feed,
    feed_seen,
    run,
    ingestion_batch,
    attempt,
    tool,
    removed_story,
    tool_merge,
    tool_name,
    catalog_version,
    reference_day,
    timeline,
    day_counts,
    day_sums,
    window_tables,
    dirty_hour,
    daily_close,
    earlier_hours,
    history_progress,
    mention,
    document,
    file_object,
    quarantined,
    heartbeat,
    audit,
    host_state,
    migration,
)
