"""The words of headlines and leads, with amounts in one spelling; their terms: words without endings, of words that
mean the same the first one; and how much each says of what an article is about. Also the lists of words.txt. No I/O
after the import."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

from services.parse.text import words_of
from services.tools.lexicon import sections_of


def _words(section: str) -> frozenset[str]:
    return frozenset(" ".join(_SECTIONS[section]).split())


def phrases(section: str) -> tuple[str, ...]:
    """The phrases of a section. A line has several with | between them."""
    return tuple(each for line in _SECTIONS[section] for each in line.split("|"))


def _numbered(section: str) -> dict[str, str]:
    """The number of each word. Each line begins with the number."""
    lines = (line.split() for line in _SECTIONS[section])
    return {word: number for number, *words in lines for word in words}


_SECTIONS = sections_of(Path(__file__).with_name("words.txt"))

FUNCTION_WORDS = _words("function")
SERIES_WORDS = _words("series")
NUMBERS = _numbered("number")
ROMAN = _numbered("roman")
ORDINALS = _numbered("ordinal")
MONTHS = _numbered("month")
WEEKDAYS = _numbered("weekday")
ALSO_WORDS = _words("also words")
TIMES = _words("time")
NUMBERED = _words("numbered")
PARTS = _words("part")
COUNTING = _words("counting")
MARKET_WORDS = _words("market")
UP = _words("up")
DOWN = _words("down")
DIGESTS = phrases("digest")
NEGATIONS = _words("negation")
OPPOSITES = tuple(tuple(frozenset(side.split()) for side in line.split("|")) for line in _SECTIONS["opposite"])

UNLISTED = 4.5
"""What a term says that is not in the list: names and rare words."""
AMOUNT = 5.0
NUMBER = 2.0
YEAR_OR_DIGIT = 0.5

MAGNITUDES = {
    **dict.fromkeys(("thousand", "k"), "k"),
    **dict.fromkeys(("million", "mln", "mn", "m"), "m"),
    **dict.fromkeys(("billion", "bln", "bn", "b"), "b"),
    **dict.fromkeys(("trillion", "tn", "tln", "t"), "t"),
    **dict.fromkeys(("percent", "pct", "pc", "%"), "%"),
}
_FACTORS = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([a-z]{1,3}|%)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ENDINGS = (("ies", "y", 6), ("ing", "", 7), ("ed", "", 6), ("es", "", 6), ("s", "", 4))
"""An ending, what takes its place, and the length of the shortest word that has it."""


_DOLLARS = frozenset({"us", "a", "c", "s", "nz", "hk"})
"""Before the sign: "US$", "A$"."""


def words_in(text: str) -> list[str]:
    """The words of a text, with amounts and small numbers in one spelling ("$3bn", "3 billion"; "40K", "40,000")."""
    found: list[str] = []
    for word in words_of(text):
        if word == "$" and found and found[-1] in _DOLLARS:
            found.pop()
        magnitude = MAGNITUDES.get(word)
        if magnitude and found and found[-1][0].isdigit() and found[-1][-1].isdigit():
            found[-1] = amount_of(found[-1], magnitude)
        elif word[0].isdigit():
            found.append(amount_of(word))
        else:
            found.append(word if word in ALSO_WORDS else NUMBERS.get(word, word))
    return found


def terms_of(words: Iterable[str]) -> tuple[str, ...]:
    """The terms of these words but function words, each once, in their order."""
    return tuple(dict.fromkeys(_term(word) for word in words if word not in FUNCTION_WORDS))


@lru_cache(maxsize=20_000)
def amount_of(number: str, magnitude: str = "") -> str:
    """A number in one spelling: `36b` for "36bn" and for "36" before "billion", `40000` for "40k", `1.2m` for
    "1200000". Versions and other units stay."""
    amount = _AMOUNT.fullmatch(number)
    if amount is not None:
        number, magnitude = amount[1], MAGNITUDES.get(amount[2], amount[2])
    if not _PLAIN.fullmatch(number) or (magnitude and magnitude not in _FACTORS):
        return number + magnitude
    value = Decimal(number) * _FACTORS.get(magnitude, 1)
    if magnitude in ("", "k") and value < _FACTORS["m"]:
        return f"{value.normalize():f}" if magnitude else number
    unit = next(each for each in ("t", "b", "m") if value >= _FACTORS[each] or each == "m")
    return f"{(value / _FACTORS[unit]).normalize():f}{unit}"


@lru_cache(maxsize=20_000)
def weight(term: str) -> float:
    """How much a term says of what an article is about."""
    if term[0].isdigit():
        if not term[-1].isdigit():
            return AMOUNT
        return YEAR_OR_DIGIT if len(term) == 1 or _YEAR.fullmatch(term) else NUMBER
    return _WEIGHTS.get(term, UNLISTED)


@lru_cache(maxsize=20_000)
def _term(word: str) -> str:
    plain = stem(word)
    return _SAME.get(plain, plain)


def stem(word: str) -> str:
    for ending, instead, shortest in _ENDINGS:
        if len(word) >= shortest and word.endswith(ending) and not word.endswith("ss"):
            word = word[: len(word) - len(ending)] + instead
            break
    if len(word) > 4 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word


def _read() -> tuple[dict[str, float], dict[str, str]]:
    weights: dict[str, float] = {}
    same: dict[str, str] = {}
    for line in Path(__file__).with_name("terms.txt").read_text("utf-8").splitlines():
        first, *words = line.split() or ("#",)
        if first == "=":
            for word in words:
                same.setdefault(stem(word), stem(words[0]))
        elif first != "#":
            weights |= dict.fromkeys(words, float(first))
    return weights, same


_WEIGHTS, _SAME = _read()
