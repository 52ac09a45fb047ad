"""What is left of a deleted article. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from models.article import Article
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


def observation_tombstone(observation: Document | ObservationDocument, time: str) -> Document:
    """The tombstone of an observation. It has no text. An export tells of it."""
    kept = {name: value for name, value in observation.items() if name in _KEPT}
    return {**kept, "updated_at": time, "headline": REDACTED, "deleted_at": time}
