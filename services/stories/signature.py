"""What is kept of an article to compare it with others, and the keys under which similar articles are found. Pure.

A signature has no text: the words of the headline, the most telling terms of the lead, and 16 bits of each word of it.
The lead are the first words of the text that are the article's own: texts often begin with the headline, a
menu, or a notice about cookies, subscriptions or scripts, and two articles that share only those are not alike.
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
from itertools import combinations, islice, pairwise
from typing import Any

from services.parse.text import hashed, hashed_bytes, words_of
from services.stories.headline import headline_of, is_usual, stem
from services.stories.terms import (
    COUNTING,
    DIGESTS,
    DOWN,
    FUNCTION_WORDS,
    MARKET_WORDS,
    NOTICES,
    UP,
    terms_of,
    weight,
)

SHINGLE = 3
"""Words in a shingle."""
MAX_TOPICS = 16
TOPIC_WORDS = 60
"""The words at the start of a lead that are searched for topics."""
MAX_STORY_KEYS = 4
TELLING = 3.5
"""What a term says at least that is a key by itself."""
HEADLINE_BONUS = 1.0
"""A term of the headline is preferred as a key to a term of the lead that says as much."""
_KEY_PAIRS = 2
_KEY_SHINGLE = 4
_KEY_SPANS = ((0, 16), (10, 50))
"""The parts of a lead of which each gives a key: one for leads that are cut soon, one for leads that begin with
something else."""
_MAX_INFORMATIVE = 6
MAX_LEAD_WORDS = 100
"""The words of a lead that are compared."""
FEWEST_WORDS = 6
"""A shorter lead says too little."""
READ = 900
"""Characters at the start of a text that are read to find the lead; further ones if the lead does not begin there."""
READ_FURTHER = 3_000

_WINDOW = 12
"""Words that are looked at together to tell prose from a menu."""
_MAX_CAPITALS = 7
"""In a window of prose. In a menu, nearly every word begins with a capital."""

_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])\s*(?=\S)|\s{2,}|\s[|\u2022\u00b7\u00bb\u203a]\s")
_CASED_WORD = re.compile(r"[^\W_]+(?:['\u2019.,-][^\W_]+)*")
_IN_NOTICES = frozenset(stem(max(words_of(notice), key=len)) for notice in NOTICES)
"""A word of each notice: most texts have none of them."""
MARKET_SHARE = 0.6
"""Of what a headline says: that share is about markets in a report of markets."""

_DIGEST = re.compile(r"\b(?:" + "|".join(DIGESTS) + r")\b")
_MARKET, _UP, _DOWN = (frozenset(terms_of(words)) for words in (MARKET_WORDS, UP, DOWN))
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_UNITS = frozenset({"%", "percent", "pct", "pc", "million", "billion", "trillion", "mln", "bln", "bn", "m", "b", "tn"})


_LISTS = ("words", "marks", "headline_names", "topics", "keys")
_PLAIN = ("is_cut", "publisher", "language", "minute")
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


@dataclass(frozen=True)
class Signature:
    """What is kept of an article to compare it.

    `words`: of the headline, without publishers' names and wire prefixes. `marks`: what tells the issues of a series
    apart, see headline.py. `headline_names`: those of its words that are likely names. `is_cut`: the headline has no
    end. `topics`: the most telling terms of the lead that the headline does not have. `lead`: 16 bits of each of its
    first words, odd for numbers; empty if the text is missing or is not an article's. `publisher`: its id. `minute`: of
    the publication, counted from 1970.
    """

    words: tuple[str, ...]
    marks: tuple[str, ...]
    headline_names: tuple[str, ...]
    is_cut: bool
    topics: tuple[str, ...]
    lead: tuple[int, ...]
    publisher: str
    language: str
    minute: int
    keys: tuple[str, ...]

    @cached_property
    def word_set(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The words of the headline that say something about its subject, without their endings."""
        return frozenset(stem(word) for word in self.words if word not in FUNCTION_WORDS)

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
        return {**lists, **plain, "lead": base64.b64encode(_packed(self.lead)).decode()}

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
    language: str = "",
    publisher: str = "",
    publisher_names: Iterable[str | None] = (),
) -> Signature:
    """`publisher`: its id, such as its domain. `publisher_names`: how the sources name it and themselves."""
    read = headline_of(headline, publisher, publisher_names)
    lead = lead_of(text, read.words)
    headline_terms = terms_of(read.words)
    topics = _topics(lead, headline_terms)
    ids = tuple(map(word_id, lead))
    return Signature(
        words=read.words,
        marks=read.marks,
        headline_names=read.names,
        is_cut=read.is_cut,
        topics=topics,
        lead=ids,
        publisher=publisher,
        language=language,
        minute=int(published_at.astimezone(UTC).timestamp()) // 60,
        keys=tuple(dict.fromkeys((*_keys(read.words, read.names, ids), *_story_keys(headline_terms, topics)))),
    )


@lru_cache(maxsize=50_000)
def word_id(word: str) -> int:
    """What stands for a word in a lead."""
    return hashed(word) >> 16 & 0xFFFE | word[0].isdigit()


def _keys(words: Sequence[str], names: Sequence[str], lead: Sequence[int]) -> list[str]:
    """Articles that are alike in headline or lead share one of them with high probability; articles that are not seldom
    do, since a key stands for several words."""
    subject = {stem(word) for word in words if word not in FUNCTION_WORDS}
    telling = {stem(word) for word in names} | {stem(word) for word in words if len(word) > 3 and not is_usual(word)}
    if len(telling) <= _KEY_PAIRS:
        telling.update(each for each in subject if len(each) > 3)
    chosen = sorted(sorted(telling, key=word_id)[:_MAX_INFORMATIVE])
    pairs = sorted(hashed(f"{one} {other}") for one, other in combinations(chosen, 2))[:_KEY_PAIRS]
    keys = [f"p{each:08x}" for each in pairs]
    if len(keys) < _KEY_PAIRS and subject:
        keys.append(f"h{hashed(' '.join(sorted(subject))):08x}")
    packed = _packed(lead)
    for start, end in _KEY_SPANS:
        shingles = range(start, min(end, len(lead) - _KEY_SHINGLE + 1))
        if shingles:
            keys.append(f"l{min(hashed_bytes(packed[2 * at : 2 * (at + _KEY_SHINGLE)]) for at in shingles):08x}")
    return list(dict.fromkeys(keys))


def _packed(lead: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(lead)}H", *lead)


def _topics(lead: Sequence[str], headline: Collection[str]) -> tuple[str, ...]:
    found = [term for term in terms_of(lead[:TOPIC_WORDS]) if term not in headline and weight(term) > 0]
    return tuple(sorted(found, key=weight, reverse=True)[:MAX_TOPICS])  # equal ones: the first in the lead


def _story_keys(headline: Iterable[str], topics: Iterable[str]) -> list[str]:
    """The most telling terms: independent articles about one event share one of them with high probability."""
    bonus = dict.fromkeys(topics, 0.0) | dict.fromkeys(headline, HEADLINE_BONUS)
    telling = [(-weight(term) - more, hashed(term)) for term, more in bonus.items() if weight(term) >= TELLING]
    return [f"t{each:08x}" for _, each in sorted(telling)[:MAX_STORY_KEYS]]


def lead_of(text: str, headline: Sequence[str]) -> list[str]:
    """The words of the lead, without a repetition of the headline's words before it. Empty if the text has none."""
    words = words_of(text[:READ])
    if not _IN_NOTICES.isdisjoint(map(stem, words)) or _is_menu(text[:READ]):
        words = words_of(_without_menu(_without_notices(_without_menu(text[:READ_FURTHER])))[:READ])
    if len(headline) > 2 and words[: len(headline)] == list(headline):
        words = words[len(headline) :]
    return words[:MAX_LEAD_WORDS] if len(words) >= FEWEST_WORDS else []


def _without_notices(text: str) -> str:
    """Without the sentences that ask for consent, a subscription, a login or scripts."""
    if not _is_notice(text):
        return text
    sentences = _SENTENCE_END.split(text)
    return ". ".join(each for each in sentences if not _is_notice(each))


def _is_notice(text: str) -> bool:
    return any(map(text.lower().__contains__, NOTICES))


def _is_menu(text: str) -> bool:
    return sum(each[0][0].isupper() for each in islice(_CASED_WORD.finditer(text), _WINDOW)) > _MAX_CAPITALS


def _without_menu(text: str) -> str:
    """From where prose begins. Menus, titles and names before it have a capital at nearly every word."""
    if not _is_menu(text):
        return text
    found = list(_CASED_WORD.finditer(text))
    capital = [each[0][0].isupper() for each in found]
    for at in range(1, len(found) - _WINDOW + 1):
        begins = capital[at] and not capital[at + 1]
        if begins and sum(capital[at : at + _WINDOW]) <= _MAX_CAPITALS and _has_function_word(found, at):
            return text[found[at].start() :]
    return ""


def _has_function_word(found: Sequence[re.Match[str]], at: int) -> bool:
    return any(each[0] in FUNCTION_WORDS for each in found[at : at + _WINDOW])
