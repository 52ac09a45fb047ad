"""The validation rules of the specifications: what breaks one is refused, with words that say what is allowed."""

from __future__ import annotations

import contextlib
import itertools
import re
import tomllib
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from models.errors import InvalidTransition, UnreadableDocument
from models.feed import feed_id_of
from models.run import attempt_id
from models.stored import StoredDocument
from models.tool import name_key, normalize_name
from models.version import VERSION
from services.store.containers import CONTAINERS
from tests import documents
from tests.documents import (
    EVERY_DOCUMENT,
    NOW,
    TOOL_ID,
    article,
    attempt,
    attribution,
    cache_entry,
    cache_metadata,
    document,
    feed,
    metrics,
    quarantined,
    run,
    tool,
)

LATER = NOW + timedelta(minutes=5)
Build = Callable[..., Any]

BROKEN: list[tuple[str, Build, dict[str, Any], str]] = [
    ("a percentage over 100", cache_entry, {"positive_percentage": 100.1}, "less than or equal to 100"),
    ("an average over 1", cache_entry, {"average_sentiment": 1.01}, "less than or equal to 1"),
    ("an average that is no number", cache_entry, {"average_sentiment": float("nan")}, "average_sentiment"),
    ("a negative count", cache_entry, {"positive_count": -1}, "greater than or equal to 0"),
    ("a count as text", cache_entry, {"positive_count": "1"}, "valid integer"),
    ("a count as a truth", cache_entry, {"positive_count": True}, "valid integer"),
    ("an unknown period", cache_entry, {"period": "DAY_1"}, "'HOUR_1', 'HOUR_24', 'DAY_7' or 'DAY_30'"),
    ("a tool that no id may hold", cache_entry, {"tool_id": "C#"}, r"without / \ ? #"),
    ("a negative duration", cache_metadata, {"last_refresh_duration_ms": -1}, "greater than or equal to 0"),
    ("a dedup key that is no hash", article, {"dedup_key": "A" * 32}, "32 hexadecimal"),
    ("a naive time", article, {"timestamp": datetime(2026, 2, 21)}, "with its offset"),  # noqa: DTZ001
    ("a source twice", article, {"sources": ("tiingo", "tiingo")}, "once"),
    ("a source without attribution", article, {"sources": ("tiingo", "finnhub")}, "once"),
    ("another one's reading", article, {"canonical": documents.reading(source="x")}, "one of the sources"),
    ("an analysis without figures", article, {"status": "analyzed"}, "a sentiment, or an"),
    ("a sentiment without a score", article, {"status": "analyzed", "sentiment": "neutral"}, "must have a score"),
    ("a score without a sentiment", article, {"status": "pending", "score": 0.5}, "score and polarity must be null"),
    ("nothing to normalise", article, {"normalized_headline": ""}, "must not be empty"),
    ("no source", article, {"sources": ()}, "at least 1 item"),
    ("an unknown status", article, {"status": "done"}, "'pending', 'analyzed' or 'error'"),
    ("an article without an end", article, {"ttl_timestamp": None}, "ttl_timestamp"),
    ("no article id", attribution, {"article_id": ""}, "at least 1 character"),
    ("no headline", attribution, {"original_headline": ""}, "at least 1 character"),
    ("a script for a URL", attribution, {"url": "javascript:alert(1)"}, "http or https URL"),
    ("a URL without a host", attribution, {"url": "https:///x"}, "with a host"),
    ("a URL with a space", attribution, {"url": "https://a.org/b c"}, "without spaces"),
    ("a day that is none", documents.observation, {"observed_day": "2026-02-30"}, "YYYY-MM-DD"),
    ("more collisions than articles", metrics, {"collisions_detected": 101}, "at most the sum"),
    ("a feed id with a slash", feed, {"feed_id": "a/b"}, "letters, digits"),
    ("a run that ended without an end", run, {"status": "FAILED"}, "ended_at"),
    ("an end of what runs", run, {"ended_at": NOW}, "ended_at"),
    ("an attempt before the first", attempt, {"attempt_no": 0}, "greater than or equal to 1"),
    ("an essay for an error", attempt, {"error_message": "x" * 501}, "at most 500"),
    ("a tool whose id is no UUID", tool, {"tool_id": "metadata"}, "UUID"),
    ("an empty alias", tool, {"aliases": (" ",), "name_rules": {}}, "none empty"),
    ("a name of spaces", documents.tool_name, {"name_raw": " \t"}, "besides spaces"),
    (
        "a 60th minute",
        documents.day_counts,
        {"hours": '{"2026022120":{"e/1":{"p":{"s":[[60,"",1,0,0,0,0,0]]}}}}'},
        "equal to 59",
    ),
    ("a 24th hour", documents.dirty_hour, {"hour": "2026022124"}, "yyyymmddhh"),
    ("a score over 1", documents.mention, {"score": 1.5}, "less than or equal to 1"),
    ("a reference of another day", documents.reference_day, {"day": "2026-02-20"}, "published on that day"),
]


@pytest.mark.parametrize(("build", "changes", "allowed"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_document_with_this_is_refused(build: Build, changes: dict[str, Any], allowed: str) -> None:
    with pytest.raises(ValueError, match=re.escape(allowed)):
        build(**changes)


@pytest.mark.parametrize("build", EVERY_DOCUMENT)
class TestEveryDocument:
    def test_has_the_partition_key_of_its_container_and_the_common_fields(self, build: Build) -> None:
        example: StoredDocument = build()
        stored = example.to_document()
        assert CONTAINERS[example.CONTAINER].partition_key == example.PARTITION_FIELD
        assert stored[example.PARTITION_FIELD] == example.partition
        assert stored["id"] == example.id
        assert {"entity_type", "schema_version", "created_at", "updated_at"} <= stored.keys()
        assert not re.search(r"[/\\?#]", example.id + example.partition)
        assert stored["created_at"] == "2026-02-21T20:00:00Z"

    def test_of_another_kind_id_or_version_after_the_next_is_refused(self, build: Build) -> None:
        for version in ("3", "0", 1, None, "latest"):
            with pytest.raises(ValueError, match="this version reads 1 or 2"):
                type(build()).from_document(build().to_document() | {"schema_version": version})
        for wrong in ({"entity_type": "Other"}, {"id": "other"}):
            with pytest.raises(ValueError, match=r"entity_type|does not fit"):
                type(build()).from_document(build().to_document() | wrong)

    def test_is_read_or_refused_as_unreadable_with_any_values_in_its_fields(self, build: Build) -> None:
        stored = build().to_document()
        wrong: Any
        for field, wrong in itertools.product(stored, (None, 7, -0.5, "x", [], ["x"], {}, {"x": {}}, True)):
            with contextlib.suppress(UnreadableDocument):
                type(build()).from_document(stored | {field: wrong})
        for field in stored:
            with contextlib.suppress(UnreadableDocument):
                type(build()).from_document({name: stored[name] for name in stored if name != field})
        with pytest.raises(UnreadableDocument):
            type(build()).from_document({})

    def test_changes_whole_and_only_in_fields_that_it_has(self, build: Build) -> None:
        stored = build().to_document() | {"_etag": "1"}
        changed = type(build()).from_document(stored).changed(LATER)
        assert (changed.updated_at, changed.created_at, changed.stored_etag) == (LATER, NOW, "1")
        with pytest.raises(TypeError, match="has no"):
            build().changed(LATER, colour="red")


def test_a_field_that_queries_filter_by_is_stored_even_with_its_default() -> None:
    assert article().to_document()["status"] == "pending"
    assert feed().to_document()["enabled"] is True
    assert feed().to_document()["priority_score"] == 1.0
    assert document().to_document()["eligibility"] == "ACQUIRE"
    assert tool().to_document()["primary_name_normalized"] == "visual studio code"


def test_an_error_never_quotes_what_was_wrong() -> None:
    with pytest.raises(ValueError, match="url") as caught:
        attribution(url="https://user:geheim @host")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://a.org:/x", "HTTP://a.org:8080", "https://[::1]:443?q", "https://u:p@a.org/"])
def test_a_url_may_have_every_part_that_rfc_3986_allows(url: str) -> None:
    """Also a colon without a port."""
    assert attribution(url=url).url == url


@pytest.mark.parametrize(
    ("build", "days"),
    [
        (article, 30),
        (documents.observation, 30),
        (documents.alias, 30),
        (documents.mention, 45),
        (documents.window_tables, 32),
        (documents.dirty_hour, 32),
        (document, 30),
        (documents.file_object, 30),
        (run, 14),
        (attempt, 14),
        (documents.cache_counters, 2),
        (documents.fetch_day, 34),
    ],
)
def test_a_document_lives_so_many_days_from_its_creation(build: Build, days: int) -> None:
    assert build().ttl_timestamp == int(NOW.timestamp()) + days * 86400


@pytest.mark.parametrize(
    "build",
    [cache_entry, documents.cache_generation, cache_metadata, feed, tool, documents.tool_name, quarantined],
)
def test_these_do_not_expire_by_themselves(build: Build) -> None:
    assert build().ttl_timestamp is None


def test_ids_follow_the_design() -> None:
    assert cache_entry().id == f"{TOOL_ID}:HOUR_24"
    assert documents.cache_generation().id == f"{TOOL_ID}:generation"
    assert (cache_metadata().partition, cache_metadata().id) == ("metadata", "metadata")
    assert documents.cache_counters().id == "metadata:2026022120"
    assert article().id == "article"
    assert documents.observation().id == "obs:tiingo:20260221"
    assert (document().id, documents.file_object().id) == ("DOCUMENT", "FILE:RAW:primary")
    assert (feed().id, documents.feed_seen().id) == ("feed", "seen")
    assert run().id == "RUN"
    assert attempt().id == "ATTEMPT:fetch_feed:reuters-world:1:20260221200000"
    assert attempt_id("t", "s", 2, NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))).endswith(
        ":2:20260221200000"
    )
    assert (tool().id, documents.timeline().id) == ("TOOL", "TIMELINE")
    assert (documents.day_counts().id, documents.dirty_hour().id) == ("COUNTS:20260221", "DIRTY:2026022120")
    assert documents.reference_day().id == "REFS:20260221"
    assert (documents.migration().partition, documents.migration().id) == ("MIGRATION", "0001")
    assert (documents.heartbeat().partition, documents.heartbeat().id) == ("HEARTBEAT", "clean_up")
    assert documents.tool_name().partition == name_key("vs code")
    assert feed_id_of("https://www.reuters.com/rssFeed/worldNews") == "878863e52d87ed64"


def test_names_keep_their_punctuation() -> None:
    assert normalize_name("  Visual\tStudio  CODE ") == "visual studio code"
    assert len({name_key(normalize_name(name)) for name in ("C", "C#", "C++", "c")}) == 3


def test_sources_are_in_the_order_in_which_they_came() -> None:
    later = attribution(crawl_timestamp=LATER)
    both = {"tiingo": attribution(), "finnhub": later}
    assert article(sources=("tiingo", "finnhub"), source_attribution=both).sources == ("tiingo", "finnhub")
    with pytest.raises(ValueError, match="order of their crawl_timestamp"):
        article(sources=("finnhub", "tiingo"), source_attribution=both)


def test_an_article_changes_its_status_only_as_allowed() -> None:
    analyzed = article().changed(LATER, status="analyzed", sentiment="positive", score=0.9)
    assert analyzed.changed(LATER, status="analyzed", score=0.8).score == 0.8
    with pytest.raises(InvalidTransition, match=r"^article status: analyzed cannot become pending$"):
        analyzed.changed(LATER, status="pending")


def test_only_a_person_lets_a_document_out_of_quarantine() -> None:
    held = document(acquisition_status="ACQUIRED").changed(
        LATER,
        validation_status="QUARANTINED",
        quarantine_reason_code="UNKNOWN_PROFILE",
        manual_review_status="PENDING",
        ttl_timestamp=None,
    )
    assert held.eligibility == "NONE"
    with pytest.raises(InvalidTransition, match="before its review is CLEARED_RETRY_APPROVED"):
        held.changed(LATER, validation_status="UNVALIDATED")
    with pytest.raises(InvalidTransition):
        held.changed(LATER, validation_status="TERMINAL_INVALID", manual_review_status="CLEARED_RETRY_APPROVED")
    again = held.changed(
        LATER,
        validation_status="UNVALIDATED",
        manual_review_status="CLEARED_RETRY_APPROVED",
        acquisition_status="STUB",
    )
    assert again.eligibility == "ACQUIRE"
    with pytest.raises(InvalidTransition, match="without a pending review"):
        again.changed(LATER, validation_status="QUARANTINED")


def test_a_quarantined_document_does_not_expire_before_it_was_reviewed() -> None:
    with pytest.raises(ValueError, match="must not expire before it was reviewed"):
        document(validation_status="QUARANTINED", quarantine_reason_code="OTHER", manual_review_status="PENDING")


def test_an_article_without_a_headline_has_its_url_in_the_key() -> None:
    assert article(normalized_headline="", url_in_key=True).url_in_key


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert project["project"]["version"] == VERSION
