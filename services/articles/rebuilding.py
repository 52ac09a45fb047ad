"""Moves sources with one link between an article and the article of that link, both made anew from their observations.

A person splits a source off an article, or takes that back. Pure; splitting.py reads and writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from models.article import Article, ArticleDocument, AttributionDocument, source_id
from models.observation import ObservationDocument
from models.values import parse_time, unix_seconds
from services.articles.entry_documents import ARTICLE_SECONDS, OF_FIRST_OBSERVATION
from services.articles.identity import dedup_key
from services.articles.merge import MOST_TAGS
from services.articles.sources import attribution_of, chosen_source, reading
from services.articles.tombstones import tombstone
from services.parse.urls import link_of

_KEPT = ("source_priority", "joined_by")
"""What the article itself knows better of a source than the observations: a priority that was changed since, and that
a person made the source an article of its own."""

Attributions = dict[str, AttributionDocument]
Observations = Sequence[ObservationDocument]


@dataclass(frozen=True, slots=True)
class Parts:
    """An article with its observations, by source and day."""

    article: ArticleDocument
    observations: Observations

    @property
    def source_id(self) -> str:
        return str(self.article["source_id"])

    def attributions(self) -> Attributions:
        found: Attributions = {}
        for key, own in groupby(self.observations, key=lambda each: each["source"]):
            listed = self.article["source_attribution"].get(key, {})
            kept = {name: value for name, value in listed.items() if name in _KEPT}
            found[key] = {**attribution_of(list(own)), **kept}
        return found


@dataclass(frozen=True, slots=True)
class Moved:
    """Both articles after the move. `left` is a tombstone if none of its sources stayed."""

    joined: Parts
    left: Parts


def with_link(known: Mapping[str, AttributionDocument], link: str) -> set[str]:
    """The sources whose entry has the link."""
    return {key for key, each in known.items() if link_of(each["url"]) == link}


def id_with_link(article: ArticleDocument, link: str) -> str:
    """The article that entries with this headline, day and link are."""
    return source_id(dedup_key(article["normalized_headline"], date.fromisoformat(article["timestamp"][:10]), link))


def moved(
    left: Parts, joined: Parts | None, to: str, leaving: Collection[str], time: str, most_listed: int, *, is_split: bool
) -> Moved:
    """The sources `leaving` go from `left` to the article with the id `to`. `is_split`: a person made them an article
    of their own, else they return."""
    own = left.attributions()
    moving = {key: each for key, each in own.items() if key in leaving}
    links = {link_of(each["url"]): to for each in moving.values()}
    moving = {key: _as_split(each) if is_split else _as_returned(each, key, left) for key, each in moving.items()}
    observations = [each for each in left.observations if each["source"] in leaving]
    there: Attributions = {}
    if joined is None or joined.article.get("deleted_at"):
        article = _new_article(left.article, to, next(iter(moving.values())), observations, time)
        if joined is not None:
            article["tool_ids_ever_detected"] = joined.article.get("tool_ids_ever_detected", [])
            article["grouping_corrections"] = joined.article.get("grouping_corrections", [])
    else:
        there = joined.attributions()
        article = _with_pins(joined.article, {}, gone=links)
        observations = _with_those(joined.observations, observations, to)
    staying = [each for each in left.observations if each["source"] not in leaving]
    present = Parts(_with_pins(left.article, links), staying)
    return Moved(
        _rebuilt(Parts(article, observations), {**there, **moving}, time, most_listed),
        _rebuilt(present, {key: each for key, each in own.items() if key not in leaving}, time, most_listed),
    )


def _as_split(own: AttributionDocument) -> AttributionDocument:
    return {**own, "joined_by": "person"}


def _as_returned(own: AttributionDocument, key: str, left: Parts) -> AttributionDocument:
    """With the rule by which the source was in the article before."""
    rule = next((each.get("joined_by") for each in left.observations if each["source"] == key), None)
    after = own.copy()
    after.pop("joined_by", None)
    if rule is not None:
        after["joined_by"] = rule
    return after


def _new_article(
    left: ArticleDocument, to: str, own: AttributionDocument, observations: Observations, time: str
) -> ArticleDocument:
    """The article of a link, still without its sources. Its time is that of its first source."""
    crawled = own["crawl_timestamp"]
    article: ArticleDocument = {
        "id": Article.ID,
        "entity_type": "Article",
        "schema_version": "1",
        "source_id": to,
        "dedup_key": to.removeprefix("dedup:"),
        "timestamp": own.get("published_at", crawled),
        "headline": own["original_headline"],
        "normalized_headline": left["normalized_headline"],
        "url_in_key": True,
        "created_at": crawled,
        "updated_at": time,
        "ttl_timestamp": unix_seconds(parse_time(crawled)) + ARTICLE_SECONDS,
        "status": "pending",
        "analysis_attempts": 0,
        "detected_tool_ids": [],
    }
    if "published_flag" in observations[0]:
        article["published_flag"] = observations[0]["published_flag"]
    if "added_by_run" in own:
        article["created_by_run"] = own["added_by_run"]
    return article


def _with_pins(article: ArticleDocument, links: Mapping[str, str], gone: Iterable[str] = ()) -> ArticleDocument:
    """The article with pins for these links, and without those in `gone`."""
    pins = {link: to for link, to in article.get("split_links", {}).items() if link not in gone} | dict(links)
    after = article.copy()
    after.pop("split_links", None)
    if pins:
        after["split_links"] = pins
    return after


def _with_those(there: Observations, coming: Observations, to: str) -> list[ObservationDocument]:
    """The observations of an article with those that come to it. Of two of one source and day, the later one: an entry
    may have been ingested while the split was under way."""
    found = {each["id"]: each for each in there}
    for each in coming:
        known = found.get(each["id"], each)
        latest = known if known["scraped_at"] > each["scraped_at"] else each
        kept = {name: value for name, value in each.items() if name in OF_FIRST_OBSERVATION}
        found[each["id"]] = {**latest, **kept}
    return [found[name] for name in sorted(found)]


def _rebuilt(stored: Parts, known: Attributions, time: str, most_listed: int) -> Parts:
    """The article with these sources, and what follows from their observations; its analysis and grouping are due. Its
    time and first headline stay."""
    article = stored.article.copy()
    article["updated_at"] = max(article["updated_at"], time)
    if not known:
        emptied = tombstone(Article.from_document(article), parse_time(time))
        return Parts(emptied.to_document(), ())
    ordered = sorted(known, key=lambda key: known[key]["crawl_timestamp"])
    article["sources"] = ordered[:most_listed]
    article["source_attribution"] = {key: known[key] for key in article["sources"]}
    if len(ordered) > most_listed:
        article["has_further_sources"] = True
    chosen = chosen_source(known)
    article["canonical"] = reading(chosen, known[chosen])
    shown = article["canonical"]["observation_id"]
    article["text_for_analysis"] = next((each.get("text") for each in stored.observations if each["id"] == shown), None)
    article.pop("language", None)
    if "language" in article["canonical"]:
        article["language"] = article["canonical"]["language"]
    article["tags"] = _union(each.get("tags", ()) for each in stored.observations)
    article["matched_tickers"] = _union(each.get("tickers", ()) for each in stored.observations)
    article.setdefault("analysis_due_since", time)
    article["grouping_due_since"] = time
    article.pop("analyzed_revision", None)  # a worker that has died since may have written mentions of another reading
    if article["status"] == "error":
        article["status"], article["analysis_attempts"] = "pending", 0
    return Parts(article, _in_article(stored.observations, article))


def _in_article(observations: Observations, article: ArticleDocument) -> list[ObservationDocument]:
    """The observations as those of this article. Its further sources are found by the first one of each."""
    found: list[ObservationDocument] = []
    for key, own in groupby(observations, key=lambda each: each["source"]):
        is_further = key not in article["source_attribution"]
        for number, each in enumerate(own):
            after: ObservationDocument = {**each, "source_id": article["source_id"]}
            after.pop("article_timestamp", None)
            if is_further and number == 0:
                after["article_timestamp"] = article["timestamp"]
            found.append(after)
    return found


def _union(values: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(each for some in values for each in some))[:MOST_TAGS]
