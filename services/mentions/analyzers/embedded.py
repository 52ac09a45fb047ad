"""The default analyzer: two small linear models with shipped weights. It needs no network and knows English only.

What a passage says in general comes from general.py, what it says about each tool from features.py. Neither reads the
characters of a tool's name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha256

from services.mentions.analyzers import general, tokens
from services.mentions.analyzers.features import (
    Probabilities,
    Reading,
    Vocabulary,
    features_of,
    joint_figures,
    read,
    word_features,
)
from services.mentions.analyzers.general import LONGEST_TEXT, probabilities
from services.mentions.analyzers.port import Judgement, NotJudged, Passage, PassageJudgement
from services.mentions.analyzers.tables import ToolTable, Weight, WordTable, shipped_tools, shipped_words

_INLINE_CHARACTERS = 2000  # about 2 ms; more text is judged in a thread
_MAX_REMEMBERED = 10_000
"""Weights of placed words that are kept in memory, so that those of frequent words are added up once. Ten thousand
take 3 MB; fifty thousand take 14 MB and make no measurable difference."""
_STAND_IN = "Xx"
"""What general.py reads for the name of a tool: a word that no table has."""
_NOT_READ = NotJudged("the tool is not named in the part that is read")


class EmbeddedAnalyzer:
    """The analyzer with the shipped tables."""

    name = "embedded"
    languages = frozenset({"en"})

    def __init__(self, table: WordTable | None = None, tool_table: ToolTable | None = None) -> None:
        self._table = table or shipped_words()
        self._tools = ToolJudge(self._table, tool_table or shipped_tools())
        versions = f"{self._table.version} {self._tools.version}"
        self.version = f"2-{sha256(versions.encode()).hexdigest()[:8]}"

    async def analyze(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
        if sum(len(each.text) for each in passages) <= _INLINE_CHARACTERS:
            return self.judge(passages)
        return await asyncio.to_thread(self.judge, passages)

    def judge(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
        return [
            PassageJudgement(general.judge(masked(each), self._table), self._tools.judge(each)) for each in passages
        ]

    async def close(self) -> None:
        """Nothing to release."""


def masked(passage: Passage) -> str:
    """The text with a stand-in for each name of a tool."""
    spans = sorted(span for each in passage.names.values() for span in each)
    parts = []
    last = 0
    for start, end in spans:
        if start >= last:
            parts += [passage.text[last:start], _STAND_IN]
        last = max(last, end)
    return "".join((*parts, passage.text[last:]))


class ToolJudge:
    """Judges the tools that a passage names."""

    def __init__(self, table: WordTable, tool_table: ToolTable) -> None:
        self.version = tool_table.version
        self._weights = tool_table.weights
        self._scale = 1 / tool_table.temperature
        self._vocabulary = vocabulary(table, tool_table.classes)
        self._phrases = tokens.phrases_of({**tool_table.classes, **table.words})
        self._placed: dict[tuple[str, str], Weight] = {}

    def judge(self, passage: Passage) -> dict[str, Judgement | NotJudged]:
        if not passage.names:
            return {}
        reading = self.read(passage)
        read_tools = frozenset().union(*reading.tokens.names.values())
        first = {tool: self.logits(reading, tool) for tool in passage.names if tool in read_tools}
        found = {tool: probabilities(negative, 0.0, positive) for tool, (negative, positive) in first.items()}
        if len(found) > 1:
            found = {
                tool: self._joint(own, found[tool], [each for other, each in found.items() if other != tool])
                for tool, own in first.items()
            }
        return {tool: Judgement.of(*found[tool]) if tool in found else _NOT_READ for tool in passage.names}

    def read(self, passage: Passage) -> Reading:
        text, names = passage.text[:LONGEST_TEXT], passage.names
        if len(passage.text) > LONGEST_TEXT:
            names = {tool: tuple(each for each in spans if each.end <= LONGEST_TEXT) for tool, spans in names.items()}
        return read(tokens.read_tokens(text, names, self._phrases), self._vocabulary)

    def _joint(self, own: Weight, first: Probabilities, others: Sequence[Probabilities]) -> tuple[float, float, float]:
        """The second judgement of a tool, made from the first judgements of all tools of the text."""
        negative, positive = self._weights.get("joint", (0.0, 0.0))
        for name, value in joint_figures(own, first, others).items():
            known = self._weights.get(name)
            if known is not None:
                negative += value * known[0]
                positive += value * known[1]
        return probabilities(negative, 0.0, positive)

    def logits(self, reading: Reading, tool: str) -> Weight:
        """The logits of negative and of positive in the first judgement, which reads the text for this tool alone."""
        features = features_of(reading, tool)
        weights = self._weights
        negative, positive = weights.get("constant", (0.0, 0.0))
        remembered = self._placed
        for placed in features.placed:
            known = remembered.get(placed)
            if known is None:
                known = self._weight(*placed)
            negative += known[0]
            positive += known[1]
        for pattern in features.patterns:
            known = weights.get(pattern)
            if known is not None:
                negative += known[0]
                positive += known[1]
        for name, value in features.figures.items():
            known = weights.get(name)
            if known is not None:
                negative += value * known[0]
                positive += value * known[1]
        return negative * self._scale, positive * self._scale

    def _weight(self, word: str, place: str) -> Weight:
        negative = positive = 0.0
        for feature in word_features(word, place, self._vocabulary.classes_of(word)):
            known = self._weights.get(feature)
            if known is not None:
                negative += known[0]
                positive += known[1]
        if len(self._placed) < _MAX_REMEMBERED:
            self._placed[word, place] = (negative, positive)
        return negative, positive


def vocabulary(table: WordTable, classes: Mapping[str, tuple[str, ...]]) -> Vocabulary:
    valences = {word: 0.6 * each.general + each.market + each.product for word, each in table.words.items()}
    return Vocabulary(classes, {word: value for word, value in valences.items() if value})
