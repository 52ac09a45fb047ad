"""The default analyzer: a table of words and weights (table.py) over what a text shows (signals.py).

No network, no download, no package. English only: a text of which it knows no word is neutral, with a score that says
how little that means.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from models.values import Sentiment
from services.mentions.analyzers.port import Judgement, NotJudged
from services.mentions.analyzers.signals import read_signals
from services.mentions.analyzers.table import Table, shipped_table

# About 2 ms of work, over which it leaves the event loop.
_INLINE_CHARACTERS = 4000


def judge(text: str, table: Table) -> Judgement:
    """`polarity` is the chance of positive less that of negative."""
    signals = read_signals(text, table)
    negative, neutral, positive = table.signals["constant"]
    for name, value in signals.figures.items():
        weights = table.signals.get(name)
        if weights and value:
            negative += value * weights[0]
            neutral += value * weights[1]
            positive += value * weights[2]
    for each in dict.fromkeys(signals.words):
        known = table.words.get(each)
        if known and known.weights:
            own = known.weights
            negative += own[0]
            neutral += own[1]
            positive += own[2]
    return _judgement(negative, neutral, positive)


def _judgement(negative: float, neutral: float, positive: float) -> Judgement:
    top = max(negative, neutral, positive)
    chances = (math.exp(negative - top), math.exp(neutral - top), math.exp(positive - top))
    total = sum(chances)
    sentiment: Sentiment = "neutral" if neutral == top else "positive" if positive == top else "negative"
    return Judgement(sentiment, round(max(chances) / total, 4), round((chances[2] - chances[0]) / total, 4))


class EmbeddedAnalyzer:
    name = "embedded"

    def __init__(self, table: Table | None = None) -> None:
        self._table = table or shipped_table()

    @property
    def version(self) -> str:
        return self._table.version

    async def analyze(self, texts: Sequence[str]) -> list[Judgement | NotJudged]:
        if sum(map(len, texts)) <= _INLINE_CHARACTERS:
            return self._judge_all(texts)
        return await asyncio.to_thread(self._judge_all, texts)

    def _judge_all(self, texts: Sequence[str]) -> list[Judgement | NotJudged]:
        return [judge(text, self._table) for text in texts]

    async def close(self) -> None:
        """Nothing to release."""
