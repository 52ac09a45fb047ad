"""The ladder for what a feed's own memory does not know: stored hashes, locators, floods; then the articles.

Decides nothing about articles (dedup.py) and writes none (settlement.py); knows nothing of schedules, of fetching, or
of when the feed's own memory is saved.
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
from services.articles.canonical import ALIAS_SECONDS, ARTICLE_SECONDS, Moment
from services.articles.dedup import Folded, Target
from services.articles.flood import flood_of
from services.articles.identity import Candidate, Source, examined
from services.articles.recent import Recent
from services.articles.settlement import Settlement
from services.articles.together import Documents
from services.ports import Document
from services.store.containers import FEEDS, LOCATORS

NEARLY_SECONDS = 3_600
"""A locator whose article has expired, or is about to, is not completed: it is old, not left behind by a crash."""


@dataclass(slots=True)
class Taken:
    """What came of one document's entries. Articles by id, so that none is counted twice."""

    first: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    joined: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    """Whose events are due; `clean_up` would find these too, as they wait for their first analysis."""
    changed: set[str] = field(default_factory=set)
    """Whose events are due, and which nothing else would bring back."""
    held: list[Candidate] = field(default_factory=list)
    published: list[datetime] = field(default_factory=list)
    """When what is new to the source was published, as far as the source says so."""

    def count(self, source_id: str, folded: Folded) -> None:
        if folded.announced:
            article = folded.article or folded.before or {}
            (self.pending if article.get("status") == "pending" else self.changed).add(source_id)
        if folded.first and source_id not in self.first:
            self.first.add(source_id)
            for target in folded.targets[:1]:
                if target.candidate.flag is None:
                    self.published.append(target.candidate.published)
            if folded.stored:
                self.stored.add(source_id)
            if folded.joined:
                self.joined.add(source_id)


class Known(NamedTuple):
    """What the store knows of a candidate that goes on to the articles."""

    candidate: Candidate
    alias: Document | None


class Intake:
    def __init__(self, store: Documents, hashes_kept: timedelta) -> None:
        self._store = store
        self._kept_seconds = int(hashes_kept.total_seconds())

    async def take_in(
        self,
        source: Source,
        candidates: Sequence[Candidate],
        recent: Recent,
        now: Moment,
        counted_until: str,
        *,
        unsure: bool,
    ) -> Taken:
        """Stores what is new or changed among the candidates, each of which is another form of an entry.

        `counted_until` is the `now` of the processing that saved the feed last; `unsure` is fold's.
        """
        taken = Taken()
        settlement = Settlement(self._store, source, now, counted_until, self._kept_seconds, unsure)
        met: list[Target] = []
        waiting = list(candidates)
        while waiting:
            # Two entries under one locator are one: the second meets what the first has left.
            turn: dict[str, Candidate] = {}
            for each in waiting:
                turn.setdefault(each.locator_id, each)
            later = [each for each in waiting if turn[each.locator_id] is not each]
            known, renewed = await self._known(settlement, list(turn.values()), recent)
            known = _without_flood(known, recent, taken)
            targets = [_targeted(each, source, now) for each in known if not _is_over(each, recent, now)]
            met += await _settled(settlement, targets, renewed, taken)
            waiting = later
        await self._reread_if_changed(settlement, met, taken)
        return taken

    async def _reread_if_changed(self, settlement: Settlement, met: list[Target], taken: Taken) -> None:
        """What was written by a priority that somebody has changed meanwhile is read by the new one.

        Whoever changes it looks for the source's articles after that: those written later see the change here.
        """
        while met:
            source = settlement.source
            (feed,) = await self._store.read_many(FEEDS.name, [(source.key, Feed.ID)])
            if feed is None or feed.get("source_priority", LOWEST_PRIORITY) == source.priority:
                return
            source = replace(source, priority=int(feed["source_priority"]))
            settlement = replace(settlement, source=source)
            met = await _settled(settlement, met, [], taken)

    async def _known(
        self, work: Settlement, candidates: list[Candidate], recent: Recent
    ) -> tuple[list[Known], list[Document]]:
        """The candidates whose hash is not stored in this form; and the locators that live on, seen again.

        An entry that the feed knows in another form may have had this one, with this date, before that.
        """
        # Of a feed that was never saved, or over which a worker died, every hash is in doubt: none is worth reading.
        with_hashes = candidates if work.counted_until and not work.unsure else []
        keys = [each.locator_id for each in candidates]
        keys += [seen_key(work.source.key, each.entry.content_hash) for each in with_hashes]
        found = await self._store.read_many(LOCATORS.name, [(key, key) for key in keys])
        aliases = found[: len(candidates)]
        hashes = found[len(candidates) :] or [None] * len(candidates)
        going_on: list[Known] = []
        renewed: list[Document] = []
        for candidate, hashed, alias in zip(candidates, hashes, aliases, strict=True):
            was_other = recent.knows(candidate.id_mark)
            if was_other or hashed is None or hashed["revision"] != candidate.entry.mark or work.is_in_doubt(hashed):
                going_on.append(Known(candidate, alias))
            elif hashed["ttl_timestamp"] - work.now.seconds < self._kept_seconds // 2:
                renewed.append({**hashed, "ttl_timestamp": work.now.seconds + self._kept_seconds})
                if alias is not None:
                    renewed.append({**alias, "ttl_timestamp": work.now.seconds + ALIAS_SECONDS})
        return going_on, renewed


async def _settled(
    settlement: Settlement, targets: list[Target], renewed: list[Document], taken: Taken
) -> list[Target]:
    """Those that changed their article, or may have."""
    met: list[Target] = []
    for source_id, folded in (await settlement.settle(targets, renewed)).items():
        taken.count(source_id, folded)
        if folded.article is not None or folded.announced:
            met += [each._replace(fixed=True, claimed=True) for each in folded.targets]
    return met


def _without_flood(known: list[Known], recent: Recent, taken: Taken) -> list[Known]:
    held = flood_of([each.candidate for each in known if each.alias is None], recent)
    if not held:
        return known
    taken.held += held
    marks = {each.entry.mark for each in held}
    return [each for each in known if each.candidate.entry.mark not in marks]


def _is_over(known: Known, recent: Recent, now: Moment) -> bool:
    """An entry that has outlived its article: its locator is gone, though the feed had it all along."""
    return known.alias is None and recent.knows(known.candidate.id_mark)


def _targeted(known: Known, source: Source, now: Moment) -> Target:
    candidate, alias = known.candidate, known.alias
    if alias is None:
        return Target(candidate, candidate.target())
    if candidate.flag is not None:
        # When it was first seen is kept by what was stored of it then.
        first_seen = min(now.at, parse_time(alias["created_at"]))
        candidate = examined(candidate.entry, source, now.at, first_seen)
    over = now.at - parse_time(alias["created_at"]) > timedelta(seconds=ARTICLE_SECONDS - NEARLY_SECONDS)
    return Target(candidate, alias["source_id"], fixed=True, claimed=True, over=over)
