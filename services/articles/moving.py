"""Moves one source, with its observations, from one article to another, as stored documents have it. Pure.

A person takes a source out of an article, and may take that back. source_moves.py reads and writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from models.article import LISTED_SOURCES, Article, ArticleDocument, AttributionDocument, JoinRule
from models.observation import ObservationDocument
from models.values import parse_time, unix_seconds
from services.articles.attributions import (
    attribution_of,
    chosen_reading,
    chosen_source,
    further_attributions,
    is_listed,
    reading,
)
from services.articles.entry_documents import ARTICLE_SECONDS
from services.articles.identity import dedup_key, normalize_headline
from services.articles.merge import MOST_TAGS
from services.articles.tombstones import tombstone
from services.parse.text import strip_publisher
from services.parse.urls import normalize_url

_OF_FIRST = ("crawl_timestamp", "published_at", "added_by_run")
_OF_FIRST_OBSERVATION = ("created_at", "ttl_timestamp", "added_by_attempt", "created_article", "joined_by")


class Key(NamedTuple):
    """What identifies the article that a source becomes."""

    dedup_key: str
    normalized_headline: str


def destination(article: ArticleDocument | None, source: str) -> str | None:
    """Where entries that match the article go, since the source was moved to another article. All entries that match
    an article whose last source was moved go with that source."""
    moved = (article or {}).get("moved_sources")
    if article is None or not moved:
        return None
    if source in moved:
        return moved[source]
    is_empty = article.get("deleted_at") and set(article["sources"]) <= moved.keys()
    return moved[article["sources"][0]] if is_empty else None


def own_attribution(
    article: ArticleDocument, own: Sequence[ObservationDocument], source: str
) -> AttributionDocument | None:
    """The attribution of the source, of which `own` are the observations; None if it is not in the article."""
    listed = article["source_attribution"].get(source)
    return listed or (attribution_of(own) if own else None)


def keys_of(article: ArticleDocument, own: AttributionDocument, source: str) -> tuple[Key, Key]:
    """The keys of the article that the source becomes: that of its headline, day and URL, under which other sources
    find it; and another one, for the case that an article has this key."""
    known = article["normalized_headline"]
    headline = normalize_headline(strip_publisher(own["original_headline"], (own.get("source_name"),)))
    if headline.startswith(known):
        headline = known
    try:
        url = normalize_url(own["url"])
    except ValueError:
        url = own["url"]
    day = parse_time(own["published_at"]).date()
    return (
        Key(dedup_key(headline, day, url), headline),
        Key(dedup_key(headline, day, f"{url}|{article['source_id']}|{source}"), headline),
    )


def new_article(
    own: AttributionDocument, observations: Sequence[ObservationDocument], source: str, key: Key, time: str
) -> ArticleDocument:
    """The article that the source becomes."""
    last = observations[-1]
    attribution: AttributionDocument = {**own, "joined_by": "person"}
    article: ArticleDocument = {
        "id": Article.ID,
        "source_id": f"dedup:{key.dedup_key}",
        "dedup_key": key.dedup_key,
        "entity_type": "Article",
        "schema_version": "1",
        "updated_at": time,
        "normalized_headline": key.normalized_headline,
        "url_in_key": True,
        "sources": [source],
        "source_attribution": {source: attribution},
        "canonical": reading(source, attribution),
        "status": "pending",
        "analysis_attempts": 0,
        "matched_tickers": _union((), observations, "tickers"),
        "detected_tool_ids": [],
        "tags": _union((), observations, "tags"),
    }
    if "language" in attribution:
        article["language"] = attribution["language"]
    if last.get("text"):
        article["text_for_analysis"] = last["text"]
    return _made_due(_of_first(article, attribution, observations), time)


def with_source(
    article: ArticleDocument,
    own: AttributionDocument,
    observations: Sequence[ObservationDocument],
    source: str,
    time: str,
    *,
    is_first: bool = False,
) -> ArticleDocument:
    """The article with the source, and `own` as its attribution. `is_first`: it was its first source."""
    known = article["source_attribution"]
    begins = is_first and own["crawl_timestamp"] <= known[article["sources"][0]]["crawl_timestamp"]
    after = article.copy()
    after["canonical"] = chosen_reading(article, {**known, source: own})
    if after["canonical"]["source"] == source:
        _set_text(after, observations[-1])
    after["tags"] = _union(article.get("tags", ()), observations, "tags")
    after["matched_tickers"] = _union(article.get("matched_tickers", ()), observations, "tickers")
    if begins or is_listed(article, source):
        sources = [each for each in article["sources"] if each != source]
        after["sources"] = [source, *sources] if begins else article["sources"]
        after["source_attribution"] = {**known, source: own}
    elif article.get("has_further_sources") or len(known) >= LISTED_SOURCES:
        after["has_further_sources"] = True
    else:
        attributions = after["source_attribution"] = {**known, source: own}
        after["sources"] = sorted((*article["sources"], source), key=lambda each: attributions[each]["crawl_timestamp"])
    moved = {each: to for each, to in article.get("moved_sources", {}).items() if each != source}
    after.pop("moved_sources", None)
    if moved:
        after["moved_sources"] = moved
    return _made_due(_of_first(after, own, observations) if begins else after, time)


def without_source(
    article: ArticleDocument, observations: Sequence[ObservationDocument], source: str, to: str, time: str
) -> ArticleDocument:
    """The article without the source, which is in the article `to` now. `observations` are those of all its sources.
    A tombstone if it has no other source."""
    own = [each for each in observations if each["source"] == source]
    rest = [each for each in observations if each["source"] != source]
    moved = {**article.get("moved_sources", {}), source: to}
    listed = {key: each for key, each in article["source_attribution"].items() if key != source}
    further = further_attributions(article, rest)
    if not listed and not further:
        emptied = tombstone(Article.from_document(article), parse_time(time)).changed(
            parse_time(time), moved_sources=moved, status=article["status"]
        )
        return emptied.to_document()  # type: ignore[return-value]
    after = article.copy()
    after["moved_sources"] = moved
    if not listed:
        first = min(further, key=lambda each: further[each]["crawl_timestamp"])
        listed = {first: further[first]}
    after["source_attribution"] = listed
    after["sources"] = [each for each in article["sources"] if each != source] or list(listed)
    known = {**further, **listed}
    if article["canonical"]["source"] == source:
        chosen = chosen_source(known)
        after["canonical"] = reading(chosen, known[chosen])
        name = after["canonical"]["observation_id"]
        _set_text(after, next((each for each in rest if each["id"] == name), None))
    after["tags"] = _left(article.get("tags", ()), own, rest, "tags")
    after["matched_tickers"] = _left(article.get("matched_tickers", ()), own, rest, "tickers")
    if article["sources"][0] == source:
        first = after["sources"][0]
        _of_first(after, listed[first], [each for each in rest if each["source"] == first])
    return _made_due(after, time)


def latest_attribution(
    known: AttributionDocument | None, moved: AttributionDocument, rule: JoinRule | None
) -> AttributionDocument:
    """The attribution of a source in the article that it goes to. `known`: what this article has of it already, by an
    earlier try; entries that were ingested meanwhile may be in either."""
    later = moved
    if known is not None:
        first = {name: each for name, each in known.items() if name in _OF_FIRST}
        newest = known if known.get("scraped_at", "") > moved.get("scraped_at", "") else moved
        later = {**newest, **first}  # type: ignore[typeddict-item]
    after = later.copy()
    after.pop("joined_by", None)
    if rule is not None:
        after["joined_by"] = rule
    return after


def not_older(moved: Sequence[ObservationDocument], there: Sequence[ObservationDocument]) -> list[ObservationDocument]:
    """The observations of a source to be written to the article that it goes to, which has those in `there`."""
    by_id = {each["id"]: each for each in there}
    found = []
    for each in moved:
        known = by_id.get(each["id"])
        if known is None:
            found.append(each)
        elif known["scraped_at"] < each["scraped_at"]:
            kept = {name: value for name, value in known.items() if name in _OF_FIRST_OBSERVATION}
            found.append({**each, **kept})  # type: ignore[typeddict-item]
    return found


def in_article(
    observations: Sequence[ObservationDocument], article: ArticleDocument, source: str
) -> list[ObservationDocument]:
    """The observations of the source as those of this article."""
    found = []
    for number, each in enumerate(observations):
        copied: ObservationDocument = {**each, "source_id": article["source_id"]}
        copied.pop("article_timestamp", None)
        if number == 0 and not is_listed(article, source):
            copied["article_timestamp"] = article["timestamp"]
        found.append(copied)
    return found


def with_present_time(
    article: ArticleDocument, observations: Iterable[ObservationDocument]
) -> list[ObservationDocument]:
    """The observations that must change, so that the further sources of the article are found by its timestamp."""
    found = []
    for each in observations:
        wanted = None if is_listed(article, each["source"]) else article["timestamp"]
        if "article_timestamp" in each and each["article_timestamp"] != wanted:
            changed = each.copy()
            changed.pop("article_timestamp")
            if wanted is not None:
                changed["article_timestamp"] = wanted
            found.append(changed)
    return found


def _of_first(
    article: ArticleDocument, own: AttributionDocument, observations: Sequence[ObservationDocument]
) -> ArticleDocument:
    """Sets what an article has of its first source."""
    crawled = own["crawl_timestamp"]
    article["timestamp"] = own.get("published_at", crawled)
    article["headline"] = own["original_headline"]
    article["created_at"] = crawled
    article["ttl_timestamp"] = unix_seconds(parse_time(crawled)) + ARTICLE_SECONDS
    article.pop("published_flag", None)
    if observations and "published_flag" in observations[0]:
        article["published_flag"] = observations[0]["published_flag"]
    article.pop("created_by_run", None)
    if "added_by_run" in own:
        article["created_by_run"] = own["added_by_run"]
    return article


def _set_text(article: ArticleDocument, observation: ObservationDocument | None) -> None:
    """Sets the text and the language of the canonical reading."""
    article.pop("text_for_analysis", None)
    if observation is not None and observation.get("text"):
        article["text_for_analysis"] = observation["text"]
    article.pop("language", None)
    if "language" in article["canonical"]:
        article["language"] = article["canonical"]["language"]


def _made_due(article: ArticleDocument, time: str) -> ArticleDocument:
    """Makes analysis and grouping due, whatever the last analysis read: a worker that has died since may have written
    mentions of another reading."""
    article["updated_at"] = max(article["updated_at"], time)
    article.setdefault("analysis_due_since", time)
    article["grouping_due_since"] = time
    article.pop("analyzed_revision", None)
    if article["status"] == "error":
        article["status"], article["analysis_attempts"] = "pending", 0
    return article


def _union(known: Iterable[str], observations: Iterable[ObservationDocument], field: str) -> list[str]:
    return list(dict.fromkeys((*known, *_values(observations, field))))[:MOST_TAGS]


def _left(
    known: Iterable[str], own: Iterable[ObservationDocument], rest: Iterable[ObservationDocument], field: str
) -> list[str]:
    """`known` without what only the observations in `own` have."""
    gone = set(_values(own, field)) - set(_values(rest, field))
    return [each for each in known if each not in gone]


def _values(observations: Iterable[ObservationDocument], field: str) -> Collection[str]:
    return [value for each in observations for value in each.get(field, ())]  # type: ignore[attr-defined]
