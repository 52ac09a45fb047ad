"""What is known of each source of an article, and whose reading is canonical."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache

from models.article import LISTED_SOURCES, Article, AttributionDocument, ObservationDocument, ReadingDocument
from services.ports import Listed, Query, Store, Where, query_all
from services.store.containers import ARTICLES

Attributions = Mapping[str, AttributionDocument]
Rank = tuple[int, str, int, str]

IS_OBSERVATION = (Where("entity_type", "eq", "Observation"), Where("deleted_at", "missing"))
MAX_SHOWN = 500
"""Sources and observations in the response for one article. A thousand sources take 400 kB, their texts 4 MB."""


@lru_cache(maxsize=1024)
def observation_id(source: str, scraped_at: str) -> str:
    return f"obs:{source}:{scraped_at[:4]}{scraped_at[5:7]}{scraped_at[8:10]}"


def chosen_source(attributions: Attributions) -> str:
    """The source of the canonical reading: the lowest priority number, then the revision that was first seen last,
    then the one that was stored last."""
    return max(attributions, key=lambda key: _rank(key, attributions[key]))


_OF_VERSION = ("publisher_url", "language", "stored_ms")
"""What an observation, its attribution and its reading may have alike."""


def chosen_reading(known: Attributions) -> ReadingDocument:
    """The canonical reading among these sources."""
    source = chosen_source(known)
    return reading(source, known[source])


def reading(key: str, attribution: AttributionDocument) -> ReadingDocument:
    found: ReadingDocument = {
        "source": key,
        "source_priority": attribution["source_priority"],
        "observation_id": observation_id(key, attribution["scraped_at"]),
        "article_id": attribution["article_id"],
        "headline": attribution.get("headline", attribution["original_headline"]),
        "url": attribution["url"],
        "published_at": attribution["published_at"],
        "scraped_at": attribution["scraped_at"],
        "revision": attribution["revision"],
    }
    if attribution.get("source_name"):
        found["publisher"] = attribution["source_name"]
    return found | {name: attribution[name] for name in _OF_VERSION if name in attribution}


def attribution_of(observations: Sequence[ObservationDocument]) -> AttributionDocument:
    """The attribution of a source: `observations` are all of its observations of the article, by day."""
    first, last = observations[0], observations[-1]
    original = first.get("original_headline", first["headline"])
    attribution: AttributionDocument = {
        "article_id": last["article_id"],
        "url": last["url"],
        "crawl_timestamp": first["created_at"],
        "original_headline": original,
        "source_priority": last["source_priority"],
        "published_at": last["published_at"],
        "scraped_at": last["scraped_at"],
        "revision": last["revision"],
    }
    if last.get("publisher"):
        attribution["source_name"] = last["publisher"]
    if last["headline"] != original:
        attribution["headline"] = last["headline"]
    attribution |= {name: last[name] for name in _OF_VERSION if name in last}
    if "added_by_attempt" in first:
        attribution["added_by_run"] = first["added_by_attempt"].rsplit(":", 2)[0]
    if "joined_by" in first:
        attribution["joined_by"] = first["joined_by"]
    return attribution


def _rank(key: str, version: AttributionDocument | ReadingDocument) -> Rank:
    return -version["source_priority"], version["scraped_at"], version.get("stored_ms", 0), key


async def observations_of(store: Store, source_id: str, most_pages: int = sys.maxsize) -> list[ObservationDocument]:
    """The observations of an article by source and day: all, or the first `most_pages` of MAX_SHOWN."""
    query = Query(IS_OBSERVATION, partition=source_id, limit=MAX_SHOWN)
    return await query_all(store, ARTICLES.name, query, most_pages)


def with_sources(article: Article, most: int) -> Article:
    """The article with at most so many of its sources, the first ones and that of its canonical reading, and with the
    number of all."""
    if len(article.sources) <= most:
        return article
    shown = article.sources[:most]
    if article.canonical.source not in shown:
        shown = (*shown[:-1], article.canonical.source)
    attribution = {key: article.source_attribution[key] for key in shown}
    count = {"source_count": len(article.sources)}
    return article.model_copy(update={"sources": shown, "source_attribution": attribution, **count})


def of_list(found: Listed[Article]) -> Listed[Article]:
    """The articles with as many sources as a list shows of each."""
    return dataclasses.replace(found, items=[with_sources(each, LISTED_SOURCES) for each in found.items])
