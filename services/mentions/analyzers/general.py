"""What a text says in general: a linear model over its features, with the weights of a shipped table (tables.py).

Features are sums of word valences, counts, and words with weights of their own. Tickers, handles, URLs and code give no
features. A direction ("surges", "narrow") gets its sign from its object: more profit is good, more debt is bad.
A text without a known word is neutral, with a low score.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from services.mentions.analyzers.port import Judgement
from services.mentions.analyzers.tables import Role, Word, WordTable
from services.mentions.analyzers.tokens import length_of_phrase

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
_NEGATION_REACHES = 3  # words
_OBJECT_BEFORE, _OBJECT_AFTER = 4, 3
"""How many words before and after a direction its object may be."""
_OBJECT = Role.BETTER_WHEN_MORE | Role.WORSE_WHEN_MORE
_DIRECTION = Role.UP | Role.DOWN
_DIRECTED = 1.5
"""The valence of a direction whose object is known."""
_NEGATED = -0.6
"""The factor of a negated valence: "not good" is less negative than "good" is positive."""
_BOOSTED, _DAMPENED = 1.3, 0.7
"""The factor of a valence after a word such as "very" or "slightly"."""
_BEFORE_CONTRAST, _FROM_CONTRAST = 0.5, 1.5
"""The words after "but" count for more: "slow but reliable"."""
_SQUEEZE = 15
"""The square of the sum of valences that `_squeezed` maps to 0.7."""
_MAX_COUNTED = 3
"""A feature that counts words, such as "questions", does not grow beyond so many."""
_PLAIN = Word()
_LISTS = Word._fields[:3]
_COUNTED = {
    "i": Role.FIRST_PERSON,
    "you": Role.SECOND_PERSON,
    "modal": Role.MODAL,
    "negations": Role.NEGATOR,
    "contrast": Role.CONTRAST,
}


def judge(text: str, table: WordTable) -> Judgement:
    features = read_features(text, table)
    negative, neutral, positive = table.features["constant"]
    for name, value in features.figures.items():
        weights = table.features.get(name)
        if weights and value:
            negative += value * weights[0]
            neutral += value * weights[1]
            positive += value * weights[2]
    for each in dict.fromkeys(features.words):
        known = table.words.get(each)
        if known and known.weights:
            own = known.weights
            negative += own[0]
            neutral += own[1]
            positive += own[2]
    return Judgement.of(*probabilities(negative, neutral, positive))


def probabilities(negative: float, neutral: float, positive: float) -> tuple[float, float, float]:
    """The probabilities that these logits mean."""
    top = max(negative, neutral, positive)
    odds = (math.exp(negative - top), math.exp(neutral - top), math.exp(positive - top))
    total = odds[0] + odds[1] + odds[2]
    return odds[0] / total, odds[1] / total, odds[2] / total


@dataclass(slots=True)
class TextFeatures:
    """The features of a text: figures by name, and the words and phrases of the text in order, in the spelling of the
    table."""

    figures: dict[str, float]
    words: list[str]


@dataclass(slots=True)
class _Tokens:
    """The words of a text, the clause of each, and counts by name."""

    texts: list[str] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    clauses: list[int] = field(default_factory=list)
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))


def read_features(text: str, table: WordTable) -> TextFeatures:
    text = text[:LONGEST_TEXT].replace("\u2019", "'")
    if "`" in text:
        text, code = _CODE.subn(" ", text)
    else:
        code = 0
    tokens = _read(text, table)
    figures = _valences(tokens)
    words = tokens.words
    length = len(words)
    for name, count in tokens.counts.items():
        figures[name] = min(count, _MAX_COUNTED) / 2
    figures["length"] = math.log1p(length) / 2
    figures["capitals"] = min(1.0, len(_CAPITAL.findall(text)) / (length + 1))
    identifiers = len(_IDENTIFIER.findall(text))
    if identifiers or code:
        figures["code"] = min(identifiers + code, _MAX_COUNTED) / 2
    if "?" in text:
        figures["asked"] = figures["total"]
    return TextFeatures(figures, tokens.texts)


def _read(text: str, table: WordTable) -> _Tokens:
    tokens = _Tokens()
    counts, phrases, known = tokens.counts, table.phrases, table.words.get
    pieces = _PIECE.findall(text.lower())
    clause = index = 0
    while index < len(pieces):
        piece = pieces[index]
        first = piece[0]
        length = 1
        if first.isalpha() and "://" not in piece and "@" not in piece and not piece.startswith("www."):
            if piece in phrases and (length := length_of_phrase(pieces, index, phrases)) > 1:
                piece = " ".join(pieces[index : index + length])
            word = known(piece) or (_parts(piece, table) if "-" in piece and length == 1 else _PLAIN)
            if word is _PLAIN and piece.endswith("n't"):
                word = Word(roles=Role.NEGATOR)
            tokens.texts.append(piece)
            tokens.words.append(word)
            tokens.clauses.append(clause)
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
        index += length
    return tokens


def _count_face(piece: str, table: WordTable, counts: defaultdict[str, int]) -> None:
    word = table.words.get(piece)
    if _HAPPY.fullmatch(piece) or (word and word.general > 0):
        counts["happy"] += 1
    elif len(piece) > 1 or (word and word.general < 0):
        counts["unhappy"] += 1


def _parts(piece: str, table: WordTable) -> Word:
    """A compound with a hyphen, with the sums of the valences of its parts."""
    found = [table.words[part] for part in piece.split("-") if part in table.words]
    if not found:
        return _PLAIN
    return Word(
        sum(word.general for word in found), sum(word.market for word in found), sum(word.product for word in found)
    )


def _valences(tokens: _Tokens) -> dict[str, float]:
    """Sums of valences by word list, sign and negation, and figures of the whole text."""
    sums: defaultdict[str, float] = defaultdict(float)
    counts = tokens.counts
    directed = _directed(tokens)
    contrast = max((index for index, word in enumerate(tokens.words) if word.roles & Role.CONTRAST), default=-1)
    total = first = last = 0.0
    negated_until = negated_clause = -1
    for index, word in enumerate(tokens.words):
        if word is _PLAIN:
            continue
        clause = tokens.clauses[index]
        roles = word.roles
        if roles:
            for name, role in _COUNTED.items():
                if roles & role:
                    counts[name] += 1
        valences = (0.0, directed[index], 0.0) if index in directed else word[:3]
        for name, valence in zip(_LISTS, valences, strict=True):
            if not valence:
                continue
            negated = index <= negated_until and clause == negated_clause
            strength = valence * _stress(tokens.words, index)
            if contrast >= 0:
                strength *= _BEFORE_CONTRAST if index < contrast else _FROM_CONTRAST
            sums[f"{name}{'+' if valence > 0 else '-'}{' negated' if negated else ''}"] += abs(strength)
            effect = strength * (_NEGATED if negated else 1.0)
            total += effect
            first, last = first or effect, effect
        if roles & Role.NEGATOR:
            negated_until, negated_clause = index + _NEGATION_REACHES, clause
    figures = {name: 2 * _squeezed(value) for name, value in sums.items()}
    figures["total"] = 3 * _squeezed(total)
    figures["strength"] = abs(figures["total"])
    figures["silent"] = float(not sums)
    figures["first"] = (first > 0) - (first < 0)
    figures["last"] = (last > 0) - (last < 0)
    return figures


def _directed(tokens: _Tokens) -> Mapping[int, float]:
    """By index, the valence of each direction that has an object, and 0 for the object."""
    found: dict[int, float] = {}
    words, clauses = tokens.words, tokens.clauses
    for index, word in enumerate(words):
        if not word.roles & _DIRECTION:
            continue
        for near in _nearest(index, len(words)):
            if words[near].roles & _OBJECT and clauses[near] == clauses[index] and near not in found:
                is_better = bool(word.roles & Role.UP) == bool(words[near].roles & Role.BETTER_WHEN_MORE)
                found[index] = _DIRECTED if is_better else -_DIRECTED
                found[near] = 0.0
                break
    return found


def _nearest(index: int, length: int) -> Iterator[int]:
    for distance in range(1, _OBJECT_BEFORE + 1):
        if index - distance >= 0:
            yield index - distance
        if distance <= _OBJECT_AFTER and index + distance < length:
            yield index + distance


def _stress(words: list[Word], index: int) -> float:
    before = words[index - 1].roles if index else 0
    return _BOOSTED if before & Role.BOOSTER else _DAMPENED if before & Role.DAMPENER else 1.0


def _squeezed(value: float) -> float:
    """`value` between -1 and 1, so that each further word adds less."""
    return value / math.sqrt(value * value + _SQUEEZE)
