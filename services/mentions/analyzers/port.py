"""What services ask of an analyzer, and what it answers. Knows no article and no tool: it judges texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from models.values import Sentiment


@dataclass(frozen=True, slots=True)
class Judgement:
    """`polarity` is from -1 (negative) to 1, `score` from 0 to 1 how sure the analyzer is of `sentiment`."""

    sentiment: Sentiment
    score: float
    polarity: float


@dataclass(frozen=True, slots=True)
class NotJudged:
    """Why this one text could not be judged, fit for logs: never the text. Asking again gives the same answer."""

    reason: str


class Analyzer(Protocol):
    """`name` and `version` go with every score: the same text under the same two is judged the same."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    async def analyze(self, texts: Sequence[str]) -> list[Judgement | NotJudged]:
        """One answer for each text, in that order; a text that cannot be judged fails alone.

        Raises Unavailable if the analyzer could not be asked: then none was judged, and asking again may help.
        """
        ...

    async def close(self) -> None:
        """Releases everything. Calling it again does nothing."""
        ...
