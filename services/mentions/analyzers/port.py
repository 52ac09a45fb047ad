"""The port of analyzers. An analyzer judges texts, and knows no articles and no tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from models.values import Sentiment


@dataclass(frozen=True, slots=True)
class Judgement:
    """`polarity` is from -1 (negative) to 1 (positive); `score`, from 0 to 1, is the confidence in `sentiment`."""

    sentiment: Sentiment
    score: float
    polarity: float


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A text that cannot be judged; another try would fail too. `reason` has no words of the text, so it may be
    logged."""

    reason: str


class Analyzer(Protocol):
    """`name` and `version` are stored with every score: with the same two, the same text is judged the same."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    async def analyze(self, texts: Sequence[str]) -> list[Judgement | NotJudged]:
        """One judgement for each text, in the same order; a text that cannot be judged is a NotJudged.

        Raises Unavailable if the analyzer did not answer: no text was judged, and another try may succeed.
        """
        ...

    async def close(self) -> None:
        """Releases everything. Calling it again does nothing."""
        ...
