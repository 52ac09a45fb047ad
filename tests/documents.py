"""One valid example of every stored document, for tests to start from; keyword arguments replace fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
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
from models.locator import LocatorAlias
from models.mention import Match, SentimentScore
from models.operations import (
    AnalysisTotals,
    Audit,
    AuditRound,
    CacheTotals,
    Heartbeat,
    IngestionTotals,
    MigrationRecord,
    StagePause,
    StoreLoad,
    StoreTotals,
)
from models.quarantine import QuarantineItem, quarantine_id
from models.run import Attempt, CollisionMetrics, IngestionBatch, JobRun
from models.stored import StoredDocument
from models.story import RemovedStory, Side, Signal, SignalsDue, Story, StoryMember, event_id
from models.tally import Tally, TimelineHours, day_text
from models.timeline import (
    DailyClose,
    DayCounts,
    DaySums,
    DirtyHour,
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

Built = TypeVar("Built")
Stored = TypeVar("Stored", bound=StoredDocument)
EVERY_DOCUMENT: list[Callable[..., StoredDocument]] = []


def _part(build: Callable[..., Built], /, **fields: Any) -> Callable[..., Built]:
    """Makes this example; keyword arguments replace its fields."""

    def make(**changes: Any) -> Built:
        return build(**(fields | changes))

    make.__name__ = build.__name__
    return make


def _stored(build: Callable[..., Stored], /, **fields: Any) -> Callable[..., Stored]:
    """Makes this example of a stored document, which every such document is tested with."""
    example = _part(build, created_at=NOW, **fields)
    EVERY_DOCUMENT.append(example)
    return example


attribution = _part(SourceAttribution, article_id="91144751", url=URL, crawl_timestamp=NOW, original_headline=HEADLINE)

reading = _part(
    CanonicalReading,
    source="tiingo",
    observation_id="obs:tiingo:20260221",
    headline=HEADLINE,
    url=URL,
    published_at=NOW,
    scraped_at=NOW,
    revision="r1",
)

article = _stored(
    Article,
    dedup_key=KEY,
    timestamp=NOW,
    headline=HEADLINE,
    normalized_headline=normalize_headline(HEADLINE),
    sources=("tiingo",),
    source_attribution={"tiingo": attribution()},
    canonical=reading(),
    matched_tickers=("AAPL",),
)

observation = _stored(
    Observation,
    source_id=ARTICLE_ID,
    source="tiingo",
    observed_day="2026-02-21",
    scraped_at=NOW,
    article_id="91144751",
    url=URL,
    headline=HEADLINE,
    published_at=NOW,
    revision="r1",
)

grouping_correction = _stored(
    GroupingCorrection,
    day="2026-02-21",
    correction_id="correction:20260221:run-1",
    kind="ONE_STORY",
    articles=(ARTICLE_ID,),
    others=("dedup:" + "0" * 32,),
    author="Ada",
    made_at=NOW,
    made_by_run="run-1",
)

story = _stored(
    Story,
    day="2026-02-21",
    event_id=event_id(ARTICLE_ID, NOW),
    headline=HEADLINE,
    published_at=NOW,
    timestamp=NOW,
    article_count=2,
    near_duplicate_count=0,
    publisher_count=1,
)

story_member = _stored(
    StoryMember,
    day="2026-02-21",
    source_id=ARTICLE_ID,
    published_at=NOW,
    revision="r1",
    signature={},
    event_id=event_id(ARTICLE_ID, NOW),
)

signal = _stored(
    Signal,
    tool_id=TOOL_ID,
    event_id=event_id(ARTICLE_ID, NOW),
    kind="NEW",
    timestamp=NOW,
    story_published_at=NOW,
    reason="A new story: 2 articles by 2 publishers since 2026-02-21T20:00:00Z.",
    after=Side(articles=2, publishers=2, average_sentiment=0.5),
    publishers=("a.example", "b.example"),
    articles=(ARTICLE_ID,),
)

signals_due = _stored(SignalsDue, day="2026-02-21", event_id=event_id(ARTICLE_ID, NOW), signals_due_at=NOW)

cache_entry = _stored(
    SentimentCacheEntry,
    tool_id=TOOL_ID,
    period="HOUR_24",
    total_mentions=3,
    positive_count=1,
    negative_count=1,
    neutral_count=1,
    positive_percentage=33.4,
    negative_percentage=33.3,
    neutral_percentage=33.3,
    average_sentiment=0.15,
    period_start_ts=int(NOW.timestamp()) - 86400,
    period_end_ts=int(NOW.timestamp()),
    last_updated_ts=int(NOW.timestamp()),
)

cache_generation = _stored(CacheGeneration, tool_id=TOOL_ID, generation=3)

cache_metadata = _stored(
    CacheMetadata,
    last_refresh_ts=int(NOW.timestamp()),
    last_refresh_duration_ms=12500,
    total_entries=60,
    cache_hits_24h=1250,
    cache_misses_24h=45,
    error_count_24h=2,
    tools_refreshed=(TOOL_ID, OTHER_TOOL_ID),
)

last_refresh = _stored(
    LastRefresh,
    run_id="run-1",
    status="PARTIAL",
    ended_at=NOW,
    failed_tools={TOOL_ID: "ValueError"},
    failed_tools_count=1,
)

cache_counters = _stored(CacheCounters, hour="2026022120", hits=5)

fetch_day = _stored(FetchDay, day="20260221", feeds={"reuters-world": (0b111, 0b101, 0b111)})

fetch_days_progress = _stored(FetchDaysProgress, after="page-2")

cache_totals = _stored(CacheTotals, cache_hits=5, read_microseconds=1500)

store_totals = _stored(StoreTotals, requests=7, request_units=55)

analysis_totals = _stored(AnalysisTotals, articles=2, within_5_s=1)

store_load = _stored(StoreLoad, hour="2026022120", requests_07=5)

ingestion_totals = _stored(IngestionTotals, articles_parsed=5, fetches=2)

alias = _stored(LocatorAlias, provider="tiingo", locator_identity="provider_product_id:91144751", source_id=ARTICLE_ID)

correction = _stored(
    Correction,
    tool_id=TOOL_ID,
    subject="MENTION",
    source_id=ARTICLE_ID,
    verdict="negative",
    label="negative",
    author="Ada",
    made_at=NOW,
    made_by_run="run-1",
    headline=HEADLINE,
    revision="r1",
    passages=({"text": HEADLINE, "names": ((0, 5),)},),
    said={
        "sentiment": "positive",
        "score": 0.9,
        "polarity": 0.5,
        "analyzer": "words",
        "analyzer_version": "1",
    },
)

feed = _stored(
    Feed,
    feed_id="reuters-world",
    feed_url="https://www.reuters.com/rssFeed/worldNews",
    source_name="Reuters",
    next_fetch_time=NOW,
)

feed_seen = _stored(FeedSeen, feed_id="reuters-world", hashes="0123456789abcdef")

metrics = _part(
    CollisionMetrics,
    invocation_id="5a4fce02",
    timestamp=NOW,
    articles_fetched={"tiingo": 50, "finnhub": 50},
    articles_stored=80,
    collisions_detected=20,
    duration_ms=1234,
)

run = _stored(JobRun, run_id="5a4fce02", workflow_name="reanalyze_tool", started_at=NOW, subject=TOOL_ID)

ingestion_batch = _stored(
    IngestionBatch,
    run_id="5a4fce02",
    status="SUCCEEDED",
    started_at=NOW,
    ended_at=NOW + timedelta(seconds=2),
    sources_queried=("tiingo", "finnhub"),
    metrics=metrics(),
)

attempt = _stored(
    Attempt, run_id="5a4fce02", task_name="fetch_feed", subject="reuters-world", attempt_no=1, started_at=NOW
)

tool = _stored(
    Tool,
    tool_id=TOOL_ID,
    primary_name="Visual  Studio Code",
    aliases=("VS Code", "C#"),
    name_rules={"C#": NameRule(case_sensitive=True, context=("language",))},
)

removed_story = _stored(RemovedStory, day="2026-02-21", event_id="story:20260221:" + "0" * 32, removed_at=NOW)

tool_merge = _stored(
    ToolMerge,
    tool_id=TOOL_ID,
    merged_tool_id=OTHER_TOOL_ID,
    merged_name="VSC",
    names=("VSC",),
    tickers=("VSCX",),
    author="Ada",
    made_at=NOW,
    made_by_run="run-1",
)

tool_name = _stored(ToolName, name_raw="VS Code", name_kind="ALIAS", tool_id=TOOL_ID)

catalog_version = _stored(CatalogVersion, version="5a4fce02")

reference = _part(
    Reference,
    source_id=ARTICLE_ID,
    source="Reuters",
    source_identifier="https://reuters.example/apple",
    title=HEADLINE,
    published_at=NOW,
    role="TIMELINE_SOURCE",
    created_at=NOW,
)

reference_day = _stored(ReferenceDay, tool_id=TOOL_ID, day="2026-02-21", references=(reference(),))


def by_day(hours: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """Hours (`yyyymmddhh`) as a timeline stores them."""
    days: dict[str, dict[int, Tally]] = {}
    for hour, numbers in hours.items():
        days.setdefault(hour[:8], {})[int(hour[8:])] = Tally(*numbers)
    return {day: day_text(days[day]) for day in sorted(days)}


def by_hour(stored: Mapping[str, str]) -> dict[str, Tally]:
    """The hours of a stored timeline that have mentions."""
    table = TimelineHours(stored)
    names = (f"{day}{hour:02}" for day in stored for hour in range(24))
    return {name: tally for name in names if any(tally := table.numbers(name))}


timeline = _stored(Timeline, tool_id=TOOL_ID, hours=by_day({"2026022120": (2, 1, 0, 150_000, 0)}), ingestion_count=3)


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

day_counts = _stored(DayCounts, tool_id=TOOL_ID, day="20260221", whole=_WHOLE, hours=json.dumps({"2026022120": _ROWS}))


_OF_PERIOD = {**_WHOLE, "others": {"stories": "1", "mentions": "1"}}
window_tables = _stored(
    WindowTables,
    tool_id=TOOL_ID,
    hour="2026022120",
    made_at=NOW,
    whole={"HOUR_24": _OF_PERIOD},
    edges={"2026022120": _ROWS},
)

day_sums = _stored(DaySums, tool_id=TOOL_ID, edges=("20260122", "20260214"), between={"20260122": _WHOLE})

dirty_hour = _stored(DirtyHour, tool_id=TOOL_ID, hour="2026022120")


_CLOSE = DailyClose.of(TOOL_ID, "2026-02-20", {"total_mentions": 1}, NOW)
daily_close = _stored(
    DailyClose, **{name: getattr(_CLOSE, name) for name in ("tool_id", "day", "closed_at", "text", "sha256")}
)

history_progress = _stored(HistoryProgress, since="2026-01-01", closed_until="2026-02-20", after="tool-1")

mention = _stored(
    SentimentScore,
    tool_id=TOOL_ID,
    source_id=ARTICLE_ID,
    sentiment="positive",
    score=0.9,
    polarity=0.6,
    published_at=NOW,
    analyzer="embedded",
    analyzer_version="1",
    matches=(Match(name="VS Code", kind="ALIAS", where="HEADLINE"),),
)

document = _stored(
    DocumentProduct,
    source_id=ARTICLE_ID,
    provider="reuters-world",
    locators=(Locator(kind="URL", value=URL),),
    locator_identity=f"url:{URL}",
)

file_object = _stored(
    FileObject,
    source_id=ARTICLE_ID,
    role="RAW",
    name="primary",
    archive_container="archive",
    archive_key=f"raw/{KEY}/primary.html",
    content_type="text/html",
    byte_length=184233,
    sha256=SHA256,
    created_by=CreatedBy(workflow="acquire_documents", job_run_id="5a4fce02"),
)

quarantined = _stored(
    QuarantineItem,
    quarantine_id=quarantine_id("BATCH", "reuters-world", SHA256),
    kind="BATCH",
    subject="reuters-world",
    reason_code="FLOOD",
    reason="60 new ids over known URLs",
    item_count=60,
    payload={"items": [1, None, "x"]},
)


audit = _stored(
    Audit,
    present=AuditRound(started_at=NOW),
    last=AuditRound(started_at=NOW, ended_at=NOW, checked=9, found={"hour_differs": 2}),
)

heartbeat = _stored(Heartbeat, timer="clean_up", last_succeeded_at=NOW)

host_state = _stored(HostState, host="news.example", failures=5, openings=1, open_until=NOW, reason="timeout")

stage_pause = _stored(StagePause, stage="analysis", reason="Azure AI Language answered 503")

migration = _stored(MigrationRecord, number=1, name="start", started_at=NOW, completed_at=NOW)
