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

from models.article import Article
from models.observation import ObservationDocument
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
    candidate: Candidate
    source_id: str


class Ambiguous(NamedTuple):
    """`source_ids` are the articles that the entry may be."""

    candidate: Candidate
    source_ids: tuple[str, ...]


class SortedOut(NamedTuple):
    known: tuple[Known, ...]
    new: tuple[Candidate, ...]
    ambiguous: tuple[Ambiguous, ...]


class _Claim(NamedTuple):
    """The one article that the entry may be, by its URL, its headline or both."""

    candidate: Candidate
    entry: StoredEntry
    by_url: bool
    by_headline: bool


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
    index = _Index(stored)
    known: list[Known] = []
    new: list[Candidate] = []
    ambiguous: list[Ambiguous] = []
    claims: defaultdict[str, list[_Claim]] = defaultdict(list)
    for candidate in candidates:
        found = index.find(candidate)
        if isinstance(found, _Claim):
            claims[found.entry.source_id].append(found)
        elif found:
            ambiguous.append(Ambiguous(candidate, tuple(sorted(found))))
        else:
            new.append(candidate)
    for source_id, rivals in claims.items():
        right = _right_of(rivals)
        for claim in rivals:
            if claim in right:
                known.append(Known(claim.candidate, source_id))
            elif claim.by_url and right:
                new.append(claim.candidate)  # many entries have this URL, and another one is the article
            else:
                ambiguous.append(Ambiguous(claim.candidate, (source_id,)))
    return SortedOut(tuple(known), tuple(new), tuple(ambiguous))


class _Index:
    def __init__(self, stored: Iterable[StoredEntry]) -> None:
        self._by_url: defaultdict[str, dict[str, StoredEntry]] = defaultdict(dict)
        self._by_headline: defaultdict[str, dict[str, StoredEntry]] = defaultdict(dict)
        for each in stored:
            self._by_url[each.url][each.source_id] = each
            if each.headline:
                self._by_headline[each.headline][each.source_id] = each

    def find(self, candidate: Candidate) -> _Claim | set[str] | None:
        """The article, or several that it may be, or None."""
        of_url = self._by_url.get(candidate.url, {})
        of_headline = self._by_headline.get(candidate.normalized_headline, {})
        both = of_url.keys() & of_headline.keys()
        if both:
            return _only(candidate, [of_headline[each] for each in both], by_url=True)
        weak = is_weak(candidate.normalized_headline)
        if len(of_url) == 1:
            if of_headline and not weak:
                return {*of_url, *of_headline}  # the URL of one article, the headline of another
            return _Claim(candidate, next(iter(of_url.values())), by_url=True, by_headline=False)
        if of_headline and not weak:
            return _only(candidate, list(of_headline.values()), by_url=False)
        return None


def _only(candidate: Candidate, entries: list[StoredEntry], *, by_url: bool) -> _Claim | set[str]:
    """The one article with the headline; of several, the one that was published on the same day."""
    day = candidate.published.date().isoformat()
    of_day = [each for each in entries if each.day == day] if len(entries) > 1 else entries
    if len(of_day) == 1:
        return _Claim(candidate, of_day[0], by_url, by_headline=True)
    return {each.source_id for each in entries}


def _right_of(rivals: Sequence[_Claim]) -> Sequence[_Claim]:
    """Of the entries that may be one article, those that are. Several are if they are one entry under several ids."""
    sure = [claim for claim in rivals if claim.by_url and claim.by_headline]
    if sure:
        return sure
    by_url = [claim for claim in rivals if claim.by_url]
    if by_url:
        return by_url if len({claim.candidate.normalized_headline for claim in by_url}) == 1 else ()
    if len({claim.candidate.url for claim in rivals}) == 1:
        return rivals
    of_day = [claim for claim in rivals if claim.candidate.published.date().isoformat() == claim.entry.day]
    return of_day if len({claim.candidate.url for claim in of_day}) == 1 else ()


@dataclass(frozen=True, slots=True)
class NewIds:
    """Writes locator aliases, and nothing else. An alias is as old as its article, and so never outlives it."""

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
