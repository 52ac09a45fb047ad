"""Decides which article each article repeats, and to which story it belongs. Pure: what is stored is looked up through
`Articles`.

Articles are decided in the order of their publication, and only from earlier articles: so the same articles give the
same stories, in whatever order they arrived. `replay` decides again whatever a change may have altered, and nothing
else. Under each of its keys, an article sees the MOST_UNDER_KEY articles before it: so a change may alter as many
articles after it, however many have the key.

A story is what its opening article reports. An article joins the story of the most similar earlier article if it is
similar to the opening article too: a chain of articles, each similar to the next, does not lead away from it.

What people said comes first. If they contradict each other, the articles stay apart: `apart_from` wins over
`together_with`, and `different_from` over `same_as`.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from models.story import SILENCE, Reason, event_id
from services.stories.near_duplicates import near_duplicate
from services.stories.signature import Signature
from services.stories.similarity import NEAREST, OPENING, compared, similarity

SILENCE_MINUTES = int(SILENCE.total_seconds()) // 60
MOST_UNDER_KEY = 64
"""The earlier articles that an article finds under one key: the latest."""
MOST_CANDIDATES = 64
"""Of these, the articles that it is compared with: those that share most keys with it, then the latest."""

BY_SIMILARITY = "same_event"
BY_NEAR_DUPLICATE = "near_duplicate"
BY_PERSON = "person"

Place = tuple[int, str]
"""Where an article is in the order of publication: its minute, and its source_id."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """What people said of an article: other articles, each with the id of the correction. Both articles of a pair must
    name each other."""

    apart_from: Mapping[str, str] = field(default_factory=dict)
    together_with: Mapping[str, str] = field(default_factory=dict)
    different_from: Mapping[str, str] = field(default_factory=dict)
    same_as: Mapping[str, str] = field(default_factory=dict)

    @property
    def partners(self) -> frozenset[str]:
        """All articles that they name."""
        return frozenset().union(self.apart_from, self.together_with, self.different_from, self.same_as)


WITHOUT = Constraints()


@dataclass(frozen=True, slots=True)
class Decision:
    """`opening`: the opening article of its story for this article, with which further articles like it are compared:
    the first article of the story, or an article that a person put into it. `story_reason`: null if the article begins
    the story."""

    event_id: str
    opening: str
    story_reason: Reason | None = None
    near_duplicate_of: str | None = None
    near_duplicate_reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """An article as the grouping knows it, with its present decision, if it was decided before."""

    source_id: str
    published_at: datetime
    signature: Signature
    constraints: Constraints = WITHOUT
    decision: Decision | None = None

    @property
    def place(self) -> Place:
        return self.signature.minute, self.source_id


@dataclass(frozen=True, slots=True)
class Change:
    """An article before and after a change: null before it was there and after it is deleted. Both are the same article
    when it is only to be decided again."""

    before: Known | None
    after: Known | None

    @property
    def source_id(self) -> str:
        article = self.after or self.before
        assert article is not None, "a change is about an article"
        return article.source_id


class Articles(Protocol):
    """The articles that are stored, with their present decisions. It does not matter whether a change that is replayed
    is stored already."""

    async def near(self, keys: Collection[str], place: Place, most: Mapping[str, int]) -> Mapping[str, Sequence[Place]]:
        """For each of these keys, the articles that have it, in order: those next to the place within the silence, so
        many before it and as many after it, or more."""

    async def named(self, source_ids: Collection[str]) -> Iterable[Known]:
        """Those of these articles that exist."""

    async def members(self, event_ids: Collection[str]) -> Iterable[Known]:
        """All articles of these stories."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """`decided`: the articles whose decision changed, with the new one. They must be written in this order, the latest
    article first, the changed articles themselves last: after a crash in between, replaying the same changes finds what
    is missing. `remaining`: the articles that are still to be decided again, because of the limit."""

    decided: tuple[Known, ...]
    remaining: tuple[str, ...] = ()


def decide(
    article: Known, candidates: Iterable[Known], openings: Mapping[str, Known], partners: Mapping[str, Known]
) -> Decision:
    """Its decision, from earlier articles that are decided: `candidates` may be near-duplicates or of its story;
    `openings` has their opening articles, `partners` the earlier articles that people named for it."""
    said = article.constraints
    found = sorted(candidates, key=_place)
    barred = {_decided(partners[each]).event_id for each in said.apart_from if each in partners}

    original, near_duplicate_reason = _original(article, found, partners)
    repeats = None if original is None else original.source_id

    def joins(event: str, opening: str, reason: Reason) -> Decision:
        return Decision(event, opening, reason, repeats, near_duplicate_reason)

    for other in sorted((partners[each] for each in said.together_with if each in partners), key=_place):
        event = _decided(other).event_id
        if event not in barred:
            correction = said.together_with[other.source_id]
            reason = Reason(rule=BY_PERSON, with_article=other.source_id, correction_id=correction)
            return joins(event, article.source_id, reason)
    if original is not None and _decided(original).event_id not in barred:
        there = _decided(original)
        return joins(there.event_id, there.opening, Reason(rule=BY_NEAR_DUPLICATE, with_article=repeats))
    for other, reason in _similar(article, found, openings):
        there = _decided(other)
        if there.event_id not in barred:
            return joins(there.event_id, there.opening, reason)
    begun = event_id(article.source_id, article.published_at)
    return Decision(begun, article.source_id, None, repeats, near_duplicate_reason)


def around(near: Mapping[str, Sequence[Place]], place: Place) -> tuple[list[str], list[str]]:
    """The articles that the one at this place is compared with, the most promising first; and the later articles that
    may be compared with it. `near` has for each of its keys the other articles that have it, in order."""
    keys: Counter[Place] = Counter()
    later: dict[Place, None] = {}
    for found in near.values():
        at = bisect_left(found, place)
        keys.update(each for each in found[max(0, at - MOST_UNDER_KEY) : at] if place[0] - each[0] <= SILENCE_MINUTES)
        after = found[at : at + MOST_UNDER_KEY]
        later |= dict.fromkeys(each for each in after if each[0] - place[0] <= SILENCE_MINUTES)
    earlier = sorted(keys, key=lambda each: (keys[each], each), reverse=True)
    return [name for _, name in earlier[:MOST_CANDIDATES]], [name for _, name in later]


def _original(
    article: Known, candidates: Sequence[Known], partners: Mapping[str, Known]
) -> tuple[Known | None, Reason | None]:
    """The first of the articles that it repeats, and why."""
    said = article.constraints
    for other in sorted((partners[each] for each in said.same_as if each in partners), key=_place):
        if other.source_id not in said.different_from:
            correction = said.same_as[other.source_id]
            return other, Reason(rule=BY_PERSON, with_article=other.source_id, correction_id=correction)
    for other in candidates:
        if other.source_id not in said.different_from:
            reason = near_duplicate(article.signature, other.signature)
            if reason is not None:
                return other, reason.model_copy(update={"with_article": other.source_id})
    return None, None


def _similar(
    article: Known, candidates: Sequence[Known], openings: Mapping[str, Known]
) -> Iterator[tuple[Known, Reason]]:
    """The candidates whose story it may join, the most similar first: the article is similar to the opening article,
    too."""
    scored = [(similarity(article.signature, other.signature), other) for other in candidates]
    to_opening: dict[str, float] = {other.source_id: score for score, other in scored}
    for score, other in sorted(scored, key=lambda each: -each[0]):  # equal scores: the earliest article first
        if score < NEAREST:
            return
        name = _decided(other).opening
        if name not in to_opening:
            opening = openings.get(name)
            to_opening[name] = 0.0 if opening is None else similarity(article.signature, opening.signature)
        if to_opening[name] >= OPENING:
            fields = compared(article.signature, other.signature)
            fields |= {"opening_article": name, "opening_score": round(to_opening[name], 3)}
            yield other, Reason(rule=BY_SIMILARITY, score=round(score, 3), fields=fields, with_article=other.source_id)


def _decided(article: Known) -> Decision:
    assert article.decision is not None, "earlier articles are decided first"
    return article.decision


def _place(article: Known) -> Place:
    return article.place


async def replay(changed: Iterable[Change], articles: Articles, limit: int | None = None) -> Replayed:
    """Decides the changed articles, and again every later article that depends on one whose facts or decision changed,
    in the order of publication. At most `limit` decisions."""
    return await _Replay(changed, articles).run(limit)


class _Replay:
    """`now`: the articles that changed or were decided so far, as they are now, null if deleted. The queue has what is
    to be decided: whatever is found to depend on an article is later than this article."""

    def __init__(self, changed: Iterable[Change], articles: Articles) -> None:
        self._stored = articles
        self._changes = {change.source_id: change for change in changed}
        self._now: dict[str, Known | None] = {}
        self._by_key: dict[str, set[str]] = {}
        self._changed_under: Counter[str] = Counter()
        self._queue: list[Place] = []
        self._queued: dict[str, Known] = {}
        self._written: list[Known] = []
        for name, change in self._changes.items():
            self._now[name] = change.after
            own = () if change.after is None else change.after.signature.keys
            for key in own:
                self._by_key.setdefault(key, set()).add(name)
            self._changed_under.update({*own, *(() if change.before is None else change.before.signature.keys)})

    async def run(self, limit: int | None) -> Replayed:
        for change in self._changes.values():
            await self._start(change)
        decided = 0
        while self._queue and (limit is None or decided < limit):
            await self._decide_next()
            decided += 1
        self._written.reverse()
        in_order = sorted(self._written, key=lambda each: each.source_id in self._changes)
        return Replayed(tuple(in_order), tuple(name for _, name in sorted(self._queue)))

    async def _start(self, change: Change) -> None:
        before, after = change.before, change.after
        if after is not None:
            self._push(after)
        if before is None or (after is not None and _same_facts(before, after)):
            return  # its dependents are found when it is decided
        await self._push_dependents(before)
        if after is not None:
            await self._push_dependents(after)
        if after is None or after.signature == before.signature or before.decision is None:
            return  # members of its story are found through those that share a key with it
        if before.decision.opening == before.source_id:
            members = self._overlaid(await self._stored.members([before.decision.event_id]))
            for member in members:
                if member.decision is not None and member.decision.opening == before.source_id:
                    self._push(member)
                    await self._push_dependents(member)

    async def _decide_next(self) -> None:
        _, name = heapq.heappop(self._queue)
        article = self._now.get(name) or self._queued[name]
        candidates, later = await self._near(article)
        partners = await self._named(article.constraints.partners)
        earlier = [each for each in candidates if each.decision is not None]
        openings = {each.source_id: each for each in earlier}
        missing = {_decided(each).opening for each in earlier}.difference(openings)
        openings |= {each.source_id: each for each in await self._named(missing)}
        named = {each.source_id: each for each in partners if each.place < article.place and each.decision is not None}
        decision = decide(article, earlier, openings, named)
        changed = decision != article.decision
        article = replace(article, decision=decision)
        self._now[name] = article
        if changed:
            self._written.append(article)
        if changed or name in self._changes:
            await self._push_later(article, later, partners)

    async def _push_dependents(self, article: Known) -> None:
        """What may depend on this article: later ones that see it under a key, or that people named with it."""
        _, later = await self._near(article)
        await self._push_later(article, later, await self._named(article.constraints.partners))

    async def _push_later(self, article: Known, later: Collection[str], partners: Iterable[Known]) -> None:
        for other in (*await self._named(later), *partners):
            if other.place > article.place:
                self._push(other)

    def _push(self, article: Known) -> None:
        if article.source_id not in self._queued:
            self._queued[article.source_id] = article
            heapq.heappush(self._queue, article.place)

    async def _near(self, article: Known) -> tuple[list[Known], list[str]]:
        """The earlier articles that it is compared with, and the names of the later ones that may depend on it, after
        the changes."""
        keys = article.signature.keys
        most = {key: MOST_UNDER_KEY + self._changed_under.get(key, 0) for key in keys}
        near: dict[str, Sequence[Place]] = {}
        for key, found in (await self._stored.near(keys, article.place, most)).items():
            own = (known.place for name in self._by_key.get(key, ()) if (known := self._now[name]) is not None)
            stored = [each for each in found if each[1] not in self._changes]
            near[key] = sorted(each for each in (*stored, *own) if each[1] != article.source_id)
        earlier, later = around(near, article.place)
        return [each for each in await self._named(earlier) if each.place < article.place], later

    async def _named(self, names: Collection[str]) -> list[Known]:
        stored = await self._stored.named(names) if names else ()
        changed = [each for name in names if (each := self._now.get(name)) is not None]
        return self._overlaid({each.source_id: each for each in (*stored, *changed)}.values())

    def _overlaid(self, stored: Iterable[Known]) -> list[Known]:
        """These articles as they are after the changes and the decisions so far."""
        present = (self._now.get(each.source_id, each) for each in stored)
        return [each for each in present if each is not None]


def _same_facts(one: Known, other: Known) -> bool:
    return replace(one, decision=None) == replace(other, decision=None)
