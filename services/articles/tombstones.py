"""What is left of a deleted article. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from models.article import Article, CanonicalReading, SourceAttribution
from models.observation import ObservationDocument
from models.values import unix_seconds
from services.ports import Document

REDACTED = "[deleted]"
TOMBSTONE_KEPT = timedelta(days=365)
"""Longer than feeds list an entry, so that no poll brings back a deleted article."""
_KEPT = (
    *("id", "source_id", "entity_type", "schema_version", "created_at", "ttl_timestamp"),
    *("source", "source_priority", "observed_day", "scraped_at", "article_id", "url", "published_at", "revision"),
)


def tombstone(article: Article, now: datetime) -> Article:
    """The article with its ids and URLs, and without headlines, tags and text. The grouping must see it if the article
    is in a story."""
    attributions = {
        source: each.model_copy(update={"original_headline": REDACTED})
        for source, each in article.source_attribution.items()
    }
    return article.changed(
        now,
        deleted_at=now,
        headline=REDACTED,
        normalized_headline="deleted",
        source_attribution=attributions,
        canonical=article.canonical.model_copy(update={"headline": REDACTED}),
        scored_headline=None,
        other_words=None,
        tags=(),
        text_for_analysis=None,
        words=None,
        full_text=None,
        scored_text=None,
        analysis_due_since=None,
        grouping_due_since=article.grouping_due_since or (None if article.event_id is None else now),
        metadata=None,
        ttl_timestamp=unix_seconds(now + TOMBSTONE_KEPT),
    )


def bare_tombstone(source_id: str, mentioned_in: Iterable[str], now: datetime) -> Article:
    """The tombstone of an article that cannot be read: its id, and the tools whose mentions of it are to be deleted. An
    article must have a source, so its source is named `deleted`."""
    nowhere = "https://deleted.invalid/"
    own = SourceAttribution(article_id=source_id, url=nowhere, crawl_timestamp=now, original_headline=REDACTED)
    reading = CanonicalReading(
        source="deleted",
        observation_id="deleted",
        headline=REDACTED,
        url=nowhere,
        published_at=now,
        scraped_at=now,
        revision="deleted",
    )
    return Article(
        created_at=now,
        updated_at=now,
        ttl_timestamp=unix_seconds(now + TOMBSTONE_KEPT),
        dedup_key=source_id.removeprefix("dedup:"),
        timestamp=now,
        headline=REDACTED,
        normalized_headline="deleted",
        sources=("deleted",),
        source_attribution={"deleted": own},
        has_further_sources=True,
        canonical=reading,
        tool_ids_ever_detected=tuple(sorted(set(mentioned_in))),
        grouping_due_since=now,
        deleted_at=now,
    )


def observation_tombstone(observation: Document | ObservationDocument, time: str) -> Document:
    """The tombstone of an observation. It has no text. An export tells of it."""
    kept = {name: value for name, value in observation.items() if name in _KEPT}
    return {**kept, "updated_at": time, "headline": REDACTED, "deleted_at": time}
