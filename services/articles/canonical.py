"""What is written when an article is new, gains a source or is edited: articles, their readings, observations. Pure.

Documents are built directly, in the shape of models/article.py, models/observation.py and models/locator.py (a test
holds them to it): validating sixty models for each fetch would cost more than storing them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from models.article import LOWEST_PRIORITY
from models.locator import ALIAS_KEPT, seen_key
from models.values import format_time
from services.articles.identity import Candidate, Source
from services.parse.text import one_line
from services.ports import Document

ARTICLE_ID = "article"
ARTICLE_SECONDS = 30 * 86_400
MOST_TAGS = 100
LONGEST_DATE = 200
ALIAS_SECONDS = int(ALIAS_KEPT.total_seconds())


class Moment:
    """The one `now` of one processing, in the forms that documents have it in."""

    __slots__ = ("at", "seconds", "text")

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.text = format_time(at)
        self.seconds = int(at.timestamp())


def new_article(candidate: Candidate, source: Source, target: str, now: Moment) -> Document:
    item = candidate.entry.item
    key = target.removeprefix("dedup:")
    attribution = _attribution(candidate, source, now.text, now.text)
    article = {
        "id": ARTICLE_ID,
        "source_id": target,
        **_common("Article", now, ARTICLE_SECONDS),
        "dedup_key": key,
        "timestamp": attribution["published_at"],
        "headline": item.headline,
        "normalized_headline": candidate.normalized_headline,
        # An alias that outlived a crash may name a key that these words no longer give.
        "url_in_key": not candidate.normalized_headline or key != candidate.plain_key,
        "sources": [source.key],
        "source_attribution": {source.key: attribution},
        "canonical": _reading(source.key, attribution),
        "status": "pending",
        "analysis_attempts": 0,
        "matched_tickers": list(item.tickers),
        "detected_tool_ids": [],
        "tags": list(item.tags),
    }
    if candidate.flag is not None:
        article["published_flag"] = candidate.flag
    if candidate.text:
        article["text_for_analysis"] = candidate.text
    return article


def with_source(article: Document, candidate: Candidate, source: Source, now: Moment) -> Document:
    """The article with one source more; of those of one second, the one that was there is first."""
    attributions = {**article["source_attribution"], source.key: _attribution(candidate, source, now.text, now.text)}
    sources = sorted([*article["sources"], source.key], key=lambda key: str(attributions[key]["crawl_timestamp"]))
    return _read_anew({**article, "sources": sources}, attributions, candidate, source, now)


def with_edit(article: Document, candidate: Candidate, source: Source, now: Moment) -> Document:
    """The article as its source has changed it. When it was first crawled and published stays as it was."""
    own = article["source_attribution"][source.key]
    edited = _attribution(candidate, source, own["crawl_timestamp"], now.text)
    edited["published_at"] = own.get("published_at") or edited["published_at"]
    return _read_anew(article, {**article["source_attribution"], source.key: edited}, candidate, source, now)


def reread(article: Document, candidate: Candidate, source: Source, now: Moment) -> Document:
    """The article as its source's present priority has it read; the source says what it said before."""
    own = {**article["source_attribution"][source.key], "source_priority": source.priority}
    return _read_anew(article, {**article["source_attribution"], source.key: own}, candidate, source, now)


def with_priority(article: Document, key: str, priority: int, now: Moment) -> Document:
    """As `reread`, without an entry at hand: whoever asks sees to the text, if it is now another source's."""
    own = {**article["source_attribution"][key], "source_priority": priority}
    return _reordered(article, {**article["source_attribution"], key: own}, now, {})


def priority_in(article: Document, key: str) -> int:
    """Which priority its source had when the article was written last."""
    priority = article["source_attribution"][key].get("source_priority")
    return LOWEST_PRIORITY if priority is None else int(priority)


def maker(article: Document) -> str:
    """The source whose entry made the article: one that began earlier may have joined it since."""
    made_at, attributions = article["created_at"], article["source_attribution"]
    sources: list[str] = article["sources"]
    return next((each for each in sources if attributions[each]["crawl_timestamp"] == made_at), sources[0])


def reading_to_fetch(before: Document | None, after: Document, source: Source) -> str | None:
    """The id of the observation whose text the article must now show, if it is at hand in neither document."""
    now_reads: str = after["canonical"]["source"]
    if before is None or now_reads in (source.key, before["canonical"]["source"]):
        return None
    return str(after["canonical"]["observation_id"])


def analysed_alike(before: Document, after: Document) -> bool:
    """Whether analysis would see nothing new."""
    fields = ("headline", "revision")
    if any(before["canonical"].get(name) != after["canonical"].get(name) for name in fields):
        return False
    return all(before.get(name) == after.get(name) for name in ("text_for_analysis", "matched_tickers", "tags"))


def observation(article: Document, candidate: Candidate, source: Source, now: Moment) -> Document:
    """What the source says now; filed under the day on which it first said so."""
    item = candidate.entry.item
    own = article["source_attribution"][source.key]
    scraped_at: str = own["scraped_at"]
    document = {
        "id": observation_id(source.key, scraped_at),
        "source_id": article["source_id"],
        **_common("Observation", now, ARTICLE_SECONDS),
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
    for name, value in (
        ("text", candidate.text),
        ("publisher", item.publisher),
        ("published_flag", candidate.flag),
        ("raw_value", one_line(item.date_text[:LONGEST_DATE]) if candidate.flag is not None else None),
    ):
        if value:
            document[name] = value
    return document


@lru_cache(maxsize=1024)
def observation_id(source: str, scraped_at: str) -> str:
    return f"obs:{source}:{scraped_at[:4]}{scraped_at[5:7]}{scraped_at[8:10]}"


def alias(candidate: Candidate, source: Source, target: str, now: Moment) -> Document:
    return {
        "id": candidate.locator_id,
        "locator": candidate.locator_id,
        **_common("LocatorAlias", now, ALIAS_SECONDS),
        "provider": source.key,
        "locator_identity": candidate.locator,
        "source_id": target,
    }


def seen_hash(candidate: Candidate, source: Source, target: str, now: Moment, kept_seconds: int) -> Document:
    name = seen_key(source.key, candidate.entry.content_hash)
    return {
        "id": name,
        "locator": name,
        **_common("SeenHash", now, kept_seconds),
        "source": source.key,
        "content_hash": candidate.entry.content_hash,
        "revision": candidate.entry.mark,
        "source_id": target,
    }


def chosen_source(attributions: Mapping[str, Mapping[str, Any]]) -> str:
    """Lowest priority number, then the revision that was seen last, then the highest observation id."""

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


def _attribution(candidate: Candidate, source: Source, crawled: str, scraped: str) -> Document:
    item = candidate.entry.item
    attribution = {
        "article_id": candidate.article_id,
        "url": item.url,
        "crawl_timestamp": crawled,
        "original_headline": item.headline,
        "source_priority": source.priority,
        "published_at": candidate.published_at,
        "scraped_at": scraped,
        "revision": candidate.revision,
    }
    if item.publisher:
        attribution["source_name"] = item.publisher
    return attribution


def _reading(key: str, attribution: Mapping[str, Any]) -> Document:
    scraped_at = attribution.get("scraped_at") or attribution["crawl_timestamp"]
    reading = {
        "source": key,
        "source_priority": attribution.get("source_priority", LOWEST_PRIORITY),
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


def _read_anew(
    article: Document, attributions: Document, candidate: Candidate, source: Source, now: Moment
) -> Document:
    item = candidate.entry.item
    more: dict[str, Any] = {
        "matched_tickers": _union(article.get("matched_tickers", ()), item.tickers),
        "tags": _union(article.get("tags", ()), item.tags),
    }
    if chosen_source(attributions) == source.key:
        more["text_for_analysis"] = candidate.text or None
    return _reordered(article, attributions, now, more)


def _reordered(article: Document, attributions: Document, now: Moment, more: Mapping[str, Any]) -> Document:
    """The article in the reading that counts among these."""
    key = chosen_source(attributions)
    after = {
        **article,
        "updated_at": max(article["updated_at"], now.text),
        "source_attribution": attributions,
        "canonical": _reading(key, attributions[key]),
        **more,
    }
    if article["status"] == "error" and not analysed_alike(article, after):
        after |= {"status": "pending", "analysis_attempts": 0}
    return after


def _union(known: Iterable[str], more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*known, *more)))[:MOST_TAGS]
