"""How entries change the article that they match: they create, join or edit it, or change nothing. Pure.

`merge` takes an article as it is stored, or None, with the entries of one source; it returns the documents to write.
When another worker wrote the article meanwhile, the caller reads the article again and calls `merge` again.

Documents are built as dicts, in the shape of models/article.py, models/observation.py and models/locator.py (a test
compares them): validating sixty models at each fetch would cost more than storing them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

from models.article import ARTICLE_KEPT, LISTED_SOURCES, Article, ArticleDocument, AttributionDocument
from models.locator import ALIAS_KEPT, AliasDocument, SeenHashDocument, seen_key
from models.observation import ObservationDocument, attempt_key
from models.stored import StoredFields
from models.values import format_time
from services.articles.attributions import (
    Attributions,
    chosen_reading,
    is_listed,
    observation_id,
    priority_of,
    reading,
)
from services.articles.identity import Candidate, Source
from services.articles.matching import Match
from services.parse.text import one_line

MOST_TAGS = 100
LONGEST_DATE = 200
ARTICLE_SECONDS = int(ARTICLE_KEPT.total_seconds())
ALIAS_SECONDS = int(ALIAS_KEPT.total_seconds())

Change = Literal["create", "join", "edit", "priority", "same", "none"]


class Further(NamedTuple):
    """What is stored of the sources that an article does not list itself.

    `own`: the attribution of the attempt's source, if it is one of them. `others`: the attributions of all of them, if
    the canonical reading may become theirs.
    """

    own: AttributionDocument | None = None
    others: Attributions = MappingProxyType({})


NO_FURTHER = Further()


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
    further: Further = NO_FURTHER,
    most_listed: int = LISTED_SOURCES,
) -> Merged:
    """`stored` is the source's observation of this article that an entry may replace: that of the present day, or the
    latest of a source that the article does not list."""
    before, source = article, attempt.source
    own = None if article is None else article["source_attribution"].get(source.key, further.own)
    observed = stored
    is_new_to_source = False
    for match in matches:
        candidate = match.candidate
        change = change_of(match, article, own, attempt)
        if change == "none" or (change == "same" and article is not None and _shows(article, source.key, further)):
            continue
        if change == "priority" and own is not None:
            own = {**own, "source_priority": source.priority}
        elif change != "same" or own is None:
            own = _attribution(candidate, attempt, own)
        if article is None:
            article = _new_article(candidate, match.source_id, attempt, own)
        else:
            article = _with_entry(article, candidate, attempt, own, further.others, most_listed)
        if change in ("create", "join"):
            is_new_to_source = True
            observed = _added(article, _observation(article, candidate, attempt, own, observed), attempt, change)
        elif change == "edit":
            observed = _observation(article, candidate, attempt, own, observed)
        elif change == "priority" and observed is not None and not is_listed(article, source.key):
            observed = {**observed, "source_priority": source.priority, "updated_at": attempt.time}
    written = None if article is before else article
    text_in = None if written is None else _observation_with_text(before, written, source)
    observation = None if observed is stored else observed
    return Merged(before, written, observation, tuple(matches), is_new_to_source, text_in)


def change_of(
    match: Match, article: ArticleDocument | None, own: AttributionDocument | None, attempt: SourceAttempt
) -> Change:
    """How one entry changes the article that it matches. `own` is the attribution of the attempt's source."""
    if article is None:
        return "none" if match.outlived else "create"
    if article.get("deleted_at"):
        return "none"
    if own is None:
        return "join"
    if own.get("revision") != match.candidate.revision:
        # A later attempt may have taken the feed over from this one and stored a later revision.
        return "none" if own.get("scraped_at", "") > attempt.time else "edit"
    return "same" if priority_of(own) == attempt.source.priority else "priority"


def with_priority(
    article: ArticleDocument, key: str, own: AttributionDocument, time: str, others: Attributions
) -> ArticleDocument:
    """The article with this attribution of one source, and the reading that is canonical then among all sources;
    `others` are those that the article does not list. The same object if nothing changes. Where this makes another
    source's reading the canonical one, the caller must fetch that source's text."""
    after = _with_attribution(article, key, own, time, others, 0)
    return article if _are_equal(article, after) else after


def analysed_alike(before: ArticleDocument, after: ArticleDocument) -> bool:
    """Whether both versions of an article give an analysis the same input."""
    if any(before["canonical"].get(name) != after["canonical"].get(name) for name in ("headline", "revision")):
        return False
    return all(before.get(name) == after.get(name) for name in ("text_for_analysis", "matched_tickers", "tags"))


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


def _new_article(
    candidate: Candidate, source_id: str, attempt: SourceAttempt, attribution: AttributionDocument
) -> ArticleDocument:
    item, source = candidate.entry.item, attempt.source
    key = source_id.removeprefix("dedup:")
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
        "canonical": reading(source.key, attribution),
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


def _shows(article: ArticleDocument, key: str, further: Further) -> bool:
    """Whether the article is certain to show the attribution of the source as it is stored: it is in the article."""
    return is_listed(article, key) and not further.others


def _with_entry(
    article: ArticleDocument,
    candidate: Candidate,
    attempt: SourceAttempt,
    own: AttributionDocument,
    others: Attributions,
    most_listed: int,
) -> ArticleDocument:
    """The article after its source published the candidate, with `own` as the source's attribution. The same object
    if nothing changes."""
    item, key = candidate.entry.item, attempt.source.key
    after = _with_attribution(article, key, own, attempt.time, others, most_listed)
    after["matched_tickers"] = _union(article.get("matched_tickers", ()), item.tickers)
    after["tags"] = _union(article.get("tags", ()), item.tags)
    if (others or not is_listed(after, key)) and _are_equal(article, after):
        return article
    if after["canonical"]["source"] == key:
        after["text_for_analysis"] = candidate.text or None
    return _with_analysis_due(article, after, attempt.time)


def _with_attribution(
    article: ArticleDocument,
    key: str,
    own: AttributionDocument,
    time: str,
    others: Attributions,
    most_listed: int,
) -> ArticleDocument:
    """The article with this attribution of one source, and the reading that is canonical then."""
    attributions = {**article["source_attribution"], key: own}
    after = article.copy()
    after["updated_at"] = max(article["updated_at"], time)
    after["canonical"] = chosen_reading(article, {**others, **attributions} if others else attributions)
    sources = article["sources"]
    if is_listed(article, key):
        after["source_attribution"] = attributions
    elif article.get("has_further_sources") or len(sources) >= most_listed:
        after["has_further_sources"] = True
    else:  # of two with the same crawl time, the earlier one stays first
        after["source_attribution"] = attributions
        after["sources"] = sorted((*sources, key), key=lambda each: attributions[each]["crawl_timestamp"])
    return after


def _are_equal(before: ArticleDocument, after: ArticleDocument) -> bool:
    """Whether both have the same content, whenever it was written."""
    return {**before, "updated_at": ""} == {**after, "updated_at": ""}


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


def _added(
    article: ArticleDocument, observed: ObservationDocument, attempt: SourceAttempt, change: Change
) -> ObservationDocument:
    """The first observation of a source, which names the attempt that added the source to the article."""
    added: ObservationDocument = {
        **observed,
        "added_by_attempt": attempt.key,
        "created_article": change == "create",
    }
    if not is_listed(article, attempt.source.key):
        added["article_timestamp"] = article["timestamp"]
    return added


def _observation(
    article: ArticleDocument,
    candidate: Candidate,
    attempt: SourceAttempt,
    own: AttributionDocument,
    earlier: ObservationDocument | None,
) -> ObservationDocument:
    """The observation of the candidate, under the day on which the source first published this revision.

    `earlier` may be an earlier revision of the same day, stored under this id.
    """
    item, source = candidate.entry.item, attempt.source
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
    if earlier is not None and earlier["id"] == document["id"]:
        document["created_at"], document["ttl_timestamp"] = earlier["created_at"], earlier["ttl_timestamp"]
        if "added_by_attempt" in earlier:
            document["added_by_attempt"] = earlier["added_by_attempt"]
        if "created_article" in earlier:
            document["created_article"] = earlier["created_article"]
        if "article_timestamp" in earlier:
            document["article_timestamp"] = earlier["article_timestamp"]
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


def _union(known: Iterable[str], more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*known, *more)))[:MOST_TAGS]
