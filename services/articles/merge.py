"""What entries do to the article that they match: create it, join it, edit it, or nothing. Pure.

`merge` takes an article as it is stored, or None, with the entries of one source; it returns the documents to write.
When another worker wrote the article meanwhile, the caller reads the article again and calls `merge` again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from models.article import ArticleDocument
from models.observation import ObservationDocument, attempt_key
from services.articles import article_documents as documents
from services.articles.article_documents import Moment
from services.articles.identity import Candidate, Source
from services.parse.urls import normalize_url

Change = Literal["create", "join", "edit", "priority", "none"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """The attempt that writes, for the record of what it added."""

    run_id: str
    number: int

    def key(self, source: Source) -> str:
        return attempt_key(self.run_id, source.key, self.number)


class Match(NamedTuple):
    """A candidate and the article that it matches.

    `claimed`: the candidate's locator names the article already. `certain`: the article follows from the locator or
    the URL, so no other article comes into question. `outlived`: a missing article is not to be created, since it has
    reached the end of its time.
    """

    candidate: Candidate
    source_id: str
    certain: bool = False
    claimed: bool = False
    outlived: bool = False


class Merged(NamedTuple):
    """What became of one article. `article` is None if it stays as it is.

    `is_new_to_source`: the source was added to the article. `text_in` names the observation whose text the article must
    now show.
    """

    before: ArticleDocument | None
    article: ArticleDocument | None
    observations: tuple[ObservationDocument, ...]
    matches: tuple[Match, ...]
    is_new_to_source: bool = False
    text_in: str | None = None

    @property
    def makes_analysis_due(self) -> bool:
        if self.article is None:
            return False
        return self.before is None or not documents.analysed_alike(self.before, self.article)


def other_articles(article: ArticleDocument | None, matches: Sequence[Match], source: Source) -> list[Match]:
    """The matches that must be articles of their own: their source has another entry in this article, under another id
    and another URL. Merging the wrong articles is worse than missing a duplicate."""
    if article is None and len(matches) == 1:
        return []  # nearly always: the entry creates the article
    own = article["source_attribution"].get(source.key) if article is not None else None
    if article is not None and article.get("deleted_at"):
        return []
    known = (own["article_id"], _normalized(own["url"])) if own is not None else None
    found = []
    for match in matches:
        candidate = match.candidate
        if known is None:
            known = (candidate.article_id, candidate.url)
        elif not match.certain and known[0] != candidate.article_id and known[1] != candidate.url:
            found.append(match)
    return found


def change_of(match: Match, article: ArticleDocument | None, source: Source, now: Moment) -> Change:
    """What one entry does to the article that it matches."""
    if article is None:
        return "none" if match.outlived else "create"
    if article.get("deleted_at"):
        return "none"
    own = article["source_attribution"].get(source.key)
    if own is None:
        return "join"
    if own.get("revision") != match.candidate.revision:
        # A later attempt may have taken the feed over from this one and stored a later revision.
        return "none" if own.get("scraped_at", "") > now.text else "edit"
    return "none" if documents.priority_in(article, source.key) == source.priority else "priority"


def merge(
    article: ArticleDocument | None,
    stored_observations: Mapping[str, ObservationDocument],
    matches: Sequence[Match],
    source: Source,
    attempt: Attempt,
    now: Moment,
) -> Merged:
    """`stored_observations` are the source's observations of this article of the present day, by id."""
    before = article
    observations: dict[str, ObservationDocument] = {}
    is_new_to_source = False
    for match in matches:
        change = change_of(match, article, source, now)
        if change == "none":
            continue
        article = _changed(change, article, match, source, attempt, now)
        if change == "priority":
            continue
        is_new_to_source |= change in ("create", "join")
        name = documents.observation_id(source.key, article["source_attribution"][source.key]["scraped_at"])
        earlier = observations.get(name) or stored_observations.get(name)
        observed = documents.observation(article, match.candidate, source, now, earlier)
        if change in ("create", "join"):
            observed["added_by_attempt"] = attempt.key(source)
            observed["created_article"] = change == "create"
        observations[name] = observed
    written = None if article is before else article
    return Merged(
        before,
        written,
        tuple(observations.values()),
        tuple(matches),
        is_new_to_source,
        None if written is None else documents.observation_with_text(before, written, source),
    )


def _changed(
    change: Change, article: ArticleDocument | None, match: Match, source: Source, attempt: Attempt, now: Moment
) -> ArticleDocument:
    if article is None:
        return documents.new_article(match.candidate, source, match.source_id, attempt.run_id, now)
    if change == "join":
        return documents.with_source(article, match.candidate, source, attempt.run_id, now)
    if change == "edit":
        return documents.with_edit(article, match.candidate, source, now)
    return documents.with_candidate_priority(article, match.candidate, source, now)


def _normalized(url: str) -> str:
    try:
        return normalize_url(url)
    except ValueError:
        return url
