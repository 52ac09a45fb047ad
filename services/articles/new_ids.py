"""Which stored article each entry of a flood is, if only the ids of the feed have changed; and adds these ids to them.

A person says so in the review of the flood. An entry is known by its URL, without parameters of tracking and sessions,
or by its headline: both among what the same feed has published before. Where these lead to several articles, the entry
is ambiguous: merging the wrong articles is worse than leaving an entry out, since its article is counted already.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from models.article import Article, ObservationDocument
from models.raw_item import RawItem
from services.articles.entry_documents import SourceAttempt, alias
from services.articles.identity import Candidate, Source, candidate_of, entry_of, is_weak, normalize_headline
from services.parse.text import strip_publisher
from services.parse.urls import link_of
from services.ports import Document, Query, Store, Where, pages
from services.store.containers import ARTICLES, LOCATORS

_PAGE = 500
_AT_ONCE = 1_000


class StoredEntry(NamedTuple):
    """What the feed has published in one article, as an observation has it. `headline` is empty if the article was
    deleted."""

    source_id: str
    url: str
    headline: str
    day: str


class Known(NamedTuple):
    """An entry that is a known article under a new id."""

    candidate: Candidate
    source_id: str


class Ambiguous(NamedTuple):
    """An entry that may be several articles, or is one of several that may be one article.

    `source_ids` are the articles that the entry may be.
    """

    candidate: Candidate
    source_ids: tuple[str, ...]


class SortedOut(NamedTuple):
    """The entries of a flood, sorted."""

    known: tuple[Known, ...]
    new: tuple[Candidate, ...]
    ambiguous: tuple[Ambiguous, ...]


def stored_entry(observation: ObservationDocument, source: Source) -> StoredEntry:
    headline = ""
    if not observation.get("deleted_at"):
        names = (observation.get("publisher"), source.name, source.title)
        headline = normalize_headline(strip_publisher(observation["headline"], names))
    url, day = link_of(observation["url"]), observation["published_at"][:10]
    return StoredEntry(observation["source_id"], url, headline, day)


def sorted_out(candidates: Sequence[Candidate], stored: Iterable[StoredEntry]) -> SortedOut:
    """Each candidate as a known entry, a new one or an ambiguous one. `stored` are all entries of the feed that were
    published before."""
    by_url: defaultdict[str, dict[str, StoredEntry]] = defaultdict(dict)
    by_headline: defaultdict[str, dict[str, StoredEntry]] = defaultdict(dict)
    for each in stored:
        by_url[each.url][each.source_id] = each
        if each.headline:
            by_headline[each.headline][each.source_id] = each
    headlines_at: defaultdict[str, set[str]] = defaultdict(set)
    for candidate in candidates:
        headlines_at[candidate.url].add(candidate.normalized_headline)

    def with_both(candidate: Candidate) -> set[str]:
        return by_url[candidate.url].keys() & by_headline[candidate.normalized_headline].keys()

    def articles_of(candidate: Candidate) -> list[str]:
        """The articles that the entry may be. Of several with its headline, the one of its day is meant. A URL of
        several articles or several entries identifies none of them."""
        of_url, of_headline = by_url[candidate.url], by_headline[candidate.normalized_headline]
        if both := with_both(candidate):
            of_headline = {each: of_headline[each] for each in both}
        elif is_weak(candidate.normalized_headline):
            of_headline = {}
        if not both and len(of_url) == len(headlines_at[candidate.url]) == 1:
            return sorted({*of_url, *of_headline})
        day = candidate.published.date().isoformat()
        of_day = [source_id for source_id, each in of_headline.items() if each.day == day]
        return of_day if len(of_day) == 1 else sorted(of_headline)

    articles = [articles_of(each) for each in candidates]
    rivals: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for candidate, found in zip(candidates, articles, strict=True):
        if len(found) == 1:
            rivals[found[0]].add((candidate.url, candidate.normalized_headline))
    known: list[Known] = []
    new: list[Candidate] = []
    ambiguous: list[Ambiguous] = []
    for candidate, found in zip(candidates, articles, strict=True):
        if not found:
            new.append(candidate)
        elif len(found) == 1 and (len(rivals[found[0]]) == 1 or found[0] in with_both(candidate)):
            known.append(Known(candidate, found[0]))
        else:
            ambiguous.append(Ambiguous(candidate, tuple(found)))
    return SortedOut(tuple(known), tuple(new), tuple(ambiguous))


@dataclass(frozen=True, slots=True)
class NewIds:
    """Finds the known articles of a flood, and adds its ids to them. Writes locator aliases, and nothing else.

    An alias is as old as its article, and so never outlives it.
    """

    store: Store

    async def sorted_out(self, items: Sequence[RawItem], attempt: SourceAttempt) -> SortedOut:
        """Which articles the entries are. What the attempt's own run has stored does not count as known: a second try
        then decides as the first one did."""
        candidates = await asyncio.to_thread(_candidates, items, attempt.source, attempt)
        stored = await self._stored(attempt)
        found = await asyncio.to_thread(sorted_out, candidates, stored)
        return await self._without_expired(found)

    async def add(self, known: Sequence[Known], attempt: SourceAttempt) -> None:
        """Adds each entry's id to its article. Doing it again changes nothing."""
        for start in range(0, len(known), _AT_ONCE):
            some = known[start : start + _AT_ONCE]
            articles = await self._articles([each.source_id for each in some])
            aliases: list[Document] = [
                {**alias(each.candidate, each.source_id, attempt), "created_at": article["created_at"]}
                for each in some
                if (article := articles.get(each.source_id)) is not None
            ]
            await self.store.create_many(LOCATORS.name, aliases)

    async def _stored(self, attempt: SourceAttempt) -> list[StoredEntry]:
        where = (Where("entity_type", "eq", "Observation"), Where("source", "eq", attempt.source.key))
        found: list[StoredEntry] = []
        async for page in pages(self.store, ARTICLES.name, Query(where, limit=_PAGE)):
            observations = page.items
            found += [
                stored_entry(each, attempt.source)
                for each in observations
                if not each.get("added_by_attempt", "").startswith(f"{attempt.run_id}:")
            ]
        return found

    async def _without_expired(self, found: SortedOut) -> SortedOut:
        """An entry whose article has expired meanwhile is a new one."""
        articles = await self._articles(list({each.source_id for each in found.known}))
        known = tuple(each for each in found.known if each.source_id in articles)
        gone = tuple(each.candidate for each in found.known if each.source_id not in articles)
        return SortedOut(known, (*found.new, *gone), found.ambiguous)

    async def _articles(self, source_ids: Sequence[str]) -> dict[str, Document]:
        found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        return {name: article for name, article in zip(source_ids, found, strict=True) if article is not None}


def _candidates(items: Sequence[RawItem], source: Source, attempt: SourceAttempt) -> list[Candidate]:
    """Without their texts. Entries that are not valid are left out."""
    found = {}
    for item in items:
        try:
            candidate = candidate_of(entry_of(source, item), source, attempt.at)
        except ValueError:
            continue
        found[candidate.locator_id] = candidate._replace(text="")
    return list(found.values())
