"""What is kept of an article to compare it with others, and the keys under which similar articles are found. Pure.

A signature has no text: the words of the headline, the most telling terms of the lead, and 16 bits of each word of it.
The lead are the first words of the prose of the text, behind a repetition of the headline.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from services.mentions.prose import text_prose
from services.parse.text import hashed
from services.stories.headline import headline_of, marks_of
from services.stories.terms import COUNTING, DIGESTS, DOWN, MARKET_WORDS, UP, terms_of, weight, words_in

SHINGLE = 3
"""Words in a shingle."""
MAX_TOPICS = 16
TOPIC_WORDS = 60
"""The words at the start of a lead that are searched for topics."""
MAX_KEYS = 6
HEADLINE_BONUS = 1.0
"""A term of the headline is preferred as a key to a term of the lead that says as much."""
MAX_LEAD_WORDS = 100
"""The words of a lead that are compared."""
FEWEST_WORDS = 6
"""A shorter lead says too little."""
READ = 900
"""Characters at the start of a text that are read to find the lead."""
MARKET_SHARE = 0.6
"""Of what a headline says: that share is about markets in a report of markets."""

_DIGEST = re.compile(r"\b(?:" + "|".join(DIGESTS) + r")\b")
_MARKET, _UP, _DOWN = (frozenset(terms_of(words)) for words in (MARKET_WORDS, UP, DOWN))
_VERSION = re.compile(r"\d+(?:\.\d+)+")


_LISTS = ("words", "headline_names", "topics")
_PLAIN = ("is_cut", "publisher", "minute")
"""The fields of a stored signature: lists of words, and values."""


class Subject:
    """What an article is about.

    `headline`: what each term of the headline says. `terms`: these, and what each topic says. `names`: the terms of the
    headline that are likely names.
    """

    def __init__(self, words: Sequence[str], names: Sequence[str], topics: Sequence[str]) -> None:
        self._words = words
        self.headline = {term: says for term in terms_of(words) if (says := weight(term)) > 0}
        self.headline_says = sum(self.headline.values())
        self.terms = self.headline | {term: weight(term) for term in topics}
        self.size = math.sqrt(sum(says * says for says in self.terms.values()))
        self.names = frozenset(terms_of(names))

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
        for before, word in pairwise(("", *self._words)):
            plain = word.removeprefix("v")
            if not plain[:1].isdigit() or before in COUNTING:
                continue
            if _VERSION.fullmatch(plain):
                found.setdefault("", set()).add(plain)
            if before and plain.replace(".", "").isdigit():
                found.setdefault(before, set()).add(plain)
        return found


@dataclass(frozen=True)
class Signature:
    """What is kept of an article to compare it.

    `words`: of the headline, without publishers' names and wire prefixes. `headline_names`: those of its words that are
    likely names. `is_cut`: the headline has no end. `topics`: the most telling terms of the lead that the headline does
    not have. `lead`: 16 bits of each of its first words, odd for numbers; empty if the text is missing or is not an
    article's. `publisher`: its id. `minute`: of the publication, counted from 1970.
    """

    words: tuple[str, ...]
    headline_names: tuple[str, ...]
    is_cut: bool
    topics: tuple[str, ...]
    lead: tuple[int, ...]
    publisher: str
    minute: int

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The most telling terms: articles that are alike share one of them with high probability."""
        says = {term: weight(term) for term in self.topics}
        says |= {term: more + HEADLINE_BONUS for term, more in self.subject.headline.items()}
        telling = sorted((-more, hashed(term)) for term, more in says.items())
        return tuple(f"{each:08x}" for _, each in telling[:MAX_KEYS])

    @cached_property
    def marks(self) -> frozenset[str]:
        return frozenset(marks_of(self.words))

    @cached_property
    def word_set(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def lead_set(self) -> frozenset[int]:
        return frozenset(self.lead)

    @cached_property
    def shingles(self) -> frozenset[tuple[int, ...]]:
        return frozenset(zip(*(self.lead[at:] for at in range(SHINGLE)), strict=False))

    @cached_property
    def subject(self) -> Subject:
        return Subject(self.words, self.headline_names, self.topics)

    def document(self) -> dict[str, Any]:
        """The signature as it is stored in a StoryMember: short, since there is one for each article."""
        lists = {name: " ".join(getattr(self, name)) for name in _LISTS}
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {**lists, **plain, "lead": base64.b64encode(struct.pack(f"<{len(self.lead)}H", *self.lead)).decode()}

    @classmethod
    def from_document(cls, stored: dict[str, Any]) -> Signature:
        packed = base64.b64decode(stored["lead"])
        fields: dict[str, Any] = {name: tuple(stored[name].split()) for name in _LISTS}
        fields |= {name: stored[name] for name in _PLAIN}
        return cls(**fields, lead=struct.unpack(f"<{len(packed) // 2}H", packed))


def signature_of(
    headline: str,
    text: str,
    published_at: datetime,
    publisher: str = "",
    publisher_names: Iterable[str | None] = (),
) -> Signature:
    """`publisher`: its id, such as its domain. `publisher_names`: how the sources name it and themselves."""
    read = headline_of(headline, publisher, publisher_names)
    lead = lead_of(text, read.words)
    headline_terms = terms_of(read.words)
    topics = _topics(lead, headline_terms)
    return Signature(
        words=read.words,
        headline_names=read.names,
        is_cut=read.is_cut,
        topics=topics,
        lead=tuple(map(word_id, lead)),
        publisher=publisher,
        minute=int(published_at.astimezone(UTC).timestamp()) // 60,
    )


@lru_cache(maxsize=50_000)
def word_id(word: str) -> int:
    """What stands for a word in a lead."""
    return hashed(word) >> 16 & 0xFFFE | word[0].isdigit()


def _topics(lead: Sequence[str], headline: Collection[str]) -> tuple[str, ...]:
    found = [term for term in terms_of(lead[:TOPIC_WORDS]) if term not in headline and weight(term) > 0]
    return tuple(sorted(found, key=weight, reverse=True)[:MAX_TOPICS])  # equal ones: the first in the lead


def lead_of(text: str, headline: Sequence[str]) -> list[str]:
    """The words of the lead, without a repetition of the headline's words before it. Empty if the text has none."""
    words = words_in(text_prose(text[:READ]))
    if len(headline) > 2 and words[: len(headline)] == list(headline):
        words = words[len(headline) :]
    return words[:MAX_LEAD_WORDS] if len(words) >= FEWEST_WORDS else []
