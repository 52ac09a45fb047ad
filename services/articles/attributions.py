"""What is known of each source of an article, and whose reading is canonical. Pure.

An article lists the attributions of its first sources itself. A further source has observations only: its attribution
is made from them, so that a story which a thousand feeds publish is no document that a thousand writers change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby

from models.article import LOWEST_PRIORITY, ArticleDocument, AttributionDocument, ReadingDocument
from models.observation import ObservationDocument

Attributions = Mapping[str, AttributionDocument]
Rank = tuple[int, str, str]


def priority_of(attribution: AttributionDocument) -> int:
    priority = attribution.get("source_priority")
    return LOWEST_PRIORITY if priority is None else priority


@lru_cache(maxsize=1024)
def observation_id(source: str, scraped_at: str) -> str:
    return f"obs:{source}:{scraped_at[:4]}{scraped_at[5:7]}{scraped_at[8:10]}"


def observation_ids(source: str) -> tuple[str, str]:
    """The ids of all observations of a source are from the first of these on, and before the second."""
    return f"obs:{source}:", f"obs:{source};"


def chosen_source(attributions: Attributions) -> str:
    """The source of the canonical reading: the lowest priority number, then the revision that was first seen last,
    then the highest observation id."""
    return max(attributions, key=lambda key: _rank(key, attributions[key]))


def chosen_reading(article: ArticleDocument, known: Attributions) -> ReadingDocument:
    """The canonical reading among the sources in `known` and the source of the present canonical reading."""
    source = chosen_source(known)
    present: ReadingDocument = article["canonical"]
    if present["source"] not in known and _rank_of_reading(present) > _rank(source, known[source]):
        return present
    return reading(source, known[source])


def is_listed(article: ArticleDocument, key: str) -> bool:
    """Whether the article itself has the attribution of the source."""
    return key in article["source_attribution"]


def reading(key: str, attribution: AttributionDocument) -> ReadingDocument:
    scraped_at = _scraped_at(attribution)
    found: ReadingDocument = {
        "source": key,
        "source_priority": priority_of(attribution),
        "observation_id": observation_id(key, scraped_at),
        "article_id": attribution["article_id"],
        "headline": attribution["original_headline"],
        "url": attribution["url"],
        "published_at": attribution["published_at"],
        "scraped_at": scraped_at,
        "revision": attribution["revision"],
    }
    if attribution.get("source_name"):
        found["publisher"] = attribution["source_name"]
    if "publisher_url" in attribution:
        found["publisher_url"] = attribution["publisher_url"]
    if "language" in attribution:
        found["language"] = attribution["language"]
    return found


def attribution_of(observations: Sequence[ObservationDocument]) -> AttributionDocument:
    """The attribution of a source: `observations` are all of its observations of the article, by day."""
    first, last = observations[0], observations[-1]
    attribution: AttributionDocument = {
        "article_id": last["article_id"],
        "url": last["url"],
        "crawl_timestamp": first["created_at"],
        "original_headline": last["headline"],
        "source_priority": last.get("source_priority", LOWEST_PRIORITY),
        "published_at": last["published_at"],
        "scraped_at": last["scraped_at"],
        "revision": last["revision"],
    }
    if last.get("publisher"):
        attribution["source_name"] = last["publisher"]
    if "publisher_url" in last:
        attribution["publisher_url"] = last["publisher_url"]
    if "language" in last:
        attribution["language"] = last["language"]
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


def _rank(key: str, attribution: AttributionDocument) -> Rank:
    scraped_at = _scraped_at(attribution)
    return -priority_of(attribution), scraped_at, observation_id(key, scraped_at)


def _rank_of_reading(found: ReadingDocument) -> Rank:
    return -found.get("source_priority", LOWEST_PRIORITY), found["scraped_at"], found["observation_id"]


def _scraped_at(attribution: AttributionDocument) -> str:
    return str(attribution.get("scraped_at") or attribution["crawl_timestamp"])
