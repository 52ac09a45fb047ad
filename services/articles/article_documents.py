"""Builds the documents of an article: article, canonical reading, observations, locator aliases and hashes. Pure.

Documents are built as dicts, in the shape of models/article.py, models/observation.py and models/locator.py (a
test compares them): validating sixty models at each fetch would cost more than storing them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from models.article import (
    LOWEST_PRIORITY,
    Article,
    ArticleDocument,
    AttributionDocument,
    ReadingDocument,
)
from models.locator import ALIAS_KEPT, seen_key
from models.observation import ObservationDocument
from models.values import format_time
from services.articles.identity import Candidate, Source
from services.parse.text import one_line
from services.ports import Document

ARTICLE_SECONDS = 30 * 86_400
MOST_TAGS = 100
LONGEST_DATE = 200
ALIAS_SECONDS = int(ALIAS_KEPT.total_seconds())


class Moment:
    """The time at which an attempt works, in the forms that documents need. Each attempt at a feed has a later one."""

    __slots__ = ("at", "seconds", "text")

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.text = format_time(at)
        self.seconds = int(at.timestamp())


def new_article(
    candidate: Candidate, source: Source, source_id: str, run_id: str | None, now: Moment
) -> ArticleDocument:
    item = candidate.entry.item
    key = source_id.removeprefix("dedup:")
    attribution = _attribution(candidate, source, now.text, now.text, run_id)
    article: ArticleDocument = {
        "id": Article.ID,
        "source_id": source_id,
        **_common("Article", now, ARTICLE_SECONDS),  # type: ignore[typeddict-item]
        "dedup_key": key,
        "timestamp": attribution["published_at"],
        "headline": item.headline,
        "normalized_headline": candidate.normalized_headline,
        # A locator alias without an article, left by a crash, may name a key that this headline no longer gives.
        "url_in_key": not candidate.normalized_headline or key != candidate.plain_key,
        "sources": [source.key],
        "source_attribution": {source.key: attribution},
        "canonical": _reading(source.key, attribution),
        "status": "pending",
        "analysis_due_since": now.text,
        "analysis_attempts": 0,
        "matched_tickers": list(item.tickers),
        "detected_tool_ids": [],
        "tags": list(item.tags),
    }
    if run_id is not None:
        article["created_by_run"] = run_id
    if candidate.flag is not None:
        article["published_flag"] = candidate.flag
    if candidate.text:
        article["text_for_analysis"] = candidate.text
    return article


def with_source(
    article: ArticleDocument, candidate: Candidate, source: Source, run_id: str | None, now: Moment
) -> ArticleDocument:
    """The article with one source more. Of two sources with the same crawl time, the one that was there stays first."""
    own = _attribution(candidate, source, now.text, now.text, run_id)
    attributions = {**article["source_attribution"], source.key: own}
    sources = sorted([*article["sources"], source.key], key=lambda key: attributions[key]["crawl_timestamp"])
    return _with_candidate({**article, "sources": sources}, attributions, candidate, source, now)


def with_edit(article: ArticleDocument, candidate: Candidate, source: Source, now: Moment) -> ArticleDocument:
    """The article as its source has edited it. When the source first published it stays as it was."""
    own = article["source_attribution"][source.key]
    edited = _attribution(candidate, source, own["crawl_timestamp"], now.text, own.get("added_by_run"))
    edited["published_at"] = own.get("published_at") or edited["published_at"]
    return _with_candidate(article, {**article["source_attribution"], source.key: edited}, candidate, source, now)


def with_candidate_priority(
    article: ArticleDocument, candidate: Candidate, source: Source, now: Moment
) -> ArticleDocument:
    """The article with its source's present priority, where the entry itself is as it was."""
    own: AttributionDocument = {**article["source_attribution"][source.key], "source_priority": source.priority}
    return _with_candidate(article, {**article["source_attribution"], source.key: own}, candidate, source, now)


def with_priority(article: ArticleDocument, key: str, priority: int, now: Moment) -> ArticleDocument:
    """The article with another priority of one source. Where this makes another source's reading the canonical one,
    the caller must fetch that source's text."""
    own: AttributionDocument = {**article["source_attribution"][key], "source_priority": priority}
    return _with_attributions(article, {**article["source_attribution"], key: own}, now, {})


def priority_in(article: ArticleDocument, key: str) -> int:
    """The priority of a source as the article has it."""
    priority = article["source_attribution"][key].get("source_priority")
    return LOWEST_PRIORITY if priority is None else int(priority)


def observation_with_text(before: ArticleDocument | None, after: ArticleDocument, source: Source) -> str | None:
    """The id of the observation that has the text of the canonical reading, if neither the article nor the source's
    entry has that text."""
    canonical = after["canonical"]["source"]
    if before is None or canonical in (source.key, before["canonical"]["source"]):
        return None
    return after["canonical"]["observation_id"]


def analysed_alike(before: ArticleDocument, after: ArticleDocument) -> bool:
    """Whether an analysis of `after` would read the same as one of `before`."""
    if any(before["canonical"].get(name) != after["canonical"].get(name) for name in ("headline", "revision")):
        return False
    return all(before.get(name) == after.get(name) for name in ("text_for_analysis", "matched_tickers", "tags"))


def observation(
    article: ArticleDocument, candidate: Candidate, source: Source, now: Moment, earlier: ObservationDocument | None
) -> ObservationDocument:
    """What the source publishes now, filed under the day on which it first published this revision.

    `earlier` is the document that is stored under this id: an earlier revision of the same day.
    """
    item = candidate.entry.item
    own = article["source_attribution"][source.key]
    scraped_at = own["scraped_at"]
    document: ObservationDocument = {
        "id": observation_id(source.key, scraped_at),
        "source_id": article["source_id"],
        **_common("Observation", now, ARTICLE_SECONDS),  # type: ignore[typeddict-item]
        "source": source.key,
        "source_priority": source.priority,
        "observed_day": scraped_at[:10],
        "scraped_at": scraped_at,
        "article_id": candidate.article_id,
        "url": item.url,
        "headline": item.headline,
        "published_at": own["published_at"],
        "tags": list(item.tags),
        "tickers": list(item.tickers),
        "revision": candidate.revision,
        "parse_warnings": [*item.mended, *([f"date_{candidate.flag}"] if candidate.flag is not None else [])],
    }
    if candidate.text:
        document["text"] = candidate.text
    if item.publisher:
        document["publisher"] = item.publisher
    if candidate.flag is not None:
        document["published_flag"] = candidate.flag
        if raw_value := one_line(item.date_text[:LONGEST_DATE]):
            document["raw_value"] = raw_value
    if earlier is not None:
        document["created_at"], document["ttl_timestamp"] = earlier["created_at"], earlier["ttl_timestamp"]
        if "added_by_attempt" in earlier:
            document["added_by_attempt"] = earlier["added_by_attempt"]
        if "created_article" in earlier:
            document["created_article"] = earlier["created_article"]
    return document


@lru_cache(maxsize=1024)
def observation_id(source: str, scraped_at: str) -> str:
    return f"obs:{source}:{scraped_at[:4]}{scraped_at[5:7]}{scraped_at[8:10]}"


def alias(candidate: Candidate, source: Source, source_id: str, now: Moment) -> Document:
    """The locator alias that says which article the entry's identity means."""
    return {
        "id": candidate.locator_id,
        "locator": candidate.locator_id,
        **_common("LocatorAlias", now, ALIAS_SECONDS),
        "provider": source.key,
        "locator_identity": candidate.locator,
        "source_id": source_id,
    }


def seen_hash(candidate: Candidate, source: Source, source_id: str, now: Moment, kept_seconds: int) -> Document:
    """The stored content hash of an ingested entry."""
    name = seen_key(source.key, candidate.entry.content_hash)
    return {
        "id": name,
        "locator": name,
        **_common("SeenHash", now, kept_seconds),
        "source": source.key,
        "content_hash": candidate.entry.content_hash,
        "revision": candidate.entry.form_hash,
        "source_id": source_id,
    }


def chosen_source(attributions: Mapping[str, AttributionDocument]) -> str:
    """The source of the canonical reading: the lowest priority number, then the revision that was first seen last,
    then the highest observation id."""

    def rank(key: str) -> tuple[int, str, str]:
        own = attributions[key]
        scraped_at = own.get("scraped_at") or own["crawl_timestamp"]
        priority = own.get("source_priority")
        return -(LOWEST_PRIORITY if priority is None else priority), scraped_at, observation_id(key, scraped_at)

    return max(attributions, key=rank)


@lru_cache(maxsize=256)
def _common(entity_type: str, now: Moment, kept_seconds: int) -> Mapping[str, Any]:
    return {
        "entity_type": entity_type,
        "schema_version": "1",
        "created_at": now.text,
        "updated_at": now.text,
        "ttl_timestamp": now.seconds + kept_seconds,
    }


def _attribution(
    candidate: Candidate, source: Source, crawled: str, scraped: str, run_id: str | None
) -> AttributionDocument:
    item = candidate.entry.item
    attribution: AttributionDocument = {
        "article_id": candidate.article_id,
        "url": item.url,
        "crawl_timestamp": crawled,
        "original_headline": item.headline,
        "source_priority": source.priority,
        "published_at": candidate.published_at,
        "scraped_at": scraped,
        "revision": candidate.revision,
    }
    if run_id is not None:
        attribution["added_by_run"] = run_id
    if item.publisher:
        attribution["source_name"] = item.publisher
    return attribution


def _reading(key: str, attribution: AttributionDocument) -> ReadingDocument:
    scraped_at = attribution.get("scraped_at") or attribution["crawl_timestamp"]
    priority = attribution.get("source_priority")
    reading: ReadingDocument = {
        "source": key,
        "source_priority": LOWEST_PRIORITY if priority is None else priority,
        "observation_id": observation_id(key, scraped_at),
        "headline": attribution["original_headline"],
        "url": attribution["url"],
        "published_at": attribution["published_at"],
        "scraped_at": scraped_at,
        "revision": attribution["revision"],
    }
    if attribution.get("source_name"):
        reading["publisher"] = attribution["source_name"]
    return reading


def _with_candidate(
    article: ArticleDocument,
    attributions: dict[str, AttributionDocument],
    candidate: Candidate,
    source: Source,
    now: Moment,
) -> ArticleDocument:
    item = candidate.entry.item
    more: dict[str, Any] = {
        "matched_tickers": _union(article.get("matched_tickers", ()), item.tickers),
        "tags": _union(article.get("tags", ()), item.tags),
    }
    if chosen_source(attributions) == source.key:
        more["text_for_analysis"] = candidate.text or None
    return _with_attributions(article, attributions, now, more)


def _with_attributions(
    article: ArticleDocument, attributions: dict[str, AttributionDocument], now: Moment, more: Mapping[str, Any]
) -> ArticleDocument:
    """The article with the reading that is canonical among these; its analysis is due if it would read otherwise."""
    key = chosen_source(attributions)
    after = cast(
        ArticleDocument,
        {
            **article,
            "updated_at": max(article["updated_at"], now.text),
            "source_attribution": attributions,
            "canonical": _reading(key, attributions[key]),
            **more,
        },
    )
    if not analysed_alike(article, after):
        after.setdefault("analysis_due_since", now.text)
        if article["status"] == "error":
            after["status"], after["analysis_attempts"] = "pending", 0
    return after


def _union(known: Iterable[str], more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*known, *more)))[:MOST_TAGS]
