"""Whether an occurrence of a name is the tool, if the name is also something else: a word, a person, a place. Pure.

A rule of the tool decides alone. Without one, the cues beside the name are weighed (cues.py). scripts/names/train.py
trains the weights.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from models.tool import NameRule, normalize_name
from services.tools.cues import NEAR, Surroundings, cues
from services.tools.lexicon import ACRONYMS, CUES, Sense, is_common_word, is_listed, sense_of
from services.tools.matching import NormalizedText

ENOUGH = 0.65
"""The sum of weights above which a name is the tool."""
BASIS = "(every name)"
"""The weight that counts without any cue."""
OWN_WORD = "own word near"
OWN_WORD_WEIGHT = 2.0
"""For another name or a keyword of the tool within 200 characters. Not trained: the labels have no keywords."""
MONEY_NEAR = 60
"""Within how many characters a word about shares makes a ticker of a word in capitals."""

_JOINING = ("-", "&", "/", "$")
_MOVE = re.compile(r"\)?,? (?:is |was |shares |stock )?(?:up|down|[-+]?\d+(?:\.\d+)? ?%)")


class Meaning(NamedTuple):
    """Whether a name is meant, with the cues that say so."""

    is_meant: bool
    cues: tuple[str, ...] = ()


MEANT = Meaning(True)


@dataclass(frozen=True, slots=True)
class MatchRule:
    """When an occurrence of a name counts. With `case_sensitive`, it must be written as the name is.

    Then, with `sense`, the cues decide, and words of `context` speak for the name. Without, one of `context` must be
    near, if there are any.
    """

    case_sensitive: bool = False
    context: tuple[str, ...] = ()
    sense: Sense | None = None

    @property
    def counts_always(self) -> bool:
        return not self.case_sensitive and not self.context and self.sense is None

    @property
    def is_strict_in_tags(self) -> bool:
        """Whether a tag must be written as the name is: a common word as a tag is no tool, such as "next"."""
        if self.sense is not None:
            return self.sense.group in ("word", "letter")
        return self.case_sensitive and bool(self.context)


def match_rule(name: str, rule: NameRule | None, own_words: tuple[str, ...], *, is_keyword: bool = False) -> MatchRule:
    """The rule of a name. `own_words` are the tool's other names and keywords.

    A keyword may be a common word, since somebody chose it as a word: only a listed name is judged by its cues.
    """
    if rule is not None:
        return MatchRule(rule.case_sensitive, rule.context)
    plain = normalize_name(name)
    is_lower = name == plain
    sense = sense_of(plain) if is_listed(plain) or (plain.isascii() and plain.isalnum()) else None
    if is_keyword and not is_listed(plain):
        sense = None
    if sense is not None:
        return MatchRule(not is_lower and len(plain) == 1, own_words, sense)
    return MatchRule(case_sensitive=not is_lower and len(plain) == 2 and plain.isascii() and plain.isalnum())


def meaning(name: str, rule: MatchRule, article: NormalizedText, start: int, end: int) -> Meaning:
    """Whether the occurrence is the tool, and why. The span is in the normalized text."""
    if rule.counts_always:
        return MEANT
    first, last = article.original_span(start, end)
    if rule.case_sensitive and " ".join(article.original[first:last].split()) != name:
        return Meaning(False, ("written differently",))
    is_own = bool(rule.context) and is_near(rule.context, article.text, start, end)
    if rule.sense is None:
        return Meaning(is_own or not rule.context, ("word of the rule near",) if is_own else ())
    found = cues(rule.sense, name, article, start, end)
    weight = weigh(found) + (OWN_WORD_WEIGHT if is_own else 0.0)
    return Meaning(weight > ENOUGH, (*found, OWN_WORD) if is_own else found)


def ticker_meaning(ticker: str, article: NormalizedText, start: int, end: int, *, is_finance: bool) -> Meaning:
    """Whether a word is a ticker without a sign or exchange before it. `is_finance`: a source gave the article tickers.

    A ticker that is no word and no common acronym counts in capitals. Any other also needs a word about shares near,
    and one of: such a word right beside it, a price move behind it, brackets around it, an article about finance. Two
    words about shares make an article about finance, unless the ticker is a common acronym.
    """
    first, last = article.original_span(start, end)
    place = Surroundings.of(ticker, article.original, first, last)
    if place.written != ticker or place.left[-1:] in (*_JOINING, ":") or place.right[:1] in _JOINING:
        return Meaning(False, ("written differently",))
    if ticker not in ACRONYMS and not is_common_word(ticker.lower()) and sense_of(ticker.lower()) is None:
        return Meaning(True, ("ticker in capitals",))
    if place.is_all_capitals:
        return Meaning(False, ("in a text in capitals",))
    near = {*place.left[-MONEY_NEAR:].lower().split(), *re.findall(r"[a-z\-]+", place.right[:MONEY_NEAR].lower())}
    beside = {place.previous(), place.next(), place.previous(1)} & CUES["money"]
    money = near & CUES["money"]
    is_marked = place.left.endswith("(") and place.right.startswith(")")
    moves = _MOVE.match(place.right) is not None
    is_finance = is_finance or (len(money) > 1 and ticker not in ACRONYMS)
    if money and (is_finance or is_marked or moves or beside):
        return Meaning(True, ("ticker with words about shares",))
    return Meaning(False, ("word in capitals",))


def weigh(found: Iterable[str]) -> float:
    """The sum of the cues' weights. A cue without a weight counts nothing."""
    return WEIGHTS[BASIS] + sum(WEIGHTS.get(cue, 0.0) for cue in found)


def _weights() -> Mapping[str, float]:
    text = Path(__file__).with_name("words").joinpath("weights.txt").read_text("utf-8")
    pairs = (line.split(maxsplit=1) for line in text.splitlines() if not line.startswith("#"))
    return {cue: float(weight) for weight, cue in pairs}


WEIGHTS = _weights()


def is_near(context: tuple[str, ...], text: str, start: int, end: int) -> bool:
    """Whether normalized text has a context word near the name, outside of the name itself."""
    # Cut by `endpos` and not by slicing, so that the word at the left edge keeps its boundary.
    window = _any_of(context).finditer(text, max(0, start - NEAR), min(len(text), end + NEAR))
    return any(word.end() <= start or end <= word.start() for word in window)


@functools.lru_cache(maxsize=4096)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    plain = sorted({normalize_name(word) for word in words}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(word) for word in plain)})(?!\w)")
