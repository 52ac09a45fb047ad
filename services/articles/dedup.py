"""What becomes of the entries that mean one article: created, joined, edited, or nothing at all. Pure.

`fold` takes an article as it is stored, or none, and the entries of one source in their order; it gives back what is to
be written and what is to be counted. Where somebody else wrote meanwhile, it is asked again with what is there now.

An article is new to a source if the source had no part in it when its feed was last saved (`counted_until`). What a try
stored that died before it saved the feed is thus counted by the next try, once, and announced again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from services.articles import canonical
from services.articles.canonical import Moment
from services.articles.identity import Candidate, Source
from services.parse.urls import normalize_url
from services.ports import Document

Verdict = Literal["create", "join", "edit", "reread", "same", "gone", "overtaken"]
Doubt = Literal["", "first", "edit"]


class Target(NamedTuple):
    """A candidate and the article that it is taken for. `claimed`: its locator says so already. `fixed`: by its locator
    or its URL, so that it is not open to question. `over`: if the article is not there, it has outlived its time."""

    candidate: Candidate
    source_id: str
    fixed: bool = False
    claimed: bool = False
    over: bool = False


class Folded(NamedTuple):
    """What came of one article. `article` is None if it is to stay as it is.

    `first`, `stored`, `joined`: whether it is new to the source, new at all, another source's before. `announced`:
    analysis has, or may have, something new to see. `text_of` names the observation with the text that the article
    must now show.
    """

    before: Document | None
    article: Document | None
    observations: tuple[Document, ...]
    targets: tuple[Target, ...]
    first: bool
    stored: bool
    joined: bool
    announced: bool
    text_of: str | None


def strangers(article: Document | None, targets: Sequence[Target], source: Source) -> list[Target]:
    """Those of the entries that mean another article: their source has its own part in this one, under another id and
    another URL. Merging the wrong articles is worse than missing a duplicate."""
    if article is None and len(targets) == 1:
        return []  # as nearly always: it makes the article
    own = article["source_attribution"].get(source.key) if article is not None else None
    if article is not None and article.get("deleted_at"):
        return []
    known = (own["article_id"], _normalized(own["url"])) if own is not None else None
    found = []
    for target in targets:
        candidate = target.candidate
        if known is None:
            known = (candidate.article_id, candidate.url)
        elif not target.fixed and known[0] != candidate.article_id and known[1] != candidate.url:
            found.append(target)
    return found


def decide(target: Target, article: Document | None, source: Source, now: Moment) -> Verdict:
    """What one entry does to the article that it means."""
    if article is None:
        return "gone" if target.over else "create"
    if article.get("deleted_at"):
        return "gone"
    own = article["source_attribution"].get(source.key)
    if own is None:
        return "join"
    if own.get("revision") != target.candidate.revision:
        # Whoever took the feed over from this worker has read what it says by now.
        return "overtaken" if (own.get("scraped_at") or "") > now.text else "edit"
    return "same" if canonical.priority_in(article, source.key) == source.priority else "reread"


def fold(
    article: Document | None,
    targets: Sequence[Target],
    source: Source,
    now: Moment,
    counted_until: str,
    *,
    unsure: bool = False,
) -> Folded:
    """`unsure`: what is stored of what the source said may not be what its article says, for a worker died."""
    doubt = _doubt(article, source, counted_until)
    before = article
    observations: dict[str, Document] = {}
    for target in targets:
        verdict = decide(target, article, source, now)
        if verdict in ("gone", "overtaken"):
            continue
        article = _applied(verdict, article, target, source, now)
        if article is not before or doubt or unsure:
            observed = canonical.observation(article, target.candidate, source, now)
            observations[observed["id"]] = observed
    written = None if article is before else article
    is_new = before is None and written is not None
    is_join = before is not None and written is not None and source.key not in before["source_attribution"]
    was_first = doubt == "first" and before is not None and canonical.maker(before) == source.key
    unlike = before is not None and written is not None and not canonical.analysed_alike(before, written)
    return Folded(
        before,
        written,
        observations=tuple(observations.values()),
        targets=tuple(targets),
        first=is_new or is_join or doubt == "first",
        stored=is_new or was_first,
        joined=is_join or (doubt == "first" and not was_first),
        announced=is_new or unlike or bool(doubt),
        text_of=None if written is None else canonical.reading_to_fetch(before, written, source),
    )


def _applied(verdict: Verdict, article: Document | None, target: Target, source: Source, now: Moment) -> Document:
    if verdict == "create" or article is None:
        return canonical.new_article(target.candidate, source, target.source_id, now)
    if verdict == "join":
        return canonical.with_source(article, target.candidate, source, now)
    if verdict == "edit":
        return canonical.with_edit(article, target.candidate, source, now)
    if verdict == "reread":
        return canonical.reread(article, target.candidate, source, now)
    return article


def _doubt(article: Document | None, source: Source, counted_until: str) -> Doubt:
    """Whether a try that died before it saved the feed may have written this: the source's first word, or an edit."""
    own = article["source_attribution"].get(source.key) if article and not article.get("deleted_at") else None
    if own is None:
        return ""
    if own["crawl_timestamp"] > counted_until:
        return "first"
    return "edit" if (own.get("scraped_at") or "") > counted_until else ""


def _normalized(url: str) -> str:
    try:
        return normalize_url(url)
    except ValueError:
        return url
