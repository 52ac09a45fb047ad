"""What a text says about a tool, as named features, to which the shipped table gives weights.

    reading = read(tokens, vocabulary)            once for each text
    features = features_of(reading, tool)         once for each tool

There are three kinds. A placed word is a word with its place relative to the nearest name of the tool: before or after,
near or far, in the same clause or not, with another name between or not. A pattern is a sequence of words, or of
classes of words ("SWITCH from T to O"), around a name of the tool (T) or of another (O), or between the two. A figure
is a sum of valences.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.mentions.analyzers.tokens import CONNECTORS, NAME, Tokens

Probabilities = Sequence[float]
"""Of negative, neutral and positive, in this order."""

_NEAR = 3  # words
_NEGATION_REACHES = 3  # words
_NEGATED = -0.6
_MIN_STEM = 3
_MIN_STEMMED = 5
_CONTEXT = 3  # symbols
_MAX_OTHERS = 6
"""Names of other tools whose relation to the tool is read."""
_BETWEEN = 6  # symbols
_LONG = "*"
"""What stands for a sequence that is too long for a pattern."""
_MAX_VALENCE = 3.0
_RELATION_WORDS = (
    "to from of in on with by for than over at against into via about like without under using is are be was not 's vs"
    " or and your my a the between through out off up down if why how what it its"
)
_RELATIONS = frozenset(_RELATION_WORDS.split())
"""Words that stand for themselves in a pattern, beside those with a class."""
_JOINT = [[f"joint {mine}{other}" for other in "-0+"] for mine in "-0+"]
"""The features of the second judgement by sentiment of the tool, then by that of the others."""
_ENDINGS = ("ing", "ies", "es", "ed", "s")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a word. `symbol` stands for it in patterns; a word without one is left out of them."""

    classes: tuple[str, ...]
    valence: float
    symbol: str
    is_negator: bool


class Vocabulary:
    """The classes and valences of words."""

    def __init__(self, classes: Mapping[str, tuple[str, ...]], valences: Mapping[str, float]) -> None:
        self._entries = {
            word: Entry(
                classes.get(word, ()),
                max(-_MAX_VALENCE, min(_MAX_VALENCE, valences.get(word, 0.0))),
                _symbol(word, classes.get(word, ())),
                "negator" in classes.get(word, ()),
            )
            for word in {*classes, *valences}
        }
        for word in sorted({*_RELATIONS, *CONNECTORS} - self._entries.keys()):
            self._entries[word] = Entry((), 0.0, word, is_negator=False)
        self.find = self._entries.get

    def classes_of(self, word: str) -> tuple[str, ...]:
        entry = self.find(word)
        return entry.classes if entry else ()


def _symbol(word: str, classes: Sequence[str]) -> str:
    if classes:
        return classes[0].upper()
    return word if word in _RELATIONS or word in CONNECTORS else ""


@dataclass(slots=True)
class Reading:
    """A text as far as it is the same for all of its tools. `symbols` are those of patterns, with the index of the
    token of each."""

    tokens: Tokens
    valences: dict[int, float]
    symbols: list[tuple[str, int]]
    classes: list[str]


@dataclass(slots=True)
class Features:
    """The features of one tool in one text."""

    placed: list[tuple[str, str]]
    patterns: list[str]
    figures: dict[str, float]


def read(tokens: Tokens, vocabulary: Vocabulary) -> Reading:
    valences: dict[int, float] = {}
    symbols: list[tuple[str, int]] = []
    classes: list[str] = []
    negated_until = -1
    find = vocabulary.find
    for index, word in enumerate(tokens.words):
        if word == NAME:
            symbols.append((NAME, index))
            continue
        entry = find(word)
        if entry is None:
            if word[0] == "<":
                symbols.append((word, index))
            continue
        valence = entry.valence
        if valence:
            if index <= negated_until:
                valence *= _NEGATED
            valences[index] = valence
        if entry.is_negator:
            negated_until = index + _NEGATION_REACHES
        if entry.symbol:
            symbols.append((entry.symbol, index))
            if entry.classes and entry.symbol not in classes:
                classes.append(entry.symbol)
        elif valence:
            symbols.append(("+" if valence > 0 else "-", index))
    return Reading(tokens, valences, symbols, classes)


def features_of(reading: Reading, tool: str) -> Features:
    tokens = reading.tokens
    own = [index for index, tools in tokens.names.items() if tool in tools]
    others = [index for index, tools in tokens.names.items() if tool not in tools]
    words = list(tokens.words)
    for index in own:
        words[index] = "T"
    for index in others:
        words[index] = "O"
    placed, figures = _placed(reading, words, own, others)
    patterns = [f"others {min(len(others), 2)}", f"names {min(len(own), 2)}"]
    patterns += _pairs(words, own)
    patterns += _sequences(reading, frozenset(own))
    for other in others[:_MAX_OTHERS]:
        nearest = min(own, key=lambda index: abs(index - other))
        patterns += _between(reading, words, nearest, other)
    return Features(placed, list(dict.fromkeys(patterns)), figures)


def word_features(word: str, place: str, classes: Sequence[str]) -> list[str]:
    """The features of a placed word, from general to special: the word anywhere, on this side, at this place."""
    side = place[:2] if place[0] == "X" else place[0]
    found = [f"w {word}", f"w {word} {side}", f"w {word} {place}"]
    if len(word) >= _MIN_STEMMED and word.isalpha():
        stem = _stem(word)
        found += (f"s {stem}", f"s {stem} {side}")
    for each in classes:
        found += (f"c {each}", f"c {each} {side}", f"c {each} {place}")
    return found


def _placed(
    reading: Reading, words: Sequence[str], own: Sequence[int], others: Sequence[int]
) -> tuple[list[tuple[str, str]], dict[str, float]]:
    """Places: B before and A after the name, 1 next to it, 2 within three words, 3 further; XB and XA in another
    clause. `o` is added if another name lies between."""
    clauses = reading.tokens.clauses
    valences = reading.valences
    found: list[tuple[str, str]] = []
    sums: defaultdict[str, float] = defaultdict(float)
    total = 0.0
    nearest = own[0]
    following = 1
    for index, word in enumerate(words):
        while following < len(own) and own[following] - index < index - nearest:
            nearest = own[following]
            following += 1
        if index == nearest or word == "T":
            continue
        side = "A" if index > nearest else "B"
        distance = abs(index - nearest)
        if clauses[index] != clauses[nearest]:
            side = place = f"X{side}"
        else:
            place = side + ("1" if distance == 1 else "2" if distance <= _NEAR else "3")
        for other in others:
            if nearest < other < index or index < other < nearest:
                place += "o"
                break
        found.append((word, place))
        valence = valences.get(index)
        if valence:
            sign = "+" if valence > 0 else "-"
            amount = abs(valence)
            sums[f"v {sign} {side}"] += amount
            sums[f"v {sign} {place}"] += amount
            sums[f"v {sign}"] += amount
            total += valence
    figures = {name: 1.5 * value / math.sqrt(value * value + 6) for name, value in sums.items()}
    if total:
        figures["v"] = 2 * total / math.sqrt(total * total + 8)
    figures["length"] = math.log1p(len(words)) / 2
    return found, figures


def _pairs(words: Sequence[str], own: Sequence[int]) -> Iterator[str]:
    """Pairs of neighbours, and the words on both sides of the tool."""
    for index in range(len(words) - 1):
        yield f"b {words[index]} {words[index + 1]}"
    yield f"b {words[-1]} $"
    for index in own:
        before = words[index - 1] if index else "^"
        after = words[index + 1] if index + 1 < len(words) else "$"
        yield f"n {before} T {after}"


def _sequences(reading: Reading, own: frozenset[int]) -> Iterator[str]:
    """Up to three symbols before and after the tool, and the last relation before it with each class of the text."""
    symbols = ["^"]
    at = []
    for symbol, index in reading.symbols:
        if index in own:
            at.append(len(symbols))
            symbols.append("T")
        else:
            symbols.append("O" if symbol == NAME else symbol)
    symbols.append("$")
    for index in at:
        before, after = symbols[index - 1], symbols[index + 1]
        yield f"< {before}"
        yield f"> {after}"
        left, right = before, after
        for distance in range(2, _CONTEXT + 1):
            if index - distance >= 0:
                left = f"{symbols[index - distance]} {left}"
                yield f"< {left}"
            if index + distance < len(symbols):
                right = f"{right} {symbols[index + distance]}"
                yield f"> {right}"
        yield f"= {before} T {after}"
        if index > 1:
            yield f"= {symbols[index - 2]} {before} T {after}"
        if index + 2 < len(symbols):
            yield f"= {before} T {after} {symbols[index + 2]}"
        relation = before if before[0] not in "+-<" else "^"
        yield f"@ {relation}"
        for each in reading.classes:
            yield f"@ {relation} {each}"


def _between(reading: Reading, words: Sequence[str], own: int, other: int) -> Iterator[str]:
    """What stands between a name of the tool and one of another, by which comes first, and what leads to it."""
    tokens = reading.tokens
    first, last = (own, other) if own < other else (other, own)
    order = "~<" if own < other else "~>"
    before: list[str] = []
    symbols: list[str] = []
    for symbol, index in reading.symbols:
        if index >= last:
            break
        if index < first:
            before.append("O" if symbol == NAME else symbol)
        elif index > first:
            symbols.append("O" if symbol == NAME else symbol)
    classes = [each for each in symbols if each.isupper() and each != "O"]
    relations = [each for each in symbols if each.islower()]
    leading = [each for each in before if each.isupper() and each != "O"][-1:]
    valence = 0.0
    for index, value in reading.valences.items():
        if first < index < last:
            valence += value
    yield order
    yield f"{order} words {_joined(words[first + 1 : last], 3)}"
    yield f"{order} symbols {_joined(symbols, 4)}"
    yield f"{order} classes {_joined(classes, 2)}"
    yield f"{order} relations {_joined(relations, 2)}"
    yield f"{order} value {'+' if valence > 0 else '-' if valence < 0 else '0'}"
    yield f"{order} led {_joined((*leading, '|', *before[-1:], '|', *symbols), 5)}"
    yield f"{order} verb {_joined((*leading, '|', *symbols[-1:]), 3)}"
    clause = tokens.clauses[last]
    yield f"{order} joined {'' if clause == tokens.clauses[first] else tokens.connectors[clause]}"
    for symbol in symbols[:_BETWEEN]:
        yield f"{order} has {symbol}"


def _joined(parts: Sequence[str], most: int) -> str:
    return " ".join(parts) if len(parts) <= most else _LONG


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e")


def joint_figures(own: tuple[float, float], first: Probabilities, others: Sequence[Probabilities]) -> dict[str, float]:
    """The features of the second judgement of a tool: the logits of its first judgement (`own`, of negative and of
    positive), and the products of its probabilities (`first`) with the mean probabilities of the other tools."""
    figures = {"joint -": own[0], "joint +": own[1]}
    for label in range(3):
        mean = 0.0
        for each in others:
            mean += each[label]
        mean *= 3 / len(others)
        for mine in range(3):
            figures[_JOINT[mine][label]] = first[mine] * mean
    return figures
