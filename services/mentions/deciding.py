"""The words that decided what an analyzer says of a tool in a passage. Pure.

A word decided if the analyzer is less sure, or says something else, without it. The word is covered by letters that no
table knows, so that all places stay, and the passage is judged again. This is true to any model that judges by words,
and needs to know nothing of its weights.

The effect of a word is how far it moves the odds of positive to negative, as a power of two. A difference of polarities
would not do: where several words say the same, the polarity is near its end with or without any one of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from services.mentions.analyzers.port import Judgement, Passage, PassageJudgement
from services.mentions.scoring import probabilities_of

LEAST_EFFECT = 1.0
"""A word that decides at least doubles the odds of one side."""
MOST_SHOWN = 6
MOST_WORDS = 120
"""So many words of a passage are looked at; each is judged once."""
COVER = "x"
_LEAST = 0.0005
"""Probabilities have four decimals."""

_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*|[\d.,]*\d%?")
JudgePassages = Callable[[Sequence[Passage]], list[PassageJudgement]]


@dataclass(frozen=True, slots=True)
class Deciding:
    """A word of the passage. It makes the odds of positive to negative 2 ** `effect` times as high."""

    start: int
    end: int
    effect: float


def odds_of(said: Judgement) -> float:
    """The binary logarithm of the odds of positive to negative; 0 for a neutral judgement."""
    negative, _, positive = probabilities_of(said)
    return math.log2((positive + _LEAST) / (negative + _LEAST))


def said_of(judgement: PassageJudgement, tool_id: str) -> Judgement | None:
    said = judgement.tools.get(tool_id, judgement.whole)
    return said if isinstance(said, Judgement) else None


def deciding_words(judge: JudgePassages, passage: Passage, tool_id: str) -> tuple[Deciding, ...]:
    """In the order of the passage, at most MOST_SHOWN: those with the largest effects. None for a passage that cannot
    be judged."""
    said = said_of(judge([passage])[0], tool_id)
    if said is None:
        return ()
    names = [span for spans in passage.names.values() for span in spans]
    words = [
        each.span()
        for each in _WORD.finditer(passage.text)
        if not any(each.start() < name.end and name.start < each.end() for name in names)
    ][:MOST_WORDS]
    covered = [replace(passage, text=_without(passage.text, start, end)) for start, end in words]
    found = []
    for (start, end), judgement in zip(words, judge(covered), strict=True):
        other = said_of(judgement, tool_id)
        effect = 0.0 if other is None else round(odds_of(said) - odds_of(other), 2)
        if abs(effect) >= LEAST_EFFECT:
            found.append(Deciding(start, end, effect))
    largest = sorted(found, key=lambda each: (-abs(each.effect), each.start))[:MOST_SHOWN]
    return tuple(sorted(largest, key=lambda each: each.start))


def _without(text: str, start: int, end: int) -> str:
    return text[:start] + COVER * (end - start) + text[end:]
