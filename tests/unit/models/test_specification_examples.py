"""The example documents of the specifications load, with their nouns put into ours (docs/adr/0004-models.md)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from models.article import Article, SourceAttribution
from models.cache import CacheMetadata, SentimentCacheEntry
from models.document import DocumentProduct, FileObject
from models.feed import Feed
from models.locator import LocatorAlias
from models.observation import Observation
from models.resources.tools import ReferenceResource
from models.run import Attempt, CollisionMetrics, IngestionBatch, JobRun
from models.timeline import Timeline
from models.tool import Reference, Tool, ToolName
from models.values import format_time, parse_time
from tests.documents import reading

TOOL_ID = "4e9b0e88-5d2b-4d1a-9a1a-4a4f6f0cb9b1"
RUN_ID = "5a4fce02-3b02-4b5c-8d06-541d9f2d4f60"
ARTICLE_ID = "dedup:0a77c1f55b9a44d09f301b3c4f6ad111"
SHA256 = "0c3b" * 15 + "a91f"
MADE = {"created_at": "2026-02-21T20:00:00Z", "updated_at": "2026-02-23T18:10:00Z"}
MADE_EARLIER = {"created_at": "2026-02-23T18:10:00Z", "updated_at": "2026-02-23T18:12:00Z"}


def loads(model: Any, example: dict[str, Any]) -> Any:
    """The model, after checking that all that the example says is stored again as it was said."""
    read = model.from_document(example)
    stored = read.to_document()
    said = {name: value for name, value in example.items() if not name.startswith("_") and value is not None}
    assert {name: stored.get(name) for name in said} == said
    return read


def test_sentiment_cache_entry() -> None:
    entry = loads(
        SentimentCacheEntry,
        MADE
        | {
            "id": "877eb2d8-661b-4643-ae62-cfc49e74c31e:HOUR_24",
            "tool_id": "877eb2d8-661b-4643-ae62-cfc49e74c31e",
            "period": "HOUR_24",
            "total_mentions": 1789,
            "positive_count": 892,
            "negative_count": 534,
            "neutral_count": 363,
            "positive_percentage": 49.9,
            "negative_percentage": 29.9,
            "neutral_percentage": 20.3,
            "average_sentiment": 0.15,
            "period_start_ts": 1730000000,
            "period_end_ts": 1730086400,
            "last_updated_ts": 1730086400,
            "_ts": 1730086400,
        },
    )
    assert entry.is_stale(parse_time("2026-02-21T20:00:00Z"))


def test_cache_metadata() -> None:
    metadata = loads(
        CacheMetadata,
        MADE
        | {
            "id": "metadata",
            "tool_id": "metadata",
            "last_refresh_ts": 1730086400,
            "last_refresh_duration_ms": 12500,
            "total_entries": 60,
            "cache_hits_24h": 1250,
            "cache_misses_24h": 45,
            "cache_hit_rate": 0.965,
            "error_count_24h": 2,
            "tools_refreshed": ["877eb2d8-661b-4643-ae62-cfc49e74c31e", "a5c3e9f1-2b4d-4e1c-9a8b-3c5d7f9e1a2b"],
            "_ts": 1730086400,
        },
    )
    assert format_time(metadata.last_refresh_at) == "2024-10-28T03:33:20Z"
    assert metadata.tools_refreshed_count == 2


ATTRIBUTION = {
    "tiingo": {
        "article_id": "91144751",
        "url": "https://www.fool.com.au/2025/12/21/apple/",
        "crawl_timestamp": "2025-12-21T14:28:00Z",
        "original_headline": "Apple Reports Q4 Earnings Beat - Reuters",
        "source_name": "fool.com.au",
    },
    "finnhub": {
        "article_id": "abc-123-def",
        "url": "https://finnhub.io/api/news?id=1",
        "crawl_timestamp": "2025-12-21T14:29:00Z",
        "original_headline": "Apple reports Q4 earnings beat",
        "source_name": "reuters",
    },
}


def test_article_with_two_sources() -> None:
    article = loads(
        Article,
        {
            "source_id": ARTICLE_ID,
            "timestamp": "2025-12-21T14:00:00Z",
            "dedup_key": "0a77c1f55b9a44d09f301b3c4f6ad111",
            "headline": "Apple Reports Q4 Earnings Beat",
            "normalized_headline": "apple reports q4 earnings beat",
            "sources": ["tiingo", "finnhub"],
            "source_attribution": ATTRIBUTION,
            "canonical": reading().model_dump(mode="json", exclude_none=True),
            "status": "analyzed",
            "sentiment": "positive",
            "score": 0.93,
            "matched_tickers": ["AAPL"],
            "text_for_analysis": "Apple reported",
            "metadata": {"section": None},
            "ttl_timestamp": 1768918000,
            "created_at": "2025-12-21T14:28:00Z",
            "updated_at": "2025-12-21T14:29:00Z",
        },
    )
    assert isinstance(article.source_attribution["finnhub"], SourceAttribution)


def test_ingestion_batch_with_its_collision_metrics() -> None:
    metrics = {
        "invocation_id": "1d2c",
        "timestamp": "2025-12-21T14:28:00Z",
        "articles_fetched": {"tiingo": 50, "finnhub": 50},
        "articles_stored": 80,
        "collisions_detected": 20,
        "collision_rate": 0.2,
        "duration_ms": 1500,
    }
    batch = loads(
        IngestionBatch,
        MADE
        | {
            "run_id": "b1",
            "started_at": "2025-12-21T14:28:00Z",
            "ended_at": "2025-12-21T14:28:02Z",
            "status": "SUCCEEDED",
            "tickers_processed": ["AAPL"],
            "sources_queried": ["tiingo", "finnhub"],
            "metrics": metrics,
            "errors": [],
        },
    )
    assert (batch.batch_id, format_time(batch.completed_at)) == ("b1", "2025-12-21T14:28:02Z")
    assert isinstance(batch.metrics, CollisionMetrics)
    assert JobRun.from_document(batch.to_document()).to_document() == batch.to_document()


def test_observations_of_two_sources_on_one_day() -> None:
    common = {"source_id": ARTICLE_ID, "observed_day": "2026-01-06", "scraped_at": "2026-01-06T02:00:00Z"}
    said = {"url": "https://timo.vn/1", "headline": "4.5", "published_at": "2026-01-06T01:00:00Z", "revision": "1"}
    both = [
        loads(Observation, MADE | common | said | {"source": source, "source_priority": priority, "article_id": "1"})
        for source, priority in (("timo", 1), ("24hmoney", 2))
    ]
    assert [each.id for each in both] == ["obs:timo:20260106", "obs:24hmoney:20260106"]
    assert both[0].partition == both[1].partition


@pytest.mark.parametrize("priority", [1.0, 1.2, 1.5])
def test_feed_with_schedule_and_statistics(priority: float) -> None:
    feed = loads(
        Feed,
        MADE
        | {
            "feed_id": "bloomberg-markets",
            "feed_url": "https://www.bloomberg.com/feed/markets.rss",
            "source_name": "Bloomberg",
            "next_fetch_time": "2026-02-21T20:00:00Z",
            "priority_score": priority,
            "enabled": True,
            "etag": 'W/"abc"',
            "last_modified": "Sat, 21 Feb 2026 20:00:00 GMT",
            "articles_per_hour": 3.5,
            "hourly_distribution": list(range(24)),
            "last_fetch_time": "2026-02-21T19:55:00Z",
            "last_successful_fetch": "2026-02-21T19:55:00Z",
            "total_articles_fetched": 120,
            "consecutive_errors": 0,
            "avg_articles_per_fetch": 1.5,
        },
    )
    assert feed.hour_multiplier(23) == 2.0
    assert Feed.from_document(feed.to_document() | {"hourly_distribution": []}).hour_multiplier(0) == 1.0


def test_nova_as_tool() -> None:
    tool = loads(
        Tool,
        MADE
        | {
            "pk": TOOL_ID,
            "id": "TOOL",
            "entity_type": "Tool",
            "schema_version": "1",
            "tool_id": TOOL_ID,
            "primary_name": "V1324 Sco",
            "primary_name_normalized": "v1324 sco",
            "status": "ACTIVE",
            "discovery_date": "2012-06-01",
        },
    )
    assert tool.partition == TOOL_ID


def test_name_mapping() -> None:
    loads(
        ToolName,
        MADE
        | {
            "entity_type": "NameMapping",
            "schema_version": "1",
            "name_raw": "V1324 Sco",
            "name_normalized": "v1324 sco",
            "name_kind": "PRIMARY",
            "tool_id": TOOL_ID,
            "source": "INGESTION",
        },
    )


def test_photometry_table_as_timeline() -> None:
    loads(
        Timeline,
        MADE
        | {
            "pk": TOOL_ID,
            "id": "TIMELINE",
            "entity_type": "DataProduct",
            "schema_version": "1",
            "tool_id": TOOL_ID,
            "product_type": "TIMELINE",
            "last_ingestion_at": "2026-02-23T18:00:00Z",
            "last_ingestion_source": "api_upload:amateur_batch_2026_02",
            "ingestion_count": 3,
            "hours": {"20260223": "3,1,2,1500000,0," + "0," * 90 + "3,1,2,1500000,0" + ",0" * 25},
        },
    )


PRODUCT = MADE_EARLIER | {
    "source_id": ARTICLE_ID,
    "id": "DOCUMENT",
    "entity_type": "DataProduct",
    "schema_version": "1",
    "product_type": "DOCUMENT",
    "provider": "ESO",
    "locator_identity": "provider_product_id:SPEC12345",
    "locators": [{"kind": "URL", "role": "PRIMARY", "value": "https://example.provider/spectra/SPEC12345.fits"}],
}


def test_discovered_stub() -> None:
    stub = loads(
        DocumentProduct,
        PRODUCT
        | {
            "hints": {"instrument": "UVES", "pipeline_tag": "v3"},
            "acquisition_status": "STUB",
            "validation_status": "UNVALIDATED",
            "eligibility": "ACQUIRE",
            "attempt_count": 0,
        },
    )
    assert stub.data_product_id == DocumentProduct.from_document(PRODUCT).data_product_id


def test_validated_document() -> None:
    loads(
        DocumentProduct,
        PRODUCT
        | {
            "acquisition_status": "ACQUIRED",
            "validation_status": "VALID",
            "eligibility": "NONE",
            "attempt_count": 1,
            "last_attempt_at": "2026-02-23T18:10:00Z",
            "next_eligible_attempt_at": None,
            "last_error_fingerprint": None,
            "byte_length": 184233,
            "etag": '"9b2cf535f27731c974343645a3985328"',
            "sha256": SHA256,
            "header_signature_hash": "hsig:2f91...aa1c",
            "extraction_profile_id": "eso_uves_v3@1.0.0",
            "profile_selection_inputs": {
                "provider": "ESO",
                "hints": {"instrument": "UVES", "pipeline_tag": "v3"},
                "header_signature_hash": "hsig:2f91...aa1c",
            },
            "normalization_notes": ["Mapped WAVE axis from ESO keyword set; units Å -> m."],
            "raw_archive_container": "nova-cat-private-data",
            "raw_archive_key": "raw/spectra/primary.fits",
        },
    )


def test_quarantined_document() -> None:
    held = loads(
        DocumentProduct,
        PRODUCT
        | {
            "provider": "AMATEUR",
            "locator_identity": "url:https://example.org/uploads/spectrum_001.fits",
            "acquisition_status": "ACQUIRED",
            "validation_status": "QUARANTINED",
            "eligibility": "NONE",
            "attempt_count": 1,
            "last_attempt_at": "2026-02-23T18:20:00Z",
            "last_error_fingerprint": "VALIDATION_UNKNOWN_PROFILE",
            "quarantine_reason_code": "UNKNOWN_PROFILE",
            "manual_review_status": "PENDING",
        },
    )
    assert held.ttl_timestamp is None


def test_locator_alias() -> None:
    loads(
        LocatorAlias,
        MADE
        | {
            "entity_type": "LocatorAlias",
            "schema_version": "1",
            "provider": "ESO",
            "locator_identity": "provider_product_id:SPEC12345",
            "data_product_id": "2c7d1f4d-5b7a-4a4d-9f31-8d3b4fd0d4d9",
            "source_id": ARTICLE_ID,
        },
    )


def test_file_object() -> None:
    loads(
        FileObject,
        MADE_EARLIER
        | {
            "source_id": ARTICLE_ID,
            "id": "FILE:RAW:primary",
            "entity_type": "FileObject",
            "schema_version": "1",
            "product_type": "DOCUMENT",
            "role": "RAW",
            "name": "primary",
            "archive_container": "nova-cat-private-data",
            "archive_key": "raw/spectra/primary.fits",
            "content_type": "application/fits",
            "byte_length": 184233,
            "etag": '"9b2cf535f27731c974343645a3985328"',
            "sha256": SHA256,
            "created_by": {"workflow": "acquire_and_validate_spectra", "job_run_id": RUN_ID},
        },
    )


def test_reference_and_its_role() -> None:
    made = parse_time("2026-02-23T18:30:05Z")
    known = Tool(
        tool_id=TOOL_ID,
        primary_name="Nova Sco 2012",
        created_at=made,
        updated_at=made,
        discovery_reference=ARTICLE_ID,
    )
    example = {
        "source": "ADS",
        "source_identifier": "2012ATel.XXXX....1A",
        "title": "Discovery of Nova Sco 2012",
        "published_at": "2012-06-01T00:00:00Z",
        "created_at": "2026-02-23T18:30:00Z",
        "role": "DISCOVERY",
    }
    reference = Reference.model_validate({**example, "source_id": ARTICLE_ID})
    served = ReferenceResource.of(reference, known, article_exists=False).shown()
    assert {name: served[name] for name in example} == example
    assert str(UUID(served["reference_id"])) == served["reference_id"]
    assert served["added_by_workflow"] == "analyze_articles"


def test_job_run() -> None:
    run = loads(
        JobRun,
        MADE_EARLIER
        | {
            "entity_type": "JobRun",
            "schema_version": "1",
            "run_id": RUN_ID,
            "workflow_name": "acquire_and_validate_spectra",
            "invocation_id": "arn:aws:states:us-east-1:123456789012:execution:AcquireAndValidateSpectra",
            "status": "SUCCEEDED",
            "started_at": "2026-02-23T18:10:00Z",
            "ended_at": "2026-02-23T18:12:00Z",
        },
    )
    assert run.is_finished


def test_attempt_and_its_row_of_fetch_history() -> None:
    example = MADE_EARLIER | {
        "entity_type": "Attempt",
        "schema_version": "1",
        "run_id": RUN_ID,
        "task_name": "download_bytes",
        "subject": "reuters-world",
        "attempt_no": 1,
        "status": "SUCCEEDED",
        "started_at": "2026-02-23T18:10:10Z",
        "duration_ms": 8423,
    }
    loads(Attempt, example)
    loads(Attempt, example | {"status_code": 200, "articles_found": 12, "articles_new": 8})
    loads(Attempt, example | {"status": "FAILED", "error_type": "TimeoutError", "error_message": "read timed out"})
