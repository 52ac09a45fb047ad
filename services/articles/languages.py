"""The languages of the entries of one feed document. Pure.

The clear ones among them, and those before, say which language the others are in: short headlines tell too little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.articles.identity import Candidate
from services.parse.language import choose, evidence_of, with_languages


class InLanguages(NamedTuple):
    """Candidates with their languages. `clear` counts the languages of the texts that are clearly in one."""

    candidates: list[Candidate]
    clear: Counter[str]


def in_languages(candidates: Sequence[Candidate], history: Mapping[str, int]) -> InLanguages:
    """`history` counts the clear languages that the feed had before."""
    read = [evidence_of(each.entry.item.headline, each.text) for each in candidates]
    clear = Counter(each.clear for each in read if each.clear is not None)
    known = with_languages(history, clear)
    found = [
        candidate._replace(language=choose(evidence, candidate.entry.item.language, known).language)
        for candidate, evidence in zip(candidates, read, strict=True)
    ]
    return InLanguages(found, clear)
