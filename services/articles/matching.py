"""Finds the article of each entry that the feed does not know: stored hashes, then locator aliases, then the dedup key.

Entries that look like a flood are held back. What an entry changes in its article is decided in merge.py and written in
writing.py; when the feed's own memory is saved is decided in ingestion.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from models.article import LOWEST_PRIORITY
from models.feed import Feed
from models.locator import seen_key
from models.values import parse_time
from services.articles.article_documents import ALIAS_SECONDS, ARTICLE_SECONDS
from services.articles.identity import Candidate, examined
from services.articles.known import KnownEntries
from services.articles.merge import Match, Merged
from services.articles.writing import ArticleWriter
from services.ports import Document
from services.store.containers import FEEDS, LOCATORS

NEARLY = timedelta(hours=1)
"""An alias this close to the end of its article's lifetime belongs to an article that has expired, not to one that a
crash kept from being written."""

FLOOD_MINIMUM = 10
FLOOD_SHARE = 0.5


@dataclass(slots=True)
class Matched:
    """What became of a document's entries. `due` are the ids of articles whose analysis is due.

    `any_written` says that the attempt may have written articles. `published` are the publication times of the entries
    that are new to the source, as far as the source gives them. `held` are the entries of a flood.
    """

    due: set[str] = field(default_factory=set)
    any_written: bool = False
    published: list[datetime] = field(default_factory=list)
    held: list[Candidate] = field(default_factory=list)

    def add(self, source_id: str, merged: Merged) -> None:
        if merged.makes_analysis_due:
            self.due.add(source_id)
        if merged.is_new_to_source:
            first = merged.matches[0].candidate
            if first.flag is None:
                self.published.append(first.published)


class _Found(NamedTuple):
    """A candidate that goes on to the articles, with the alias of its locator."""

    candidate: Candidate
    alias: Document | None


async def match_and_write(
    writer: ArticleWriter, candidates: Sequence[Candidate], known: KnownEntries, *, trust_hashes: bool
) -> Matched:
    """Stores what is new or changed among the candidates. Each must be another form of an entry.

    Without `trust_hashes` stored hashes are not read: an interrupted attempt may have stored another form since.
    """
    matched = Matched()
    written: list[Match] = []
    waiting = list(candidates)
    while waiting:
        # Two entries under one locator are one article: the second one must meet what the first one wrote.
        turn: dict[str, Candidate] = {}
        for each in waiting:
            turn.setdefault(each.locator_id, each)
        later = [each for each in waiting if turn[each.locator_id] is not each]
        found, renewed = await _without_stored_hash(writer, list(turn.values()), known, trust_hashes)
        held = flood_of([each.candidate for each in found if each.alias is None], known)
        matched.held += held
        held_forms = {each.entry.form_hash for each in held}
        matches = [
            _match(each, writer)
            for each in found
            if each.candidate.entry.form_hash not in held_forms and not _is_outlived(each, known)
        ]
        written += await _write(writer, matches, renewed, matched)
        waiting = later
    await _apply_changed_priority(writer, written, matched)
    return matched


def flood_of(unknown: Sequence[Candidate], known: KnownEntries) -> list[Candidate]:
    """The candidates to hold back, of those that no locator knows: all that have a new id, if there are many and most
    of them have a URL or headline that the feed had lately.

    A feed whose ids all change (http to https, a new publishing system) would otherwise be ingested a second time.
    """
    new = [each for each in unknown if each.has_own_id and not known.has(each.id_hash)]
    if len(new) < FLOOD_MINIMUM:
        return []
    had_lately = sum(known.has(each.url_hash) or known.has(each.headline_hash) for each in new)
    return new if had_lately >= FLOOD_SHARE * len(new) else []


async def _apply_changed_priority(writer: ArticleWriter, written: list[Match], matched: Matched) -> None:
    """Writes the articles again if the source's priority was changed while they were written.

    The workflow that applies a changed priority searches for the source's articles after the change. An article that
    is written later is found here instead.
    """
    while written:
        source = writer.source
        (feed,) = await writer.store.read_many(FEEDS.name, [(source.key, Feed.ID)])
        if feed is None or feed.get("source_priority", LOWEST_PRIORITY) == source.priority:
            return
        writer = replace(writer, source=replace(source, priority=int(feed["source_priority"])))
        written = await _write(writer, written, [], matched)


async def _without_stored_hash(
    writer: ArticleWriter, candidates: list[Candidate], known: KnownEntries, trust_hashes: bool
) -> tuple[list[_Found], list[Document]]:
    """The candidates whose present form has no stored hash; and the hashes and aliases of the others, to be renewed.

    A hash is not enough for an entry that the feed knows in another form: the entry has returned to an earlier form.
    """
    now, kept = writer.now, writer.hashes_kept_seconds
    keys = [each.locator_id for each in candidates]
    if trust_hashes:
        keys += [seen_key(writer.source.key, each.entry.content_hash) for each in candidates]
    stored = await writer.store.read_many(LOCATORS.name, [(key, key) for key in keys])
    aliases = stored[: len(candidates)]
    hashes = stored[len(candidates) :] or [None] * len(candidates)
    found: list[_Found] = []
    renewed: list[Document] = []
    for candidate, hashed, alias in zip(candidates, hashes, aliases, strict=True):
        if hashed is None or hashed["revision"] != candidate.entry.form_hash or known.has(candidate.id_hash):
            found.append(_Found(candidate, alias))
        elif hashed["ttl_timestamp"] - now.seconds < kept // 2:
            renewed.append({**hashed, "ttl_timestamp": now.seconds + kept})
            if alias is not None:
                renewed.append({**alias, "ttl_timestamp": now.seconds + ALIAS_SECONDS})
    return found, renewed


async def _write(writer: ArticleWriter, matches: list[Match], renewed: list[Document], matched: Matched) -> list[Match]:
    """The matches that changed their article."""
    written: list[Match] = []
    matched.any_written |= bool(matches)
    for source_id, merged in (await writer.write(matches, renewed)).items():
        matched.add(source_id, merged)
        if merged.article is not None:
            written += [each._replace(certain=True, claimed=True) for each in merged.matches]
    return written


def _is_outlived(found: _Found, known: KnownEntries) -> bool:
    """Whether the entry has outlived its article: the alias has expired while the feed kept showing the entry."""
    return found.alias is None and known.has(found.candidate.id_hash)


def _match(found: _Found, writer: ArticleWriter) -> Match:
    candidate, alias, now = found.candidate, found.alias, writer.now
    if alias is None:
        return Match(candidate, candidate.source_id())
    if candidate.flag is not None:
        # The entry has no usable date of its own: it was first seen when its alias was created.
        first_seen = min(now.at, parse_time(alias["created_at"]))
        candidate = examined(candidate.entry, writer.source, now.at, first_seen)
    age = now.at - parse_time(alias["created_at"])
    outlived = age > timedelta(seconds=ARTICLE_SECONDS) - NEARLY
    return Match(candidate, alias["source_id"], certain=True, claimed=True, outlived=outlived)
