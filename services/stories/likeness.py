"""How alike two headlines are in their wording, and how much that tells. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from services.stories.signature import Signature
from services.stories.terms import weight
from services.stories.wording import Wording


class Likeness(NamedTuple):
    """How alike two headlines are: `score`, from the share of their words and of those in the same order; `shared`
    telling words. `is_turned`: all telling words are the same, in another order."""

    score: float
    in_order: float
    shared: int
    is_turned: bool


def likeness(one: Signature, other: Signature) -> Likeness:
    """How alike the headlines are."""
    mine, theirs = one.wording, other.wording
    shared = len(mine.stems & theirs.stems)
    every = len(mine.stems | theirs.stems)
    if not every:
        return Likeness(0.0, 0.0, 0, is_turned=False)
    in_order = 2 * _in_order(mine.words, theirs.words) / (len(mine.words) + len(theirs.words)) if shared else 0.0
    is_turned = mine.telling == theirs.telling and _telling(mine) != _telling(theirs)
    return Likeness((shared / every + in_order) / 2, in_order, shared, is_turned)


def _telling(wording: Wording) -> list[str]:
    return [word for word in wording.words if word in wording.telling]


def chosen_words(one: Signature, other: Signature) -> float:
    """How much the words say that both headlines chose: those that are no names, numbers or amounts. What many write
    of one event has the same names and amounts, and usual verbs: "Acme buys Globex for $3 billion"."""
    names = one.subject.names & other.subject.names
    shared = one.subject.headline.keys() & other.subject.headline.keys()
    return sum(weight(term) for term in shared if term not in names and term[0].isalpha())


def _in_order(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(other):
        places.setdefault(word, []).append(at)
    ends: list[int] = []  # ends[n]: where the earliest common subsequence of n + 1 words ends
    for word in one:
        for at in reversed(places.get(word, ())):
            length = bisect_left(ends, at)
            ends[length : length + 1] = [at]
    return len(ends)
