"""What a headline says without publishers' names, wire prefixes and notes, and what tells the issues of a series apart.
Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from services.mentions.prose import headline_prose
from services.stories.terms import (
    ALSO_WORDS,
    FUNCTION_WORDS,
    MONTHS,
    NUMBERED,
    NUMBERS,
    ORDINALS,
    PARTS,
    ROMAN,
    TIMES,
    WEEKDAYS,
    stem,
    words_in,
)
from services.tools.lexicon import COMMON

MAX_WORDS = 30
LONGEST_TAIL = 60

_WIRE = re.compile(
    r"(?:\s*(?:"
    # "UPDATE 2-", "GLOBAL MARKETS-": agencies put a capital right after the hyphen.
    r"(?:UPDATE|WRAPUP|RPT|REFILE|CORRECTED|EXCLUSIVE|FOCUS|TEXT|ANALYSIS|FEATURE|INTERVIEW|INSIGHT|TABLE|FACTBOX|"
    r"TIMELINE|BRIEF|POLL|PREVIEW|RECAST|REPEAT|ADVISORY|URGENT|LEAD|ROUNDUP)(?:\s+\d{1,2})?\s*[-:\u2013\u2014](?=\s?\S)|"
    r"(?:[A-Z][A-Z&./]+ ){0,3}[A-Z][A-Z&./]{3,}-(?=[A-Z\u00c0-\u00de'\"\u201c\u2018$][a-z\u00df-\u00ff])|"
    r"(?:\d(?:st|nd|rd|th)\s+(?:LD|LEAD)|LD|LEADALL)\s*[-:]|"
    r"(?:UPDATED?|BREAKING(?: NEWS)?|JUST IN|URGENT|ALERT|EXCLUSIVE|WATCH|VIDEO|PHOTOS?|LISTEN|REPORT|AP|AFP|"
    r"CURRENCIES|COMMODITIES|FOREX|BOND REPORT|MARKET (?:SNAPSHOT|ANALYSIS)|"
    r"EIL(?:MELDUNG)?|AKTUALISIERT|DERNI\u00c8RE MINUTE|URGENTE|\u00daLTIMA HORA|PILNE|ULTIM'ORA|SPOED)"
    r"(?:\s+\d{1,2})?\s*[:|\u2013\u2014](?=\s)|"
    r"(?:EIL)?\s?\+\+\+|[\[(](?:update\w*(?:\s\d{1,2})?|video|photos?|watch|exclusive|breaking|correct(?:ed|ion))[\])]:?|"
    r"\d{1,2}[/.]\d{1,2}[/.]\d{4}(?=\s?[A-Z])"
    r")\s*)+",
    re.IGNORECASE,
)
_SHOUTED = re.compile(r"[^a-z]*-")
_NOTE = re.compile(
    r"\s*[\[(](?:w/ ?|with )?(?:updat\w+(?:\s\d{1,2})?|videos?|photos?|pictures|pics|gallery|watch|live|infographic|"
    r"audio|slideshow|press release|correct(?:ed|ion)|[A-Z.&]{2,6}|mit video|vid\u00e9o|wideo|foto)[\])]\s*$|"
    r"\s+--\s*(?:\d(?:st|nd|rd|d|th)\s+)?update\s*$|\s*\+\+\+$",
    re.IGNORECASE,
)
_CUT = re.compile(r"\s*(?:\u2026|\.\.\.)\s*$")
_TAIL = re.compile(r"\s+(?:[-\u2010-\u2015|\u00b7\u2022]|::)\s+")
_STATION = re.compile(
    r"\b[KW][A-Z]{2,3}(?:-?(?:TV|FM|AM|DT))?\b|\.(?:com|net|org|co|de|fr|tv|info|news)\b|\b(?:News|Times|Post|Herald|"
    r"Tribune|Gazette|Journal|Daily|Chronicle|Observer|Press|Magazine|Blog|Radio|Online|Zeitung|Nachrichten)\b"
)
_ONE = re.compile(r"\b[Oo]ne-(?=[a-z])")
_UNIT = re.compile(r"(\d+(?:\.\d+)?)(?:%|b|m|t|mrd|st|nd|rd|th|p|g|gb|tb|mb|km|kg)")
_QUARTER = re.compile(r"(?:fy)?[qhtk]([1-4])|([1-4])[qht]")
_QUARTERS = frozenset({"quarter", "quartal", "trimestre", "kwartal", "half"})
_DATES = {
    **{word: f"month:{number}" for word, number in MONTHS.items()},
    **{word: f"day:{number}" for word, number in WEEKDAYS.items()},
    **{word: f"time:{word}" for word in TIMES},
}
_MAY_BE_MARKS = frozenset((*NUMBERS, *_DATES, *ORDINALS))


class Headline(NamedTuple):
    """A headline as it is compared.

    `words`: all words, in their order. `names`: those that are likely names. `is_cut`: the end is missing.
    """

    words: tuple[str, ...]
    names: tuple[str, ...]
    is_cut: bool


def headline_of(headline: str, publisher: str = "", publisher_names: Iterable[str | None] = ()) -> Headline:
    """`publisher`: its id, such as its domain. `publisher_names`: as the sources name it, or themselves."""
    plain, is_cut = _without_additions(headline, publisher, tuple(publisher_names))
    words = words_in(_ONE.sub("1-", plain))[:MAX_WORDS]
    return Headline(tuple(words), _names(plain), is_cut)


def _without_additions(headline: str, publisher: str, names: tuple[str | None, ...]) -> tuple[str, bool]:
    """The headline without wire prefixes, notes in brackets and publishers' names; whether its end is missing."""
    headline, cuts = _CUT.subn("", headline)
    is_cut = cuts > 0
    plain = headline
    prefix = _WIRE.match(plain)
    if prefix is not None and _is_wire(prefix[0]):
        plain = plain[prefix.end() :]
    plain = _NOTE.sub("", plain)
    if _TAIL.search(plain) or ":" in plain:
        plain = headline_prose(plain, names, f"https://{publisher}").strip()
        for _ in range(2):
            tails = list(_TAIL.finditer(plain))
            if not tails or not _is_name(tails[-1], plain, is_cut):
                break
            plain, is_cut = plain[: tails[-1].start()], False
    plain = _NOTE.sub("", plain).strip()
    return (plain, is_cut) if len(plain) >= 3 else (headline, is_cut)


def _is_wire(prefix: str) -> bool:
    """The expression ignores case; a prefix that ends in a hyphen must be in capitals: "UPDATE 2-", not "Follow-Up"."""
    return not prefix.rstrip().endswith("-") or _SHOUTED.fullmatch(prefix.rstrip()) is not None


def _is_name(separator: re.Match[str], headline: str, is_cut: bool) -> bool:
    """Whether what follows the last separator is a publisher's name."""
    head, tail = headline[: separator.start()], headline[separator.end() :]
    if len(tail) > LONGEST_TAIL or head.count(" ") < 2:
        return False
    if "|" in separator[0] and not any(character.isdigit() for character in tail):
        return True
    return (is_cut and len(tail) < 40 and tail[:1].isupper()) or (
        tail.count(" ") < 7 and tail[:1].isupper() and _STATION.search(tail) is not None
    )


def marks_of(words: Sequence[str]) -> tuple[str, ...]:
    """What tells the issues of a series apart: numbers, versions, quarters, months, weekdays, parts; each with its
    class before a colon."""
    found: dict[str, None] = {}
    before = ""
    for at, word in enumerate(words):
        if word in _MAY_BE_MARKS or not word.isalpha() or before in NUMBERED:
            mark = _mark(word, before, words[at + 1] if at + 1 < len(words) else "")
            if mark is not None:
                found[mark] = None
        before = word
    return tuple(found)


def _mark(word: str, before: str, after: str) -> str | None:
    if before in NUMBERED and (number := _number(word) or ROMAN.get(word)):
        return f"{'part' if before in PARTS else 'number'}:{number}"
    quarter = _QUARTER.fullmatch(word)
    if quarter is not None:
        return f"quarter:{quarter[1] or quarter[2]}"
    if word in ORDINALS and after in _QUARTERS:
        return f"quarter:{ORDINALS[word]}"
    number = _number(word)
    if number is not None:
        return f"number:{number}"
    is_beside_number = before[:1].isdigit() or after[:1].isdigit()
    return None if word in ALSO_WORDS and not is_beside_number else _DATES.get(word)


def _number(word: str) -> str | None:
    word = word.removeprefix("v")
    unit = _UNIT.fullmatch(word)
    return _plain(unit[1] if unit else word) if word[:1].isdigit() else None


def _plain(number: str) -> str:
    return (number.rstrip("0").rstrip(".") or "0") if number.count(".") == 1 else number.lstrip("0") or "0"


_CAPITALISED = re.compile(r"(?<![\w'\u2019])[A-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f][\w'\u2019&-]*")


def _names(headline: str) -> tuple[str, ...]:
    """The words with a capital that are no common words. The first word counts only if it is not one either."""
    capitalised = words_in(" ".join(_CAPITALISED.findall(headline)))
    return tuple(
        word
        for word in dict.fromkeys(capitalised)
        if len(word) > 1
        and word not in FUNCTION_WORDS
        and word not in NUMBERS
        and word not in _MAY_BE_MARKS
        and not is_usual(word)
    )


def is_usual(word: str) -> bool:
    """Whether the word, or one with the same stem, is in the list of common English words."""
    return stem(word) in _USUAL


_USUAL = frozenset(map(stem, COMMON))
