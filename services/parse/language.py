"""Which language an article is in: by its script, its commonest words and its n-grams, and by what its feed declares
and has had before. Pure.

Declarations are hints: many feeds in other languages keep the `en-us` of the template that they were made from. So a
text that is clearly in a language is in that language, and what is declared decides about texts that are not.

The likelihoods come from a table of byte n-grams, read from languages.bin at the first text and made from py3langid's
model by scripts/language_table.py: naive Bayes over the longest known n-gram at each position. Scripts that only one
language uses are told apart before.
"""

from __future__ import annotations

import json
import math
import re
import struct
import unicodedata
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple, cast

from models.values import UNKNOWN_LANGUAGE

LONGEST_TEXT = 1_000
"""Bytes that are read: a longer text is not told better."""
LONGEST_NGRAM = 5
_COUNTS = tuple(round(16 * math.log1p(count)) for count in range(LONGEST_TEXT))
"""The weight of an n-gram by its number of occurrences, in sixteenths."""
_LANE = 4
"""Bytes for each language in the sum of all rows of a text. A row has one byte for each."""


class _Table(NamedTuple):
    """The table of n-grams."""

    languages: tuple[str, ...]
    unit: float
    rows: dict[bytes, int]
    weights: bytes


def likelihoods(text: str) -> dict[str, float]:
    """The shares of the languages, which sum to 1; empty if no n-gram of the text is known.

    The logarithms are divided by the square root of the text's length, since neighbouring n-grams are not independent.
    """
    table = _table()
    text = text[: 4 * LONGEST_TEXT]  # composed, it is shorter; 100,000 combining marks in a row take seconds
    data = unicodedata.normalize("NFC", text.lower() if text.isupper() else text).encode("utf-8", "ignore")
    data = data[:LONGEST_TEXT]
    counts = _counts(data, table.rows)
    if not counts:
        return {}
    # One addition of large integers adds a row of weights.
    size, weights = len(table.languages), table.weights
    total, lanes = 0, bytearray(_LANE * size)
    for row, count in counts.items():
        lanes[::_LANE] = weights[row * size : (row + 1) * size]
        total += _COUNTS[count] * int.from_bytes(lanes, "little")
    sums = struct.unpack(f"<{size}I", total.to_bytes(_LANE * size, "little"))
    scale = math.sqrt(len(data))
    logs = [each * table.unit / scale for each in sums]
    top = max(logs)
    exponents = [math.exp(each - top) for each in logs]
    whole = sum(exponents)
    return {language: each / whole for language, each in zip(table.languages, exponents, strict=True)}


def _counts(data: bytes, rows: dict[bytes, int]) -> Counter[int]:
    """How often each known n-gram is the longest one that ends at some byte."""
    found: list[int | None] = []
    get = rows.get
    padded = bytes(LONGEST_NGRAM - 2) + data
    for start in range(len(padded) - LONGEST_NGRAM + 1):
        end = start + LONGEST_NGRAM
        row = get(padded[start:end])
        if row is None:
            row = get(padded[start + 1 : end])
            if row is None:
                row = get(padded[start + 2 : end])
                if row is None:
                    row = get(padded[start + 3 : end])
        found.append(row)
    counts = Counter(found)
    del counts[None]
    return cast(Counter[int], counts)


@cache
def _table() -> _Table:
    plain = zlib.decompress(Path(__file__).with_name("languages.bin").read_bytes())
    line, _, rest = plain.partition(b"\n")
    head = json.loads(line)
    rows: dict[bytes, int] = {}
    at = 0
    for length, count in enumerate(head["lengths"]):
        for _ in range(count):
            rows[rest[at : at + length]] = len(rows)
            at += length
    size = len(head["languages"])
    weights = bytearray(size * len(rows))
    for index in range(size):
        weights[index::size] = rest[at + index * len(rows) : at + (index + 1) * len(rows)]
    unit = 1 / (16 * head["steps"])
    return _Table(tuple(head["languages"]), unit, rows, bytes(weights))


TEXT_READ = 150
"""Characters of the text that are read besides the headline."""
MIN_TEXT = 60
"""A shorter text is often a template in another language: `submitted by … [link] [comments]`."""
IDEOGRAPH = 8
HIRAGANA = 24
"""The letters that one character of Chinese, Japanese or Korean stands for, beside product names in Latin script.
Hiragana are the words between the names of a Japanese headline; an English one never explains a name in them."""

ENGLISH = 6.0
RARE = 0.2
"""How much more likely a feed of news is in English, and less likely in a rare language, before its text is read."""
DECLARED = 8.0
DECLARED_ENGLISH = 3.0
LIKE_BEFORE = 40.0
"""How much more likely a text is in the declared language, which says less if it is that of most templates, and in one
that all texts of its feed were in."""
MIN_SHARE = 0.35
MIN_SHARE_ENGLISH = 0.25
"""The least probability of the language that is chosen. It is less for English if the text is plain ASCII: headlines of
little but names of products are English most often, and would go unscored."""
CONFIDENT = 0.85
FEWEST_LETTERS = 20
"""From this probability and these letters on, the text alone decides, and counts in the history of its feed. A text is
clearly in English only if this holds without the preference for English too."""
MAX_IN_HISTORY = 200
MIN_COMMON = 4
MIN_COMMON_SHARE = 0.2
COMMON_OF_OTHERS = 4
"""A text is clearly in English if it has so many words that are common in English, if so large a share of its words is,
and if it has so many times fewer that are common in other languages. The n-grams, which take ten times as long, decide
about other texts."""

_RARE_LANGUAGES = "af az be bs cy eo et eu ga gl is la lt lv mk ms sl sq sw tl"
_RARE = frozenset(_RARE_LANGUAGES.split())
_URL = re.compile(r"https?://\S+|\bwww\.\S+|\S+@\S+|[@#/]\w[\w/]*")
_WORD = re.compile(r"[^\W\d_]+")
_HIRAGANA = re.compile("[\u3041-\u309f]")
_LISTED = [line.split() for line in Path(__file__).with_name("languages.txt").read_text("utf-8").splitlines()]
_SCRIPTS = [(language, re.compile(f"[{characters[0]}]")) for kind, language, *characters in _LISTED if kind == "script"]
"""The languages of scripts that one language of news uses, with the characters of the script."""
_COMMON = {
    language: frozenset(word for kind, of, *words in _LISTED if (kind, of) == ("common", language) for word in words)
    for language in ("en", "others")
}
_IDEOGRAPHIC = ("ja", "ko", "zh")
_OTHER_SCRIPTS = re.compile("[\u0370-\u03ff\u0530-\u05ff\u0900-\u11ff\u1780-\u17ff\u3040-\uff9f]")


class Evidence(NamedTuple):
    """What a text alone tells: the language that it is clearly in, or else how likely each is. `plain`: it is ASCII."""

    clear: str | None
    shares: Mapping[str, float]
    plain: bool


def evidence_of(headline: str, text: str) -> Evidence:
    read = headline if len(text) < MIN_TEXT else f"{headline}\n{text[:TEXT_READ]}"
    plain = read.isascii()
    if not plain and (language := _by_script(read)):
        return Evidence(language, {}, plain)
    read = _URL.sub(" ", read)
    words = _WORD.findall(read.lower())
    if _is_common_english(words):
        return Evidence("en", {}, plain)
    alone = likelihoods(read)
    shares = _weighed(alone)
    if shares and sum(map(len, words)) >= FEWEST_LETTERS:
        likeliest = max(shares, key=lambda each: shares[each])
        if min(alone[likeliest], shares[likeliest] / sum(shares.values())) >= CONFIDENT:
            return Evidence(likeliest, shares, plain)
    return Evidence(None, shares, plain)


def choose(evidence: Evidence, declared: str, history: Mapping[str, int]) -> str:
    """`declared` is a primary subtag or empty; `history` counts the languages that the feed's texts were clearly in."""
    if evidence.clear is not None:
        return evidence.clear
    known = sum(history.values())
    hints = {language: 1 + LIKE_BEFORE * count / known for language, count in history.items()} if known else {}
    if declared:
        hints[declared] = hints.get(declared, 1.0) * (DECLARED_ENGLISH if declared == "en" else DECLARED)
    hinted = {language: share * hints.get(language, 1.0) for language, share in evidence.shares.items()}
    language = max(hinted, key=lambda each: hinted[each], default=UNKNOWN_LANGUAGE)
    least = MIN_SHARE_ENGLISH if language == "en" and evidence.plain else MIN_SHARE
    if not hinted or hinted[language] < least * sum(hinted.values()):
        language = max(hints, key=lambda each: hints[each], default=UNKNOWN_LANGUAGE)
        if language == "en" and not history and hinted:  # declared only, of words that are not clearly English
            language = UNKNOWN_LANGUAGE
    return language


def with_languages(history: Mapping[str, int], clear: Mapping[str, int]) -> dict[str, int]:
    """The history of a feed with the languages of further texts. Old counts are halved, so that a feed that changes its
    language is soon known by the new one."""
    counts = Counter(history)
    counts.update(clear)
    while sum(counts.values()) > MAX_IN_HISTORY:
        counts = Counter({language: count // 2 for language, count in counts.items() if count > 1})
    return dict(sorted(counts.items()))


def _is_common_english(words: Sequence[str]) -> bool:
    english, others = (sum(map(_COMMON[each].__contains__, words)) for each in ("en", "others"))
    return english >= MIN_COMMON and english >= MIN_COMMON_SHARE * len(words) and english >= COMMON_OF_OTHERS * others


def _weighed(shares: Mapping[str, float]) -> dict[str, float]:
    return {
        each: share * (ENGLISH if each == "en" else RARE if each in _RARE else 1.0) for each, share in shares.items()
    }


def _by_script(text: str) -> str | None:
    """The language of the script that most of the text is in, if that tells."""
    if _OTHER_SCRIPTS.search(text) is None:
        return None
    letters = sum(map(len, _WORD.findall(text)))
    counts = {language: len(script.findall(text)) for language, script in _SCRIPTS}
    ideographs = sum(counts[each] for each in _IDEOGRAPHIC)
    stands_for = IDEOGRAPH * ideographs + (HIRAGANA - IDEOGRAPH) * len(_HIRAGANA.findall(text))
    if ideographs and stands_for >= letters - ideographs:
        if counts["ko"] * 2 > ideographs:
            return "ko"
        return "ja" if counts["ja"] else "zh"
    language = max(counts, key=lambda each: counts[each])
    return language if language not in _IDEOGRAPHIC and 2 * counts[language] > letters else None


_TAG = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_][A-Za-z0-9-_]*)?\s*")
_NOT_A_LANGUAGE = frozenset({"und", "mul", "zxx", "mis"})
_SAME = {tag: language for kind, tag, language, *_ in _LISTED if kind == "tag"}
"""The languages of other tags."""


@lru_cache(maxsize=1024)
def primary_subtag(tag: str) -> str:
    """The language of a tag, empty if it names none."""
    found = _TAG.fullmatch(tag) if len(tag) <= 100 else None
    subtag = found[1].lower() if found is not None else ""
    return "" if subtag in _NOT_A_LANGUAGE else _SAME.get(subtag, subtag)
