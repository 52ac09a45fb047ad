"""How entries change the article that they match: they create, join or edit it, or change nothing; and what is left of
a deleted article. Pure.

`merge` takes an article as it is stored, or None, with the entries of one source; it returns the documents to write.
When another worker wrote the article meanwhile, the caller reads the article again and calls `merge` again.

Documents are built as dicts, in the shape of models/article.py (a test compares them): validating sixty models at each
fetch would cost more than storing them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from models.article import LISTED_SOURCES, Article, ArticleDocument, AttributionDocument, JoinRule, ObservationDocument
from models.raw_item import LONGEST_DATE
from models.values import unix_milliseconds, unix_seconds
from services.articles.identity import Candidate, Source, SourceAttempt
from services.articles.matching import Match
from services.articles.sources import attribution_of, chosen_reading, observation_id, reading
from services.parse.text import one_line
from services.ports import Document

OF_FIRST_OBSERVATION = frozenset(("created_at", "ttl_timestamp", "added_by_attempt", "created_article", "joined_by"))
"""What the first observation of a source keeps when a later one of the same day takes its place."""
_OF_FIRST_CRAWL = ("published_at", "added_by_run", "joined_by")
MAX_TAGS = 100
MAX_SOURCES = 2000
"""More might not fit into a document: each takes 400 to 800 bytes."""
_ANALYSED_OF_READING = ("headline", "revision", "publisher", "publisher_url")

JOINED_BY_FIELDS: Mapping[JoinRule, tuple[str, ...]] = {
    "first": (),
    "own_id": ("article_id",),
    "url": ("url",),
    "headline_and_day": ("headline", "day"),
    "url_in_key": ("headline", "day", "url"),
    "person": (),
}
"""What a source and the article had in common by each rule."""

Change = Literal["create", "join", "edit", "priority", "same", "none"]


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
    """`stored` is the source's observation of this article and of the present day, which an entry may replace."""
    before, source = article, attempt.source
    own = None if article is None else article["source_attribution"].get(source.key)
    observed = stored
    is_new_to_source = False
    for match in matches:
        candidate = match.candidate
        change = change_of(match, article, own, attempt)
        if change in ("none", "same"):
            continue
        if own is None:
            is_new_to_source = True
            observed = entry_observation(match.source_id, candidate, attempt, None, observed, article)
            observed["added_by_attempt"] = attempt.key
            observed["created_article"] = article is None
            observed["joined_by"] = join_rule(match, article, source.key)
            own = attribution_of([observed])
        elif change == "edit":
            observed = entry_observation(match.source_id, candidate, attempt, own, observed, article)
            own = edited_attribution(observed, own)
        elif change == "priority":
            own = {**own, "source_priority": source.priority}
        article = _article_of(match, attempt, own) if article is None else _with_entry(article, candidate, attempt, own)
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
        return "join" if len(article["sources"]) < MAX_SOURCES else "none"
    if own["revision"] != match.candidate.revision:
        # A later attempt may have taken the feed over from this one and stored a later revision.
        return "none" if own["scraped_at"] > attempt.time else "edit"
    return "same" if own["source_priority"] == attempt.source.priority else "priority"


def join_rule(match: Match, article: ArticleDocument | None, source: str) -> JoinRule:
    """The rule by which the source joins the article, or creates it (None)."""
    candidate = match.candidate
    if article is None:
        return "first"
    if match.claimed_by not in ("", source):  # sources share the locators of URLs, and no others
        return "url"
    if match.source_id == candidate.source_id(with_url=True):
        return "url_in_key"
    if match.source_id == candidate.source_id():
        return "headline_and_day"
    return "own_id" if candidate.has_own_id else "url"


def analysed_alike(before: ArticleDocument, after: ArticleDocument) -> bool:
    """Whether both versions of an article give an analysis the same input."""
    if any(before["canonical"].get(name) != after["canonical"].get(name) for name in _ANALYSED_OF_READING):
        return False
    if urlsplit(before["canonical"]["url"]).hostname != urlsplit(after["canonical"]["url"]).hostname:
        return False  # its publisher may be another one
    if not _revisions(after) <= _revisions(before):
        return False  # a source has come with words of its own
    fields = ["text_for_analysis", "full_text", "matched_tickers", "tags", "language"]
    if before.get("muted_tool_ids"):
        fields.append("sources")
    return all(before.get(name) == after.get(name) for name in fields)


def _revisions(article: ArticleDocument) -> set[str | None]:
    """The revisions of the sources whose own words are judged, and of the canonical reading."""
    judged = (article["source_attribution"][key] for key in article["sources"][:LISTED_SOURCES])
    return {article["canonical"]["revision"], *(each.get("revision") for each in judged)}


def entry_observation(
    source_id: str,
    candidate: Candidate,
    attempt: SourceAttempt,
    own: AttributionDocument | None,
    earlier: ObservationDocument | None,
    article: ArticleDocument | None,
) -> ObservationDocument:
    """The observation of the candidate, under the day of the attempt, with the publication time that the source gave
    first: that of `own`, its attribution before.

    `earlier` may be an earlier revision of the same day, stored under this id. `article` is what is stored of the
    article.
    """
    item, source = candidate.entry.item, attempt.source
    document: ObservationDocument = {
        "id": observation_id(source.key, attempt.time),
        "source_id": source_id,
        "source": source.key,
        "source_priority": source.priority,
        "observed_day": attempt.time[:10],
        "scraped_at": attempt.time,
        "article_id": candidate.article_id,
        "url": item.url,
        "headline": item.headline,
        "published_at": own["published_at"] if own is not None else candidate.published_at,
        "tags": list(item.tags),
        "tickers": list(item.tickers),
        "stored_ms": _stored_ms(article, attempt),
        "revision": candidate.revision,
        "parse_warnings": [*item.repairs, *([f"date_{candidate.flag}"] if candidate.flag is not None else [])],
    }
    attempt.stamp(document, "Observation")
    optional = {
        "text": candidate.text,
        "language": candidate.language,
        "publisher": item.publisher,
        "publisher_url": item.publisher_url,
    }
    document |= {name: value for name, value in optional.items() if value}
    if candidate.flag is not None:
        document["published_flag"] = candidate.flag
        if raw_value := one_line(item.date_text[:LONGEST_DATE]):
            document["raw_value"] = raw_value
    if earlier is None or earlier["id"] != document["id"]:
        return document
    return in_place_of(earlier, document)


def in_place_of(earlier: ObservationDocument, later: ObservationDocument) -> ObservationDocument:
    """The later observation of a source and day, as it takes the place of the earlier one."""
    kept = {name: value for name, value in earlier.items() if name in OF_FIRST_OBSERVATION}
    headline = earlier.get("original_headline", earlier["headline"])
    return {**later, **kept, **({"original_headline": headline} if headline != later["headline"] else {})}


def _stored_ms(article: ArticleDocument | None, attempt: SourceAttempt) -> int:
    """Later than the time of every version that the article has, whichever clock its writer had."""
    known = () if article is None else (article["canonical"], *article["source_attribution"].values())
    latest: int = max((each.get("stored_ms", 0) for each in known), default=0)
    return max(unix_milliseconds(attempt.at), latest + 1)


def edited_attribution(observation: ObservationDocument, own: AttributionDocument) -> AttributionDocument:
    """The attribution of a source after an edit. The first crawl time and headline, the publication time, the run that
    added the source and the rule are kept from `own`, the one before."""
    first = {"created_at": own["crawl_timestamp"], "headline": own["original_headline"]}
    kept = {name: value for name, value in own.items() if name in _OF_FIRST_CRAWL and value}
    return {**attribution_of([first, observation]), **kept}


def new_article(source_id: str, own: AttributionDocument, attempt: SourceAttempt) -> ArticleDocument:
    """The article that the source of the attempt has created, without what its headline, text and tags give."""
    source = attempt.source.key
    article: ArticleDocument = {
        "id": Article.ID,
        "source_id": source_id,
        "dedup_key": source_id.removeprefix("dedup:"),
        "timestamp": own["published_at"],
        "headline": own["original_headline"],
        "sources": [source],
        "source_attribution": {source: own},
        "canonical": reading(source, own),
        "created_by_run": attempt.run_id,
        "status": "pending",
        "analysis_due_since": attempt.time,
        "analysis_attempts": 0,
        "detected_tool_ids": [],
    }
    if "language" in own:
        article["language"] = own["language"]
    attempt.stamp(article, "Article")
    return article


def _article_of(match: Match, attempt: SourceAttempt, own: AttributionDocument) -> ArticleDocument:
    """The article that the entry creates."""
    candidate, article = match.candidate, new_article(match.source_id, own, attempt)
    item = candidate.entry.item
    article["normalized_headline"] = candidate.normalized_headline
    # A locator alias without an article, left by a crash, may name a key that this headline no longer gives.
    article["url_in_key"] = not candidate.normalized_headline or article["dedup_key"] != candidate.plain_key
    article["matched_tickers"], article["tags"] = list(item.tickers), list(item.tags)
    if candidate.flag is not None:
        article["published_flag"] = candidate.flag
    said = {"published_as_written": one_line(item.date_text[:LONGEST_DATE]), "declared_language": item.language}
    article["metadata"] = {name: text for name, text in said.items() if text}
    if candidate.text:
        article["text_for_analysis"] = candidate.text
    return article


def _with_entry(
    article: ArticleDocument,
    candidate: Candidate,
    attempt: SourceAttempt,
    own: AttributionDocument,
) -> ArticleDocument:
    """The article after its source published the candidate, with `own` as the source's attribution."""
    item, key = candidate.entry.item, attempt.source.key
    after = with_attributions(article, {**article["source_attribution"], key: own}, attempt.time)
    after["matched_tickers"] = union(article.get("matched_tickers", ()), item.tickers)
    after["tags"] = union(article.get("tags", ()), item.tags)
    if after["canonical"]["source"] == key:
        after["text_for_analysis"] = candidate.text or None
    return with_analysis_due(article, after, attempt.time)


def with_attributions(article: ArticleDocument, known: Mapping[str, AttributionDocument], time: str) -> ArticleDocument:
    """The article with these sources, those with one crawl time in this order, and the reading that is canonical then.
    Where this is another source's reading, the caller must fetch that source's text."""
    after = article.copy()
    after["updated_at"] = max(article["updated_at"], time)
    after["sources"] = sorted(known, key=lambda key: known[key]["crawl_timestamp"])
    after["source_attribution"] = dict(known)
    after["canonical"] = chosen_reading(known)
    if after["canonical"]["revision"] != article["canonical"]["revision"]:
        after.pop("language", None)
        if "language" in after["canonical"]:
            after["language"] = after["canonical"]["language"]
    return after


def with_analysis_due(before: ArticleDocument, after: ArticleDocument, time: str) -> ArticleDocument:
    """Makes the analysis of `after` due if its input differs from that of `before`; at once, though that one failed."""
    if not analysed_alike(before, after):
        after.setdefault("analysis_due_since", time)
        if before.get("analysis_attempts"):
            after["analysis_due_since"], after["analysis_attempts"] = time, 0
        if before["status"] == "error":
            after["status"] = "pending"
    return after


def _observation_with_text(before: ArticleDocument | None, after: ArticleDocument, source: Source) -> str | None:
    """The id of the observation that has the text of the canonical reading; None if the article or the entry of
    `source` has that text."""
    canonical = after["canonical"]["source"]
    if before is None or canonical in (source.key, before["canonical"]["source"]):
        return None
    return str(after["canonical"]["observation_id"])


def union(*values: Iterable[str]) -> list[str]:
    """Each value once, at most MAX_TAGS."""
    return list(dict.fromkeys(chain.from_iterable(values)))[:MAX_TAGS]


REDACTED = "[deleted]"
TOMBSTONE_KEPT = timedelta(days=365)
"""Longer than feeds list an entry, so that no poll brings back a deleted article."""
_KEPT = (
    *("id", "source_id", "entity_type", "schema_version", "created_at", "ttl_timestamp"),
    *("source", "source_priority", "observed_day", "scraped_at", "article_id", "url", "published_at", "revision"),
)


def tombstone(article: Article, now: datetime) -> Article:
    """The article with its ids and URLs, and without headlines, tags and text. The grouping must see it if the article
    is in a story."""
    attributions = {
        source: each.model_copy(update={"original_headline": REDACTED, "headline": None})
        for source, each in article.source_attribution.items()
    }
    return article.changed(
        now,
        deleted_at=now,
        headline=REDACTED,
        normalized_headline="deleted",
        source_attribution=attributions,
        canonical=article.canonical.model_copy(update={"headline": REDACTED}),
        scored_headline=None,
        other_words=None,
        tags=(),
        text_for_analysis=None,
        words=None,
        full_text=None,
        scored_text=None,
        analysis_due_since=None,
        grouping_due_since=article.grouping_due_since or (None if article.event_id is None else now),
        metadata=None,
        ttl_timestamp=unix_seconds(now + TOMBSTONE_KEPT),
    )


def observation_tombstone(observation: Document, time: str) -> Document:
    """The tombstone of an observation. It has no text. An export tells of it."""
    kept = {name: value for name, value in observation.items() if name in _KEPT}
    return {**kept, "updated_at": time, "headline": REDACTED, "deleted_at": time}
