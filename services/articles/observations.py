"""Reads the observations of an article, and with them the sources that the article does not list itself.

Only an article with `has_further_sources` has such sources. attributions.py says what follows from observations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from models.article import Article, ArticleDocument, AttributionDocument, SourceAttribution
from models.observation import Observation, ObservationDocument
from services.articles.attributions import further_attributions, observation_ids
from services.ports import Document, Listed, Query, Store, Where, listed_documents, pages, query_all
from services.store.containers import ARTICLES

IS_OBSERVATION = (Where("entity_type", "eq", "Observation"), Where("deleted_at", "missing"))
MOST_SHOWN = 500
"""Sources and observations in the response for one article. A thousand sources take 400 kB, their texts 4 MB."""
_PAGE = 500


async def observations_of(store: Store, source_id: str, source: str | None = None) -> list[ObservationDocument]:
    """The observations of an article, or those of one source, by source and day."""
    return await query_all(store, ARTICLES.name, _query(source_id, source))


def _query(source_id: str, source: str | None = None) -> Query:
    where: tuple[Where, ...] = IS_OBSERVATION
    if source is not None:
        first, end = observation_ids(source)
        where = (*where, Where("id", "ge", first), Where("id", "lt", end))
    return Query(where, partition=source_id, limit=_PAGE)


async def first_observations(store: Store, source_id: str, most: int) -> list[Document]:
    """The first `most` observations of an article, by source and day."""
    found: list[Document] = []
    async for page in pages(store, ARTICLES.name, _query(source_id)):
        found += page.items
        if len(found) >= most:
            break
    return found[:most]


async def further_sources(store: Store, articles: Iterable[Document]) -> dict[str, list[tuple[str, str | None]]]:
    """The sources that articles do not list themselves, each with its first revision, by article; only articles that
    have such sources, and can be read that far."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    for article in articles:
        listed, timestamp = article.get("sources"), article.get("timestamp")
        if not article.get("has_further_sources") or article.get("deleted_at"):
            continue
        if isinstance(listed, list) and isinstance(timestamp, str):
            query = Query(further_in(timestamp), partition=article["source_id"], limit=_PAGE, may_be_stale=True)
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
    document = article.to_document()
    further = further_in(document["timestamp"])
    count = await store.count(ARTICLES.name, further, article.source_id, may_be_stale=True)
    return article.model_copy(update={"source_count": len(article.sources) + count})


async def with_further_sources(store: Store, article: Article, most: int = MOST_SHOWN) -> Article:
    """The article with the attributions of its sources, at most `most`, with that of its canonical reading among them;
    and with the number of all."""
    if not article.has_further_sources:
        return article
    document = article.to_document()
    own = await observations_of(store, article.source_id, article.canonical.source)
    further = further_attributions(document, _readable(own))
    room = max(most - len(article.sources), 0)
    for key, each in (await _first_further(store, document, room)).items():
        if len(further) < room:
            further.setdefault(key, each)
    known = {**article.source_attribution, **{key: SourceAttribution(**each) for key, each in further.items()}}
    sources = tuple(sorted(known, key=lambda key: known[key].crawl_timestamp))
    counted = await _with_source_count(store, article)
    return counted.model_copy(update={"sources": sources, "source_attribution": known})


def _readable(documents: Iterable[Document | ObservationDocument]) -> list[ObservationDocument]:
    """The observations that can be read. The others are logged."""
    found = listed_documents((dict(each) for each in documents), Observation.from_document, "id")
    return [each.to_document() for each in found.items]


async def _first_further(store: Store, article: ArticleDocument, most: int) -> dict[str, AttributionDocument]:
    """The attributions of at least `most` further sources, by the order of their ids, or of all."""
    read: list[ObservationDocument] = []
    async for page in pages(store, ARTICLES.name, _query(article["source_id"])):
        read += _readable(page.items)
        # The last source may have later observations on the next page.
        whole = [each for each in read if page.next is None or each["source"] != read[-1]["source"]]
        found = further_attributions(article, whole)
        if len(found) >= most:
            return found
    return further_attributions(article, read)
