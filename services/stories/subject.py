"""What an article is about, as far as its headline and the topics of its lead tell. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from services.stories.terms import COUNTING, DIGESTS, DOWN, MARKET_WORDS, UP, terms_of, weight

MARKET_SHARE = 0.6
"""Of what a headline says: that share is about markets in a report of markets."""

_DIGEST = re.compile(r"\b(?:" + "|".join(DIGESTS) + r")\b")
_MARKET, _UP, _DOWN = (frozenset(terms_of(words)) for words in (MARKET_WORDS, UP, DOWN))
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_UNITS = frozenset({"%", "percent", "pct", "pc", "million", "billion", "trillion", "mln", "bln", "bn", "m", "b", "tn"})


class Subject:
    """`headline`: what each term of the headline says. `terms`: these, and what each topic says. `names`: the terms of
    the headline that are likely names."""

    def __init__(self, words: Sequence[str], names: Sequence[str], topics: Sequence[str]) -> None:
        self._words = words
        self.headline = {term: says for term in terms_of(words) if (says := weight(term)) > 0}
        self.headline_says = sum(self.headline.values())
        self.terms = self.headline | {term: weight(term) for term in topics}
        self.size = math.sqrt(sum(says * says for says in self.terms.values()))
        self.names = frozenset(terms_of(names))
        self.numbers = [term for term in self.headline if term[0].isdigit()]

    @cached_property
    def is_digest(self) -> bool:
        """Whether the article is about several events, as its headline says."""
        return _DIGEST.search(" ".join(self._words)) is not None

    @cached_property
    def is_market_report(self) -> bool:
        market = sum(says for term, says in self.headline.items() if term in _MARKET)
        return market >= MARKET_SHARE * self.headline_says

    @cached_property
    def directions(self) -> tuple[bool, bool]:
        """Whether the headline says that something rose, and that something fell."""
        return not _UP.isdisjoint(self.headline), not _DOWN.isdisjoint(self.headline)

    @cached_property
    def numbered(self) -> dict[str, set[str]]:
        """The numbers of the headline that name an issue of a series, by the word before them; versions besides under
        no word. Numbers that count or measure are left out."""
        found: dict[str, set[str]] = {}
        words = self._words
        for at, (before, word) in enumerate(pairwise(("", *words))):
            plain = word.removeprefix("v")
            if not plain[:1].isdigit() or (at + 1 < len(words) and words[at + 1] in _UNITS) or before in COUNTING:
                continue
            if _VERSION.fullmatch(plain):
                found.setdefault("", set()).add(plain)
            if before and plain.replace(".", "").isdigit():
                found.setdefault(before, set()).add(plain)
        return found
