"""The documents of an entry: locator alias, stored hash, observation, the attribution of its source, and tombstones.

Pure. Documents are built as dicts, in the shape of models/article.py and models/locator.py (a test compares them):
validating sixty models at each fetch would cost more than storing them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from models.article import ARTICLE_KEPT, Article, AttributionDocument, ObservationDocument, attempt_key
from models.locator import ALIAS_KEPT, seen_key
from models.values import format_time, unix_seconds
from services.articles.identity import Candidate, Source
from services.articles.sources import attribution_of, observation_id
from services.parse.text import one_line
from services.ports import Document

LONGEST_DATE = 200
OF_FIRST_OBSERVATION = frozenset(
    ("created_at", "ttl_timestamp", "added_by_attempt", "created_article", "joined_by", "article_timestamp")
)
"""What the first observation of a source keeps when a later one of the same day takes its place."""
_OF_FIRST_CRAWL = ("crawl_timestamp", "published_at", "added_by_run", "joined_by")
ARTICLE_SECONDS = int(ARTICLE_KEPT.total_seconds())
ALIAS_SECONDS = int(ALIAS_KEPT.total_seconds())


@dataclass(frozen=True, slots=True)
class SourceAttempt:
    """One attempt to ingest entries of one source. All documents that it writes carry its time.

    `at` is later than that of every earlier attempt at the source. `time` and `seconds` are `at` as documents have it.
    """

    source: Source
    run_id: str
    attempt_no: int
    at: datetime
    time: str = field(init=False)
    seconds: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", format_time(self.at))
        object.__setattr__(self, "seconds", int(self.at.timestamp()))

    @property
    def key(self) -> str:
        return attempt_key(self.run_id, self.source.key, self.attempt_no)


def alias(candidate: Candidate, source_id: str, attempt: SourceAttempt) -> Document:
    """The locator alias that names the article of the entry's identity."""
    document: Document = {
        "id": candidate.locator_id,
        "locator": candidate.locator_id,
        "provider": attempt.source.key,
        "locator_identity": candidate.locator,
        "source_id": source_id,
    }
    stamp(document, "LocatorAlias", attempt, ALIAS_SECONDS)
    return document


def seen_hash(candidate: Candidate, source_id: str, attempt: SourceAttempt, kept_seconds: int) -> Document:
    """The stored content hash of an ingested entry."""
    name = seen_key(attempt.source.key, candidate.entry.content_hash)
    document: Document = {
        "id": name,
        "locator": name,
        "source": attempt.source.key,
        "content_hash": candidate.entry.content_hash,
        "revision": candidate.entry.form_hash,
        "source_id": source_id,
    }
    stamp(document, "SeenHash", attempt, kept_seconds)
    return document


def stamp(document: Document, entity_type: str, attempt: SourceAttempt, kept_seconds: int) -> None:
    """Sets the fields that all documents have."""
    document["entity_type"] = entity_type
    document["schema_version"] = "1"
    document["created_at"] = document["updated_at"] = attempt.time
    document["ttl_timestamp"] = attempt.seconds + kept_seconds


def entry_observation(
    source_id: str,
    candidate: Candidate,
    attempt: SourceAttempt,
    own: AttributionDocument | None,
    earlier: ObservationDocument | None,
) -> ObservationDocument:
    """The observation of the candidate, under the day of the attempt, with the publication time that the source gave
    first: that of `own`, its attribution before.

    `earlier` may be an earlier revision of the same day, stored under this id.
    """
    item, source = candidate.entry.item, attempt.source
    document: ObservationDocument = {
        "id": observation_id(source.key, attempt.time),
        "source_id": source_id,
        "source": source.key,
        "source_priority": source.priority,
        "observed_day": attempt.time[:10],
        "scraped_at": attempt.time,
        "article_id": candidate.article_id,
        "url": item.url,
        "headline": item.headline,
        "published_at": own["published_at"] if own is not None else candidate.published_at,
        "tags": list(item.tags),
        "tickers": list(item.tickers),
        "revision": candidate.revision,
        "parse_warnings": [*item.repairs, *([f"date_{candidate.flag}"] if candidate.flag is not None else [])],
    }
    stamp(document, "Observation", attempt, ARTICLE_SECONDS)
    optional = {
        "text": candidate.text,
        "language": candidate.language,
        "publisher": item.publisher,
        "publisher_url": item.publisher_url,
    }
    document |= {name: value for name, value in optional.items() if value}
    if candidate.flag is not None:
        document["published_flag"] = candidate.flag
        if raw_value := one_line(item.date_text[:LONGEST_DATE]):
            document["raw_value"] = raw_value
    if earlier is None or earlier["id"] != document["id"]:
        return document
    kept = {name: value for name, value in earlier.items() if name in OF_FIRST_OBSERVATION}
    return {**document, **kept}


def edited_attribution(observation: ObservationDocument, own: AttributionDocument) -> AttributionDocument:
    """The attribution of a source after an edit. The first crawl time, the publication time, the run that added the
    source and the rule are kept from `own`, the one before."""
    kept = {name: value for name, value in own.items() if name in _OF_FIRST_CRAWL and value}
    return {**attribution_of([observation]), **kept}


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
