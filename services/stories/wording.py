"""The words of a headline as they are compared with those of another one: amounts and small numbers in one spelling
("$3bn", "3 billion"; "40K", "40,000"; "three-man", "3-man"), without signs of currencies. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from services.stories.headline import stem
from services.stories.lists import ALSO_WORDS, FUNCTION_WORDS, NUMBERS
from services.stories.terms import MAGNITUDES, amount_of

_SYMBOLS = frozenset("$\u20ac\u00a3")
_DOLLARS = frozenset({"us", "a", "c", "s", "nz", "hk"})
"""Before the sign: "US$", "A$"."""


class Wording(NamedTuple):
    """`words`: in their order. `telling`: those that are no function words. `stems`: of these."""

    words: tuple[str, ...]
    telling: frozenset[str]
    stems: frozenset[str]


def wording_of(words: Sequence[str]) -> Wording:
    found: list[str] = []
    for word in words:
        magnitude = MAGNITUDES.get(word)
        if magnitude and found and found[-1][0].isdigit() and found[-1][-1].isdigit():
            found[-1] = amount_of(found[-1], magnitude)
        elif word[0].isdigit():
            found.append(amount_of(word))
        elif word in _SYMBOLS:
            if found and found[-1] in _DOLLARS:
                found.pop()
        elif word == "street" and found and found[-1] == "wall":
            found.append("st")
        elif word in NUMBERS and word not in ALSO_WORDS:
            found.append(NUMBERS[word])
        else:
            found.append(word)
    telling = frozenset(found) - FUNCTION_WORDS
    return Wording(tuple(found), telling, frozenset(map(stem, telling)))
