"""Decides which article each article repeats, and to which story it belongs. Pure.

An article is decided when it is new, or when something about it changed: from at most MAX_COMPARED articles that are
decided already (services/stories/candidates.py). Articles that are due together are decided in the order of their
publication. It joins the story of the most similar article if it is similar to the opening article of that story too:
a chain of articles, each like the next, does not lead away from what the story reports. Else it begins a story.

What people said comes first (services/stories/pins.py). If they contradict each other, the articles stay apart:
`apart_from` wins over `together_with`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter

from models.story import Reason, event_id
from services.stories.pins import WITHOUT, Constraints
from services.stories.signature import Signature
from services.stories.similarity import NEAREST, OPENING, Comparison, compare

BY_NEAR_DUPLICATE = "near_duplicate"
BY_PERSON = "person"


@dataclass(frozen=True, slots=True)
class Decision:
    """The story of an article, and the article that it repeats. `opening`: the article with which further articles like
    this one are compared: the first one of the story, or one that a person put into it. `story_reason`: null if the
    article begins the story."""

    event_id: str
    opening: str
    story_reason: Reason | None = None
    near_duplicate_of: str | None = None
    near_duplicate_reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """An article as the grouping knows it; `decision` is null before it was decided."""

    source_id: str
    published_at: datetime
    signature: Signature
    constraints: Constraints = WITHOUT
    decision: Decision | None = None

    @property
    def place(self) -> tuple[int, str]:
        """Where the article is in the order of publication."""
        return self.signature.minute, self.source_id


def decide_all(
    due: Iterable[Known], candidates: Mapping[str, Collection[str]], decided: Mapping[str, Known]
) -> dict[str, Known]:
    """The due articles with their decisions. `candidates` names for each of them the articles that it is compared with;
    `decided` has those that are decided already, the opening articles of their stories, and whomever people named."""
    known = dict(decided)
    found: dict[str, Known] = {}
    for article in sorted(due, key=attrgetter("place")):
        others = [known[each] for each in candidates[article.source_id] if each in known]
        decision = decide(article, others, known)
        found[article.source_id] = known[article.source_id] = replace(article, decision=decision)
    return found


def decide(article: Known, candidates: Iterable[Known], known: Mapping[str, Known]) -> Decision:
    """The decision about one article, from decided ones. `known` has opening articles, and whomever people named."""
    said = article.constraints
    begun = event_id(article.source_id, article.published_at)
    # Nobody is barred from the story that the article began: those who must be apart from it leave that story.
    barred = {_decided(known[each]).event_id for each in said.apart_from if each in known} - {begun}
    open_to = [each for each in candidates if _decided(each).event_id not in barred]
    compared = [(each, compare(article.signature, each.signature)) for each in open_to]
    repeats, why = _original(article, compared)
    for event, opening, reason in _stories(article, compared, known, repeats):
        if event not in barred and event != begun:
            return Decision(event, opening, reason, repeats, why)
    return Decision(begun, article.source_id, None, repeats, why)


def _stories(
    article: Known, compared: Collection[tuple[Known, Comparison]], known: Mapping[str, Known], repeats: str | None
) -> Iterator[tuple[str, str, Reason]]:
    """The stories that it may join, the most fitting first: with the opening article for it, and why."""
    said = article.constraints
    for other in _earlier(article, said.together_with, known):
        correction = said.together_with[other.source_id]
        reason = Reason(rule=BY_PERSON, with_article=other.source_id, correction_id=correction)
        yield _decided(other).event_id, article.source_id, reason
    alike = [other for other, each in compared if each.is_copy and other.source_id not in said.different_from]
    for other in [known[repeats]] if repeats is not None else sorted(alike, key=attrgetter("place")):
        there = _decided(other)
        # An opening article that has left the story, or is due, opens it no longer.
        opening = there.opening if _opening(there, known) is not None else other.source_id
        yield there.event_id, opening, Reason(rule=BY_NEAR_DUPLICATE, with_article=other.source_id)
    for other, reason in _similar(article, compared, known):
        there = _decided(other)
        yield there.event_id, there.opening, reason


def copies_before(article: Known, candidates: Iterable[Known]) -> list[str]:
    """The later ones of these articles that repeat this one, and that are not known to repeat an earlier one: they are
    decided again."""
    return [
        other.source_id
        for other in candidates
        if other.place > article.place
        and _decided(other).event_id == _decided(article).event_id
        and _decided(other).near_duplicate_of is None
        and compare(article.signature, other.signature).is_copy
    ]


def _original(article: Known, compared: Iterable[tuple[Known, Comparison]]) -> tuple[str | None, Reason | None]:
    """The first of the articles that it repeats, and why."""
    said = article.constraints
    earlier = [(other, each) for other, each in compared if each.is_copy and other.place < article.place]
    for other, each in sorted(earlier, key=lambda found: found[0].place):
        if other.source_id not in said.different_from:
            return other.source_id, each.reason(other.source_id)
    return None, None


def _similar(
    article: Known, compared: Iterable[tuple[Known, Comparison]], known: Mapping[str, Known]
) -> Iterator[tuple[Known, Reason]]:
    """The articles whose story it may join, the most similar first."""
    near = [(other, each) for other, each in compared if each.score >= NEAREST]
    for other, each in sorted(near, key=lambda found: (-found[1].score, found[0].place)):
        there = _decided(other)
        opening = _opening(there, known)
        if opening is None:
            continue
        to_opening = compare(article.signature, opening.signature).score
        if to_opening >= OPENING:
            opened: dict[str, float | str | None] = {
                "opening_article": opening.source_id,
                "opening_score": round(to_opening, 3),
            }
            yield other, each.reason(other.source_id, opened)


def _opening(there: Decision, known: Mapping[str, Known]) -> Known | None:
    """The opening article, if it is in the story still."""
    opening = known.get(there.opening)
    return opening if opening is not None and _decided(opening).event_id == there.event_id else None


def _earlier(article: Known, named: Collection[str], known: Mapping[str, Known]) -> list[Known]:
    """Those of the named articles that were published before this one, the first first."""
    found = (known[each] for each in named if each in known)
    return sorted((each for each in found if each.place < article.place), key=attrgetter("place"))


def _decided(article: Known) -> Decision:
    assert article.decision is not None, "other articles are decided first"
    return article.decision
