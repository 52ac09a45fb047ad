"""How entries change the article that they match: they create, join or edit it, or change nothing. Pure.

`merge` takes an article as it is stored, or None, with the entries of one source; it returns the documents to write.
When another worker wrote the article meanwhile, the caller reads the article again and calls `merge` again.

Documents are built as dicts, in the shape of models/article.py, models/observation.py and models/locator.py (a test
compares them): validating sixty models at each fetch would cost more than storing them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from models.article import ARTICLE_KEPT, LOWEST_PRIORITY, Article, ArticleDocument, AttributionDocument, ReadingDocument
from models.locator import ALIAS_KEPT, AliasDocument, SeenHashDocument, seen_key
from models.observation import ObservationDocument, attempt_key
from models.stored import StoredFields
from models.values import format_time
from services.articles.identity import Candidate, Source
from services.articles.matching import Match
from services.parse.text import one_line

MOST_TAGS = 100
LONGEST_DATE = 200
ARTICLE_SECONDS = int(ARTICLE_KEPT.total_seconds())
ALIAS_SECONDS = int(ALIAS_KEPT.total_seconds())

Change = Literal["create", "join", "edit", "priority", "none"]


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


class Merged(NamedTuple):
    """The outcome for one article. `article` is None if it stays as it is.

    `is_new_to_source`: the source was added to the article. `text_in` names the observation whose text the article must
    now show.
    """

    before: ArticleDocument | None
    article: ArticleDocument | None
    observation: ObservationDocument | None
    matches: tuple[Match, ...]
    is_new_to_source: bool
    text_in: str | None

    @property
    def makes_analysis_due(self) -> bool:
        return self.article is not None and (self.before is None or not analysed_alike(self.before, self.article))


def merge(
    article: ArticleDocument | None,
    stored: ObservationDocument | None,
    matches: Sequence[Match],
    attempt: SourceAttempt,
) -> Merged:
    """`stored` is the source's observation of this article of the present day, if an entry may replace it."""
    before, source = article, attempt.source
    observed: ObservationDocument | None = None
    is_new_to_source = False
    for match in matches:
        candidate = match.candidate
        change = change_of(match, article, attempt)
        if change == "none":
            continue
        if article is None:
            article = _new_article(candidate, match.source_id, attempt)
        else:
            own = article["source_attribution"].get(source.key)
            if change == "priority" and own is not None:
                own = {**own, "source_priority": source.priority}
                article = _with_entry(article, candidate, attempt, own)
                continue
            article = _with_entry(article, candidate, attempt, _attribution(candidate, attempt, own))
        observed = _observation(article, candidate, attempt, observed or stored)
        if change in ("create", "join"):
            is_new_to_source = True
            observed["added_by_attempt"] = attempt.key
            observed["created_article"] = change == "create"
    written = None if article is before else article
    text_in = None if written is None else _observation_with_text(before, written, source)
    return Merged(before, written, observed, tuple(matches), is_new_to_source, text_in)


def change_of(match: Match, article: ArticleDocument | None, attempt: SourceAttempt) -> Change:
    """How one entry changes the article that it matches."""
    if article is None:
        return "none" if match.outlived else "create"
    if article.get("deleted_at"):
        return "none"
    own = article["source_attribution"].get(attempt.source.key)
    if own is None:
        return "join"
    if own.get("revision") != match.candidate.revision:
        # A later attempt may have taken the feed over from this one and stored a later revision.
        return "none" if own.get("scraped_at", "") > attempt.time else "edit"
    return "none" if priority_of(own) == attempt.source.priority else "priority"


def with_priority(article: ArticleDocument, key: str, priority: int, time: str) -> ArticleDocument:
    """The article with another priority of one source. Where this makes another source's reading the canonical one,
    the caller must fetch that source's text."""
    own: AttributionDocument = {**article["source_attribution"][key], "source_priority": priority}
    return _with_attribution(article, key, own, time)


def priority_of(attribution: AttributionDocument) -> int:
    priority = attribution.get("source_priority")
    return LOWEST_PRIORITY if priority is None else priority


def analysed_alike(before: ArticleDocument, after: ArticleDocument) -> bool:
    """Whether both versions of an article give an analysis the same input."""
    if any(before["canonical"].get(name) != after["canonical"].get(name) for name in ("headline", "revision")):
        return False
    return all(before.get(name) == after.get(name) for name in ("text_for_analysis", "matched_tickers", "tags"))


def chosen_source(attributions: Mapping[str, AttributionDocument]) -> str:
    """The source of the canonical reading: the lowest priority number, then the revision that was first seen last,
    then the highest observation id."""

    def rank(key: str) -> tuple[int, str, str]:
        scraped_at = _scraped_at(attributions[key])
        return -priority_of(attributions[key]), scraped_at, observation_id(key, scraped_at)

    return max(attributions, key=rank)


@lru_cache(maxsize=1024)
def observation_id(source: str, scraped_at: str) -> str:
    return f"obs:{source}:{scraped_at[:4]}{scraped_at[5:7]}{scraped_at[8:10]}"


def alias(candidate: Candidate, source_id: str, attempt: SourceAttempt) -> AliasDocument:
    """The locator alias that names the article of the entry's identity."""
    document: AliasDocument = {
        "id": candidate.locator_id,
        "locator": candidate.locator_id,
        "provider": attempt.source.key,
        "locator_identity": candidate.locator,
        "source_id": source_id,
    }
    _stamp(document, "LocatorAlias", attempt, ALIAS_SECONDS)
    return document


def seen_hash(candidate: Candidate, source_id: str, attempt: SourceAttempt, kept_seconds: int) -> SeenHashDocument:
    """The stored content hash of an ingested entry."""
    name = seen_key(attempt.source.key, candidate.entry.content_hash)
    document: SeenHashDocument = {
        "id": name,
        "locator": name,
        "source": attempt.source.key,
        "content_hash": candidate.entry.content_hash,
        "revision": candidate.entry.form_hash,
        "source_id": source_id,
    }
    _stamp(document, "SeenHash", attempt, kept_seconds)
    return document


def _stamp(document: StoredFields, entity_type: str, attempt: SourceAttempt, kept_seconds: int) -> None:
    """Sets the fields that all documents have."""
    document["entity_type"] = entity_type
    document["schema_version"] = "1"
    document["created_at"] = document["updated_at"] = attempt.time
    document["ttl_timestamp"] = attempt.seconds + kept_seconds


def _new_article(candidate: Candidate, source_id: str, attempt: SourceAttempt) -> ArticleDocument:
    item, source = candidate.entry.item, attempt.source
    key = source_id.removeprefix("dedup:")
    attribution = _attribution(candidate, attempt, None)
    article: ArticleDocument = {
        "id": Article.ID,
        "source_id": source_id,
        "dedup_key": key,
        "timestamp": attribution["published_at"],
        "headline": item.headline,
        "normalized_headline": candidate.normalized_headline,
        # A locator alias without an article, left by a crash, may name a key that this headline no longer gives.
        "url_in_key": not candidate.normalized_headline or key != candidate.plain_key,
        "sources": [source.key],
        "source_attribution": {source.key: attribution},
        "canonical": _reading(source.key, attribution),
        "created_by_run": attempt.run_id,
        "status": "pending",
        "analysis_due_since": attempt.time,
        "analysis_attempts": 0,
        "matched_tickers": list(item.tickers),
        "detected_tool_ids": [],
        "tags": list(item.tags),
    }
    _stamp(article, "Article", attempt, ARTICLE_SECONDS)
    if candidate.flag is not None:
        article["published_flag"] = candidate.flag
    if candidate.text:
        article["text_for_analysis"] = candidate.text
    return article


def _with_entry(
    article: ArticleDocument, candidate: Candidate, attempt: SourceAttempt, own: AttributionDocument
) -> ArticleDocument:
    """The article after its source published the candidate, with `own` as the source's attribution."""
    item, key = candidate.entry.item, attempt.source.key
    after = _with_attribution(article, key, own, attempt.time)
    after["matched_tickers"] = _union(article.get("matched_tickers", ()), item.tickers)
    after["tags"] = _union(article.get("tags", ()), item.tags)
    if after["canonical"]["source"] == key:
        after["text_for_analysis"] = candidate.text or None
    return _with_analysis_due(article, after, attempt.time)


def _with_attribution(article: ArticleDocument, key: str, own: AttributionDocument, time: str) -> ArticleDocument:
    """The article with this attribution of one source, and the reading that is canonical then."""
    attributions = {**article["source_attribution"], key: own}
    chosen = chosen_source(attributions)
    after = article.copy()
    after["updated_at"] = max(article["updated_at"], time)
    after["source_attribution"] = attributions
    after["canonical"] = _reading(chosen, attributions[chosen])
    if key not in article["sources"]:  # of two with the same crawl time, the earlier one stays first
        by_crawl_time = sorted((*article["sources"], key), key=lambda each: attributions[each]["crawl_timestamp"])
        after["sources"] = by_crawl_time
    return after


def _with_analysis_due(before: ArticleDocument, after: ArticleDocument, time: str) -> ArticleDocument:
    """Makes the analysis of `after` due if its input differs from that of `before`."""
    if not analysed_alike(before, after):
        after.setdefault("analysis_due_since", time)
        if before["status"] == "error":
            after["status"], after["analysis_attempts"] = "pending", 0
    return after


def _observation_with_text(before: ArticleDocument | None, after: ArticleDocument, source: Source) -> str | None:
    """The id of the observation that has the text of the canonical reading; None if the article or the entry of
    `source` has that text."""
    canonical = after["canonical"]["source"]
    if before is None or canonical in (source.key, before["canonical"]["source"]):
        return None
    return after["canonical"]["observation_id"]


def _observation(
    article: ArticleDocument, candidate: Candidate, attempt: SourceAttempt, earlier: ObservationDocument | None
) -> ObservationDocument:
    """The observation of the candidate, under the day on which the source first published this revision.

    `earlier` is the document that is stored under this id: an earlier revision of the same day.
    """
    item, source = candidate.entry.item, attempt.source
    own = article["source_attribution"][source.key]
    scraped_at = own["scraped_at"]
    document: ObservationDocument = {
        "id": observation_id(source.key, scraped_at),
        "source_id": article["source_id"],
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
        "parse_warnings": [*item.repairs, *([f"date_{candidate.flag}"] if candidate.flag is not None else [])],
    }
    _stamp(document, "Observation", attempt, ARTICLE_SECONDS)
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


def _attribution(
    candidate: Candidate, attempt: SourceAttempt, earlier: AttributionDocument | None
) -> AttributionDocument:
    """The attribution of the candidate's source. After an edit, `earlier` is the attribution before: the first crawl
    time, the publication time and the run that added the source are kept."""
    item = candidate.entry.item
    attribution: AttributionDocument = {
        "article_id": candidate.article_id,
        "url": item.url,
        "crawl_timestamp": attempt.time,
        "original_headline": item.headline,
        "source_priority": attempt.source.priority,
        "published_at": candidate.published_at,
        "scraped_at": attempt.time,
        "revision": candidate.revision,
    }
    if item.publisher:
        attribution["source_name"] = item.publisher
    if earlier is None:
        attribution["added_by_run"] = attempt.run_id
        return attribution
    attribution["crawl_timestamp"] = earlier["crawl_timestamp"]
    if earlier.get("published_at"):
        attribution["published_at"] = earlier["published_at"]
    if "added_by_run" in earlier:
        attribution["added_by_run"] = earlier["added_by_run"]
    return attribution


def _reading(key: str, attribution: AttributionDocument) -> ReadingDocument:
    scraped_at = _scraped_at(attribution)
    reading: ReadingDocument = {
        "source": key,
        "source_priority": priority_of(attribution),
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


def _scraped_at(attribution: AttributionDocument) -> str:
    return attribution.get("scraped_at") or attribution["crawl_timestamp"]


def _union(known: Iterable[str], more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*known, *more)))[:MOST_TAGS]
