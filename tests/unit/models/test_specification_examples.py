"""The example documents of the specifications load, with their nouns put into ours (docs/adr/0004-models.md).

tests/data/specifications has one file for each.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from models.article import Article, Observation
from models.cache import CacheMetadata, SentimentCacheEntry
from models.document import DocumentProduct, FileObject
from models.feed import Feed, hour_multiplier
from models.locator import LocatorAlias
from models.resources.tools import ReferenceResource
from models.run import Attempt, CollisionMetrics, IngestionBatch, JobRun
from models.timeline import Timeline
from models.tool import Reference, Tool, ToolName
from models.values import format_time, parse_time

EXAMPLES = Path(__file__).parents[2] / "data" / "specifications"
MODELS: dict[str, Any] = {
    "article_with_two_sources": Article,
    "attempt": Attempt,
    "cache_metadata": CacheMetadata,
    "discovered_stub": DocumentProduct,
    "feed": Feed,
    "file_object": FileObject,
    "ingestion_batch": IngestionBatch,
    "job_run": JobRun,
    "locator_alias": LocatorAlias,
    "name_mapping": ToolName,
    "quarantined_document": DocumentProduct,
    "sentiment_cache_entry": SentimentCacheEntry,
    "timeline": Timeline,
    "tool": Tool,
    "validated_document": DocumentProduct,
}
TOOL_ID = "4e9b0e88-5d2b-4d1a-9a1a-4a4f6f0cb9b1"
ARTICLE_ID = "dedup:0a77c1f55b9a44d09f301b3c4f6ad111"


def loaded(name: str, **changes: Any) -> Any:
    """The model, after checking that all that the example says is stored again as it was said."""
    example = {**json.loads((EXAMPLES / f"{name}.json").read_text("utf-8")), **changes}
    return as_said(MODELS[name], example)


def as_said(model: Any, example: dict[str, Any]) -> Any:
    read = model.from_document(example)
    stored = read.to_document()
    said = {name: value for name, value in example.items() if not name.startswith("_") and value is not None}
    assert {name: stored.get(name) for name in said} == said
    return read


def test_every_example_has_its_model() -> None:
    assert sorted(MODELS) == sorted(file.stem for file in EXAMPLES.glob("*.json"))


@pytest.mark.parametrize("name", MODELS)
def test_an_example_is_stored_again_as_it_was_said(name: str) -> None:
    loaded(name)


def test_what_follows_from_the_entries_of_the_cache() -> None:
    assert loaded("sentiment_cache_entry").is_stale(parse_time("2026-02-21T20:00:00Z"))
    metadata = loaded("cache_metadata")
    assert format_time(metadata.last_refresh_at) == "2024-10-28T03:33:20Z"
    assert metadata.tools_refreshed_count == 2


def test_an_ingestion_batch_is_a_run_with_collision_metrics() -> None:
    batch = loaded("ingestion_batch")
    assert (batch.run_id, format_time(batch.ended_at)) == ("b1", "2025-12-21T14:28:02Z")
    assert isinstance(batch.metrics, CollisionMetrics)
    assert JobRun.from_document(batch.to_document()).to_document() == batch.to_document()
    assert loaded("job_run").is_finished


def test_observations_of_two_sources_on_one_day() -> None:
    made = {"created_at": "2026-02-21T20:00:00Z", "updated_at": "2026-02-23T18:10:00Z"}
    common = {"source_id": ARTICLE_ID, "observed_day": "2026-01-06", "scraped_at": "2026-01-06T02:00:00Z"}
    said = {"url": "https://timo.vn/1", "headline": "4.5", "published_at": "2026-01-06T01:00:00Z", "revision": "1"}
    both = [
        as_said(Observation, made | common | said | {"source": source, "source_priority": priority, "article_id": "1"})
        for source, priority in (("timo", 1), ("24hmoney", 2))
    ]
    assert [each.id for each in both] == ["obs:timo:20260106", "obs:24hmoney:20260106"]
    assert both[0].partition == both[1].partition


@pytest.mark.parametrize("priority", [1.0, 1.2, 1.5])
def test_a_feed_has_its_schedule_and_statistics(priority: float) -> None:
    feed = loaded("feed", priority_score=priority)
    again = Feed.from_document(feed.to_document() | {"hourly_distribution": []})
    assert hour_multiplier(feed.hourly_distribution, 23) == 2.0
    assert hour_multiplier(again.hourly_distribution, 0) == 1.0


def test_a_document_keeps_its_product_id_and_does_not_expire_in_quarantine() -> None:
    stub = loaded("discovered_stub")
    assert stub.data_product_id == DocumentProduct.from_document(stub.to_document()).data_product_id
    assert loaded("quarantined_document").ttl_timestamp is None


def test_reference_and_its_role() -> None:
    made = parse_time("2026-02-23T18:30:05Z")
    known = Tool(
        tool_id=TOOL_ID,
        primary_name="Nova Sco 2012",
        created_at=made,
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


def test_an_attempt_may_be_a_row_of_fetch_history() -> None:
    loaded("attempt", status_code=200, articles_found=12, articles_new=8)
    loaded("attempt", status="FAILED", error_type="TimeoutError", error_message="read timed out")
