"""What is known of each source of an article, whose reading is canonical, and which sources the article does not list.

An article lists the attributions of its first sources itself. A further source has observations only: its attribution
is made from them, so that a story which a thousand feeds publish is no document that a thousand writers change. Only an
article with `has_further_sources` has such sources; `sources_of` gives an article with all of them.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby

from models.article import (
    Article,
    ArticleDocument,
    AttributionDocument,
    Observation,
    ObservationDocument,
    ReadingDocument,
    SourceAttribution,
)
from models.values import format_time
from services.ports import Document, Listed, Query, Store, Where, listed_documents, query_all
from services.store.containers import ARTICLES

Attributions = Mapping[str, AttributionDocument]
Rank = tuple[int, str, int, str]

IS_OBSERVATION = (Where("entity_type", "eq", "Observation"), Where("deleted_at", "missing"))
MAX_SHOWN = 500
"""Sources and observations in the response for one article. A thousand sources take 400 kB, their texts 4 MB."""


@lru_cache(maxsize=1024)
def observation_id(source: str, scraped_at: str) -> str:
    return f"obs:{source}:{scraped_at[:4]}{scraped_at[5:7]}{scraped_at[8:10]}"


def observation_ids(source: str) -> tuple[str, str]:
    """The ids of all observations of a source are from the first of these on, and before the second."""
    return f"obs:{source}:", f"obs:{source};"


def chosen_source(attributions: Attributions) -> str:
    """The source of the canonical reading: the lowest priority number, then the revision that was first seen last,
    then the one that was stored last."""
    return max(attributions, key=lambda key: _rank(key, attributions[key]))


_OF_VERSION = ("publisher_url", "language", "stored_ms")
"""What an observation, its attribution and its reading may have alike."""


def chosen_reading(article: ArticleDocument, known: Attributions) -> ReadingDocument:
    """The canonical reading among the sources in `known` and the source of the present canonical reading."""
    source = chosen_source(known)
    present: ReadingDocument = article["canonical"]
    if present["source"] not in known and _rank(present["source"], present) > _rank(source, known[source]):
        return present
    return reading(source, known[source])


def is_listed(article: ArticleDocument, key: str) -> bool:
    """Whether the article itself has the attribution of the source."""
    return key in article["source_attribution"]


def reading(key: str, attribution: AttributionDocument) -> ReadingDocument:
    found: ReadingDocument = {
        "source": key,
        "source_priority": attribution["source_priority"],
        "observation_id": observation_id(key, attribution["scraped_at"]),
        "article_id": attribution["article_id"],
        "headline": present_headline(attribution),
        "url": attribution["url"],
        "published_at": attribution["published_at"],
        "scraped_at": attribution["scraped_at"],
        "revision": attribution["revision"],
    }
    if attribution.get("source_name"):
        found["publisher"] = attribution["source_name"]
    return found | {name: attribution[name] for name in _OF_VERSION if name in attribution}


def present_headline(attribution: AttributionDocument) -> str:
    return str(attribution.get("headline", attribution["original_headline"]))


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


def further_attributions(
    article: ArticleDocument, observations: Iterable[ObservationDocument]
) -> dict[str, AttributionDocument]:
    """The attributions of the sources that the article does not list, from its observations in the order of their
    ids."""
    by_source = groupby(observations, key=lambda each: each["source"])
    return {key: attribution_of(list(found)) for key, found in by_source if not is_listed(article, key)}


def _rank(key: str, version: AttributionDocument | ReadingDocument) -> Rank:
    return -version["source_priority"], version["scraped_at"], version.get("stored_ms", 0), key


async def observations_of(
    store: Store, source_id: str, source: str | None = None, most_pages: int = sys.maxsize
) -> list[ObservationDocument]:
    """The observations of an article, or those of one source, by source and day: all, or the first `most_pages` of
    MAX_SHOWN."""
    where: tuple[Where, ...] = IS_OBSERVATION
    if source is not None:
        first, end = observation_ids(source)
        where = (*where, Where("id", "ge", first), Where("id", "lt", end))
    return await query_all(store, ARTICLES.name, Query(where, partition=source_id, limit=MAX_SHOWN), most_pages)


async def further_sources(store: Store, articles: Iterable[Document]) -> dict[str, list[tuple[str, str | None]]]:
    """The sources that articles do not list themselves, each with its first revision, by article; only articles that
    have such sources, and can be read that far."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    for article in articles:
        listed, timestamp = article.get("sources"), article.get("timestamp")
        if not article.get("has_further_sources") or article.get("deleted_at"):
            continue
        if isinstance(listed, list) and isinstance(timestamp, str):
            query = Query(further_in(timestamp), partition=article["source_id"], limit=MAX_SHOWN, may_be_stale=True)
            documents = await query_all(store, ARTICLES.name, query)
            further = [(each["source"], each.get("revision")) for each in documents if each["source"] not in listed]
            found[article["source_id"]] = further
    return found


def further_in(timestamp: str) -> tuple[Where, ...]:
    """The conditions of the first observation of each further source of an article with this timestamp."""
    return Where("article_timestamp", "eq", timestamp), Where("deleted_at", "missing")


async def with_source_counts(store: Store, found: Listed[Article]) -> Listed[Article]:
    """The articles with the number of their sources."""
    items = [await _with_source_count(store, each) for each in found.items]
    return dataclasses.replace(found, items=items)


async def _with_source_count(store: Store, article: Article) -> Article:
    if not article.has_further_sources:
        return article
    further = further_in(format_time(article.timestamp))
    count = await store.count(ARTICLES.name, further, article.source_id, may_be_stale=True)
    return article.model_copy(update={"source_count": len(article.sources) + count})


async def sources_of(store: Store, article: Article, most: int = MAX_SHOWN) -> Article:
    """The article with the attributions of its sources, at most `most`, with that of its canonical reading among them;
    and with the number of all."""
    if not article.has_further_sources:
        return article
    document = article.to_document()
    own = await observations_of(store, article.source_id, article.canonical.source)
    others = await observations_of(store, article.source_id, most_pages=2)
    canonical, found = (further_attributions(document, _readable(each)) for each in (own, others))
    shown = {**canonical, **found, **canonical}  # with that of the canonical reading first
    further = dict(list(shown.items())[: max(most - len(article.sources), 0)])
    known = {**article.source_attribution, **{key: SourceAttribution(**each) for key, each in further.items()}}
    sources = tuple(sorted(known, key=lambda key: known[key].crawl_timestamp))
    counted = await _with_source_count(store, article)
    return counted.model_copy(update={"sources": sources, "source_attribution": known})


def _readable(documents: Iterable[Document | ObservationDocument]) -> list[ObservationDocument]:
    """The observations that can be read. The others are logged."""
    found = listed_documents((dict(each) for each in documents), Observation.from_document, "id")
    return [each.to_document() for each in found.items]
