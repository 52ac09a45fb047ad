"""What is kept of an article to compare it with others, and the keys under which similar articles are found. Pure.

A signature has no text: the words of the headline, the most telling terms of the lead, and 16 bits of each word of it.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

from services.parse.words import hashed, hashed_bytes
from services.stories.headline import headline_of, is_usual, stem
from services.stories.lead import lead_of
from services.stories.subject import Subject
from services.stories.terms import FUNCTION_WORDS, terms_of, weight

SHINGLE = 3
"""Words in a shingle."""
MOST_TOPICS = 16
TOPIC_WORDS = 60
"""The words at the start of a lead that are searched for topics."""
MOST_STORY_KEYS = 4
TELLING = 3.5
"""What a term says at least that is a key by itself."""
HEADLINE_BONUS = 1.0
"""A term of the headline is preferred as a key to a term of the lead that says as much."""
_KEY_PAIRS = 2
_KEY_SHINGLE = 4
_KEY_SPANS = ((0, 16), (10, 50))
"""The parts of a lead of which each gives a key: one for leads that are cut soon, one for leads that begin with
something else."""
_MOST_INFORMATIVE = 6


@dataclass(frozen=True)
class Signature:
    """`words`: of the headline, without publishers' names and wire prefixes. `marks`: what tells the issues of a series
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
        """The signature as it is stored in a StoryMember."""
        return {
            "words": " ".join(self.words),
            "marks": " ".join(self.marks),
            "headline_names": " ".join(self.headline_names),
            "is_cut": self.is_cut,
            "topics": " ".join(self.topics),
            "lead": base64.b64encode(_packed(self.lead)).decode(),
            "publisher": self.publisher,
            "language": self.language,
            "minute": self.minute,
            "keys": " ".join(self.keys),
        }

    @classmethod
    def from_document(cls, stored: dict[str, Any]) -> Signature:
        packed = base64.b64decode(stored["lead"])
        return cls(
            words=tuple(stored["words"].split()),
            marks=tuple(stored["marks"].split()),
            headline_names=tuple(stored["headline_names"].split()),
            is_cut=stored["is_cut"],
            topics=tuple(stored["topics"].split()),
            lead=struct.unpack(f"<{len(packed) // 2}H", packed),
            publisher=stored["publisher"],
            language=stored["language"],
            minute=stored["minute"],
            keys=tuple(stored["keys"].split()),
        )


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
    chosen = sorted(sorted(telling, key=word_id)[:_MOST_INFORMATIVE])
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
    return tuple(sorted(found, key=weight, reverse=True)[:MOST_TOPICS])  # equal ones: the first in the lead


def _story_keys(headline: Iterable[str], topics: Iterable[str]) -> list[str]:
    """The most telling terms: independent articles about one event share one of them with high probability."""
    bonus = dict.fromkeys(topics, 0.0) | dict.fromkeys(headline, HEADLINE_BONUS)
    telling = [(-weight(term) - more, hashed(term)) for term, more in bonus.items() if weight(term) >= TELLING]
    return [f"t{each:08x}" for _, each in sorted(telling)[:MOST_STORY_KEYS]]
