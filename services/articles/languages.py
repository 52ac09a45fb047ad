"""The languages of the entries of one feed document. Pure.

The clear ones among them, and those before, say which language the others are in: short headlines tell too little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.articles.identity import Candidate
from services.parse.language import decide, with_languages


class InLanguages(NamedTuple):
    """Candidates with their languages. `clear` counts the languages of the texts that are clearly in one."""

    candidates: list[Candidate]
    clear: Counter[str]


def in_languages(candidates: Sequence[Candidate], history: Mapping[str, int]) -> InLanguages:
    """`history` counts the clear languages that the feed had before."""
    decided = [decide(each.entry.item.headline, each.text, each.entry.item.language, history) for each in candidates]
    clear = Counter(each.language for each in decided if each.confident)
    with_these = with_languages(history, clear)
    found = []
    for candidate, first in zip(candidates, decided, strict=True):
        item, last = candidate.entry.item, first
        if not first.confident and with_these != history:
            last = decide(item.headline, candidate.text, item.language, with_these)
        found.append(candidate._replace(language=last.language))
    return InLanguages(found, clear)
