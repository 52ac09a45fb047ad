"""Which entries are new to their feed, which of these are a flood, and which article an entry matches. Pure.

What an entry changes in its article is decided in merge.py; writing.py reads and writes what these decisions need.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from models.article import ARTICLE_KEPT, ArticleDocument, AttributionDocument
from models.feed import HASH_LENGTH, FeedSeen, ShortHash
from models.values import parse_time
from services.articles.identity import Candidate, Entry, Source, candidate_of, headline_hash, shared_url_hash
from services.parse.urls import link_of
from services.ports import Document

HASHES = 4
GROUP = HASHES * HASH_LENGTH
"""The hashes of one entry: of its present form, its identity, its URL and its headline. A known form is an unchanged
entry; a known identity with an unknown form is an edit; a known URL or headline with an unknown identity hints at a
flood."""

KEPT_PER_ENTRY = 4
FEWEST_KEPT = 100
MAX_KEPT = 2_000
"""Entries. All entries of the present feed document are kept, even if there are more; the rest of this number is for
entries that are no longer in the feed."""

FLOOD_MINIMUM = 10
FLOOD_SHARE = 0.5
LONGEST_AFFIX = 40
"""Characters that a feed adds to its headlines."""

ABOUT_TO_EXPIRE = timedelta(hours=1)
"""An alias this close to the end of its article's lifetime belongs to an article that has expired, not to one that a
crash kept from being written."""


class KnownEntries:
    """The contents of one `seen` document. Immutable; `with_entries` gives the next one.

    `groups` are all hashes of each entry, by the hash of its form. Nothing is called for each entry: most polls bring
    one new entry among many that are known."""

    __slots__ = ("_others", "groups")

    def __init__(self, hashes: str = "") -> None:
        self.groups = {hashes[at : at + HASH_LENGTH]: hashes[at : at + GROUP] for at in range(0, len(hashes), GROUP)}
        self._others: set[str] | None = None

    def has(self, short_hash: ShortHash) -> bool:
        """Whether the feed had an entry with this identity, URL or headline."""
        if self._others is None:
            others, groups = range(HASH_LENGTH, GROUP, HASH_LENGTH), self.groups.values()
            self._others = {group[at : at + HASH_LENGTH] for group in groups for at in others}
        return short_hash in self._others

    def with_entries(self, groups: Iterable[str]) -> str:
        """The hashes with the entries of the present document as the newest, and older entries as far as they are kept.

        An older form of a present entry is dropped: should the entry return to that form, it has changed.
        """
        newest = {group[:HASH_LENGTH]: group for group in groups}
        identity = slice(HASH_LENGTH, 2 * HASH_LENGTH)
        present = {group[identity] for group in newest.values()}
        most = min(max(KEPT_PER_ENTRY * len(newest), FEWEST_KEPT), max(MAX_KEPT, len(newest)))
        older = [group for group in self.groups.values() if group[identity] not in present]
        kept = most - len(newest)
        return "".join([*(older[-kept:] if kept else ()), *newest.values()])


def seen_document(feed_id: str, hashes: str, now: str) -> Document:
    """FeedSeen as it is stored."""
    common = {"entity_type": "FeedSeen", "schema_version": "1", "created_at": now, "updated_at": now}
    return {"id": FeedSeen.ID, "feed_id": feed_id, **common, "hashes": hashes}


class DocumentCache:
    """This process's cache of each feed's last document, with at most `size` entries. The feed that was saved least
    recently goes first.

    A cached feed document counts only for the body that the feed was last saved with, whichever process saved it. The
    cache saves reads; correctness does not depend on it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries = 0
        self._documents: OrderedDict[str, tuple[str, frozenset[ShortHash]]] = OrderedDict()

    def has_all(self, feed_id: str, body_hash: str | None, form_hashes: Iterable[ShortHash]) -> bool:
        """Whether all these forms were in the document with `body_hash`, the feed's last one."""
        known = self._documents.get(feed_id)
        return known is not None and known[0] == body_hash and known[1].issuperset(form_hashes)

    def keep(self, feed_id: str, body_hash: str, form_hashes: Iterable[ShortHash]) -> None:
        """Call this only after the feed was saved with this body."""
        self._forget(feed_id)
        document = frozenset(form_hashes)
        self._documents[feed_id] = (body_hash, document)
        self._entries += len(document)
        while self._entries > self._size:
            self._forget(next(iter(self._documents)))

    def _forget(self, feed_id: str) -> None:
        known = self._documents.pop(feed_id, None)
        self._entries -= len(known[1]) if known is not None else 0


def candidates_of(entries: Iterable[Entry], source: Source, now: datetime, known: KnownEntries) -> list[Candidate]:
    """The candidates of the entries, each form once, without entries whose URL cannot be normalized."""
    candidates = []
    for entry in {each.form_hash: each for each in entries}.values():
        try:
            candidate = candidate_of(entry, source, now)
        except ValueError:
            continue
        if entry.item.article_id is None and known.has(shared_url_hash(source, candidate.url)):
            shared = entry._replace(item=entry.item._replace(url_shared=True))
            candidate = candidate_of(shared, source, now)
        candidates.append(candidate)
    return candidates


def without_affix(headlines: Collection[str], is_known: Callable[[str], bool]) -> dict[str, str]:
    """The headlines that are known without the words that most of them begin or end with: what is left of each, by
    headline. None if there are few headlines, or fewer than half are known then.

    In their order, headlines with one beginning stand together. If most have it, so has the one in the middle.
    """
    if len(headlines) < FLOOD_MINIMUM:
        return {}
    fewest = FLOOD_SHARE * len(headlines)
    for step in (1, -1):  # the end is the beginning of what is written backwards
        having = sorted(each[::step] for each in headlines)
        middle = having[len(having) // 2]
        for length in range(1, min(len(middle), LONGEST_AFFIX + 1)):
            having = [each for each in having if each[:length] == middle[:length]]
            if len(having) <= fewest:
                break
            if middle[length] == " " or not middle[length - 1 : length + 1].isascii():  # some scripts have no spaces
                rests = {each[::step]: each[length:].strip()[::step] for each in having}
                found = {each: rest for each, rest in rests.items() if rest and is_known(rest)}
                if len(found) >= fewest:
                    return found
    return {}


def flood_of(unknown: Sequence[Candidate], known: KnownEntries, source: Source) -> list[Candidate]:
    """The flood among candidates that no locator knows: all that have a new id, if there are many and most of them have
    a URL or headline that the feed had lately, or a headline that it had without words that are now in most of them. A
    URL that several of them share hints at nothing: feeds may link to one page, with news of its own below each `#`.

    A feed whose ids all change (http to https, a new publishing system) would otherwise be ingested a second time.
    """
    new = [each for each in unknown if each.has_own_id and not known.has(each.id_hash)]
    if len(new) < FLOOD_MINIMUM or not known.groups:
        return []
    times = Counter(each.url_hash for each in new)
    had_lately = sum(
        known.has(each.headline_hash) or (times[each.url_hash] == 1 and known.has(each.url_hash)) for each in new
    )
    if had_lately >= FLOOD_SHARE * len(new):
        return new
    headlines = {each.normalized_headline for each in new}
    return new if without_affix(headlines, lambda each: known.has(headline_hash(source, each))) else []


class Match(NamedTuple):
    """A candidate and the article that it matches.

    `claimed`: the candidate's locator names the article already, since the source `claimed_by` had an entry with this
    locator. `certain`: the article follows from the locator or
    the URL, so no other article is possible. `outlived`: the article has expired before its alias, so it is not created
    again.
    """

    candidate: Candidate
    source_id: str
    certain: bool = False
    claimed: bool = False
    outlived: bool = False
    claimed_by: str = ""


Groups = dict[str, list[Match]]
"""Matches by article."""
Articles = dict[str, ArticleDocument | None]
"""What is stored of articles, by id."""


def matches_of(
    candidates: Sequence[Candidate], aliases: Mapping[str, Document], source: Source, now: datetime
) -> list[Match]:
    """The article of each candidate: the one that its locator's alias names, else the one with its dedup key. `aliases`
    are by locator.

    Of candidates with one locator, the later ones match the article of the first.
    """
    found: list[Match] = []
    first: dict[str, Match] = {}
    for candidate in candidates:
        alias = aliases.get(candidate.locator_id)
        if alias is not None:
            match = _match_of_alias(candidate, alias, source, now)
        elif (earlier := first.get(candidate.locator_id)) is not None:
            match = Match(candidate, earlier.source_id, certain=True, claimed=True)
        else:
            match = first[candidate.locator_id] = Match(candidate, candidate.source_id())
        found.append(match)
    return found


def _match_of_alias(candidate: Candidate, alias: Document, source: Source, now: datetime) -> Match:
    aliased_at = parse_time(alias["created_at"])
    if candidate.flag is not None:
        # The entry has no usable date of its own: it was first seen when its alias was created.
        # A date that is in the future now, and was not then, is right: this clock is behind.
        first_seen = aliased_at if candidate.flag == "future" else min(now, aliased_at)
        candidate = candidate_of(candidate.entry, source, first_seen)._replace(language=candidate.language)
    outlived = now - aliased_at > ARTICLE_KEPT - ABOUT_TO_EXPIRE
    by = alias["provider"]
    return Match(candidate, alias["source_id"], certain=True, claimed=True, outlived=outlived, claimed_by=by)


def grouped(matches: Iterable[Match]) -> Groups:
    groups: Groups = {}
    for match in matches:
        groups.setdefault(match.source_id, []).append(match)
    return groups


def separated(groups: Groups, articles: Articles, source: str, present: Collection[str] = ()) -> Groups:
    """The groups, but each match that must be an article of its own is moved to the article that its URL identifies.
    `present` are the URLs in the feed document of this source."""
    own = {
        match.candidate.locator_id: match.candidate.source_id(with_url=True)
        for key, group in groups.items()
        for match in _own_articles(articles[key], group, source, present)
    }
    if not own:
        return groups
    return grouped(
        match._replace(source_id=own[match.candidate.locator_id], certain=True)
        if match.candidate.locator_id in own
        else match
        for group in groups.values()
        for match in group
    )


def pinned(groups: Groups, articles: Articles) -> Groups:
    """The groups, but each match whose link a person split off its article goes to the article that the pin names."""
    pins = {key: found for key in groups if (found := split_links(articles[key]))}
    if not any(match.candidate.url in pins[key] for key in pins for match in groups[key]):
        return groups
    return grouped(
        match._replace(source_id=pins.get(key, {}).get(match.candidate.url, key), certain=True)
        for key, group in groups.items()
        for match in group
    )


def split_links(article: ArticleDocument | None) -> Mapping[str, str]:
    pins: Mapping[str, str] = (article or {}).get("split_links", {})
    return pins


def _own_articles(
    article: ArticleDocument | None, group: Sequence[Match], source: str, present: Collection[str]
) -> list[Match]:
    """The matches that must be articles of their own: their source has another entry in this article, under another id
    and another URL; or a person split a link off the article, so that its headline and day alone make no match.
    Merging the wrong articles is worse than missing a duplicate."""
    own = article and article["source_attribution"].get(source)
    if article is not None and article.get("deleted_at"):
        return []
    if own is None and split_links(article):
        return [match for match in group if not match.certain]
    known = (own["article_id"], link_of(own["url"])) if own is not None else None
    has_moved = False
    found = []
    for match in group:
        candidate = match.candidate
        if known is None:
            known = (candidate.article_id, candidate.url)
        elif not match.certain and known[0] != candidate.article_id and known[1] != candidate.url:
            if own is not None and not has_moved and is_moved(own, candidate, present):
                has_moved = True
            else:
                found.append(match)
    return found


def is_moved(own: AttributionDocument, candidate: Candidate, present: Collection[str]) -> bool:
    """Whether the candidate is the stored entry at another URL. URLs may have the id of a session under any name.

    Neither has an id, the feed document has the stored URL no more, and headline, text and publication time are the
    same.
    """
    if candidate.has_own_id or own["article_id"] != own["url"] or own["url"] in present:
        return False
    is_same = own["revision"] == candidate.revision and own["published_at"] == candidate.published_at
    return is_same and candidate.flag is None and bool(candidate.text)
