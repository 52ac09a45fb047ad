"""Which stored article each entry of a flood is, if only the ids of the feed have changed. Pure.

A person says so in the review of the flood. An entry is known by its URL, without parameters of tracking and sessions,
or by its headline: both among what the same feed has published before. Where these lead to several articles, the entry
is ambiguous: merging the wrong articles is worse than leaving an entry out, since its article is counted already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from models.observation import ObservationDocument
from services.articles.identity import Candidate, Source, is_weak, normalize_headline
from services.parse.text import strip_publisher
from services.parse.urls import link_of


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
