"""What a text shows that bears on sentiment: named figures, and the words that have weights of their own.

Judges nothing: the weights are the table's. Names of tickers, handles and URLs show nothing, whatever words are in
them. A direction ("surges", "narrow") takes its sign from what moves: more profit is good, more debt is not.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from services.mentions.analyzers.table import (
    BETTER_WHEN_MORE,
    BOOSTER,
    CONTRAST,
    DAMPENER,
    DOWN,
    FIRST_PERSON,
    MODAL,
    NEGATOR,
    SECOND_PERSON,
    UP,
    WORSE_WHEN_MORE,
    Table,
    Word,
)

LONGEST_TEXT = 20_000
_CODE = re.compile(r"```.*?(?:```|$)|`[^`\n]*`", re.S)
_PIECE = re.compile(
    r"https?://\S+|www\.\S+|[^\s@]{1,64}@\S+|[@$][a-z]\w*"
    r"|[:;]-?[()]+(?!\w)|(?<![\w/\"'])(?:[:;=]['o^-]?[()\[\]dp/\\|*]+|\(-?[:;]|<3|\^\^)(?![\w/:\"'])"
    r"|[^\W\d_]+(?:['-][^\W\d_]+)*|\+1\b|\d[\d.,]*|[!?.,;:%]|[\u2190-\U0010ffff]"
)
_IDENTIFIER = re.compile(r"[a-z][A-Z]|\w_\w|\w\(\)|::|[{}]|\w\.\w")
_CAPITAL = re.compile(r"\b[A-Z]")
_HAPPY = re.compile(r"[:;=]['o^-]?[)\]dp*]+|\(-?[:;]|<3|\^\^")
_NEGATION_REACHES = 3
_OBJECT_BEFORE, _OBJECT_AFTER = 4, 3
_OBJECT = BETTER_WHEN_MORE | WORSE_WHEN_MORE
_DIRECTION = UP | DOWN
_DIRECTED = 1.5
_NEGATED = -0.6
_MOST_COUNTED = 3
_PLAIN = Word()
_COUNTED = {"i": FIRST_PERSON, "you": SECOND_PERSON, "modal": MODAL, "negations": NEGATOR, "contrast": CONTRAST}


@dataclass(slots=True)
class Signals:
    """`figures` by name; `words` and phrases in the order of the text, as the table would have them."""

    figures: dict[str, float]
    words: list[str]


@dataclass(slots=True)
class _Reading:
    """The words of a text with where they stand, and what was counted on the way."""

    texts: list[str] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    clauses: list[int] = field(default_factory=list)
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))


def read_signals(text: str, table: Table) -> Signals:
    text = text[:LONGEST_TEXT].replace("\u2019", "'")
    if "`" in text:
        text, code = _CODE.subn(" ", text)
    else:
        code = 0
    reading = _read(text, table)
    figures = _valences(reading)
    words = reading.words
    length = len(words)
    for name, count in reading.counts.items():
        figures[name] = min(count, _MOST_COUNTED) / 2
    figures["length"] = math.log1p(length) / 2
    figures["capitals"] = min(1.0, len(_CAPITAL.findall(text)) / (length + 1))
    identifiers = len(_IDENTIFIER.findall(text))
    if identifiers or code:
        figures["code"] = min(identifiers + code, _MOST_COUNTED) / 2
    if "?" in text:
        figures["asked"] = figures["total"]
    return Signals(figures, reading.texts)


def _read(text: str, table: Table) -> _Reading:
    reading = _Reading()
    counts = reading.counts
    clause = 0
    pieces = _PIECE.findall(text.lower())
    skip = 0
    known = table.words.get
    for place, piece in enumerate(pieces):
        first = piece[0]
        if skip:
            skip -= 1
        elif first.isalpha() and "://" not in piece and "@" not in piece and not piece.startswith("www."):
            phrase = _phrase(pieces, place, table) if piece in table.phrases else None
            if phrase:
                word, skip = phrase
            else:
                word = known(piece) or (_parts(piece, table) if "-" in piece else _PLAIN)
                if word is _PLAIN and piece.endswith("n't"):
                    word = Word(roles=NEGATOR)
            reading.texts.append(" ".join(pieces[place : place + 1 + skip]) if skip else piece)
            reading.words.append(word)
            reading.clauses.append(clause)
        elif first in ".;:!?" and len(piece) == 1:
            clause += 1
            if piece == "!":
                counts["exclamations"] += 1
            elif piece == "?":
                counts["questions"] += 1
        elif first.isdigit():
            counts["numbers"] += 1
        elif piece == "+1":
            counts["happy"] += 1
        elif not first.isalpha() and first not in "@$,%" and "@" not in piece:
            _count_face(piece, table, counts)
    return reading


def _count_face(piece: str, table: Table, counts: defaultdict[str, int]) -> None:
    word = table.words.get(piece)
    if _HAPPY.fullmatch(piece) or (word and word.general > 0):
        counts["happy"] += 1
    elif len(piece) > 1 or (word and word.general < 0):
        counts["unhappy"] += 1


def _phrase(pieces: list[str], place: int, table: Table) -> tuple[Word, int] | None:
    for rest, word in table.phrases[pieces[place]]:
        if pieces[place + 1 : place + 1 + len(rest)] == list(rest):
            return word, len(rest)
    return None


def _parts(piece: str, table: Table) -> Word:
    """A compound says what its parts say."""
    found = [table.words[part] for part in piece.split("-") if part in table.words]
    if not found:
        return _PLAIN
    return Word(
        sum(word.general for word in found), sum(word.market for word in found), sum(word.product for word in found)
    )


def _valences(reading: _Reading) -> dict[str, float]:
    """Sums by word list, sign and negation, squeezed so that no word counts for much after many others."""
    sums: defaultdict[str, float] = defaultdict(float)
    counts = reading.counts
    directed = _directed(reading)
    contrast = max((place for place, word in enumerate(reading.words) if word.roles & CONTRAST), default=-1)
    total = first = last = 0.0
    negated_until = negated_clause = -1
    for place, word in enumerate(reading.words):
        if word is _PLAIN:
            continue
        clause = reading.clauses[place]
        roles = word.roles
        if roles:
            for name, role in _COUNTED.items():
                if roles & role:
                    counts[name] += 1
        for name, valence in _spoken(word, directed.get(place)):
            negated = place <= negated_until and clause == negated_clause
            strength = valence * _stress(reading.words, place)
            if contrast >= 0:
                strength *= 0.5 if place < contrast else 1.5
            sums[f"{name}{'+' if valence > 0 else '-'}{' negated' if negated else ''}"] += abs(strength)
            effect = strength * (_NEGATED if negated else 1.0)
            total += effect
            first, last = first or effect, effect
        if roles & NEGATOR:
            negated_until, negated_clause = place + _NEGATION_REACHES, clause
    figures = {name: 2 * _squeezed(value) for name, value in sums.items()}
    figures["total"] = 3 * _squeezed(total)
    figures["strength"] = abs(figures["total"])
    figures["silent"] = float(not sums)
    figures["first"] = (first > 0) - (first < 0)
    figures["last"] = (last > 0) - (last < 0)
    return figures


def _directed(reading: _Reading) -> Mapping[int, float]:
    """For each place, the valence that a direction has there by what moves; 0 for the thing that moves."""
    found: dict[int, float] = {}
    words, clauses = reading.words, reading.clauses
    for place, word in enumerate(words):
        if word is not _PLAIN and word.roles & _DIRECTION:
            for near in _nearest(place, len(words)):
                if words[near].roles & _OBJECT and clauses[near] == clauses[place] and near not in found:
                    up = bool(word.roles & UP)
                    better = bool(words[near].roles & BETTER_WHEN_MORE)
                    found[place] = _DIRECTED if up == better else -_DIRECTED
                    found[near] = 0.0
                    break
    return found


def _nearest(place: int, length: int) -> Iterator[int]:
    for distance in range(1, _OBJECT_BEFORE + 1):
        if place - distance >= 0:
            yield place - distance
        if distance <= _OBJECT_AFTER and place + distance < length:
            yield place + distance


def _spoken(word: Word, directed: float | None) -> Iterator[tuple[str, float]]:
    if directed is not None:
        if directed:
            yield "market", directed
        return
    if word.general:
        yield "general", word.general
    if word.market:
        yield "market", word.market
    if word.product:
        yield "product", word.product


def _stress(words: list[Word], place: int) -> float:
    before = words[place - 1].roles if place else 0
    return 1.3 if before & BOOSTER else 0.7 if before & DAMPENER else 1.0


def _squeezed(value: float) -> float:
    return value / math.sqrt(value * value + 15)
