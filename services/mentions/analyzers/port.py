"""The port of analyzers, and the analyzers of an app by name. An analyzer judges passages and the tools that they name,
and knows no articles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, runtime_checkable

from models.errors import InvalidInput
from models.resources.tools import Reanalysis
from models.values import Sentiment
from services.tools.matching import Span

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Passage:
    """A headline or a sentence. `names` are the places in `text` that name each tool, by tool id, and `language` is the
    primary subtag of its language."""

    text: str
    names: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an analyzer says of a text. `polarity` is above 0 for a positive text, below 0 for a negative one, and 0 for
    a neutral one. `score`, from 0 to 1, is the probability of `sentiment`."""

    sentiment: Sentiment
    score: float
    polarity: float

    @classmethod
    def of(cls, negative: float, neutral: float, positive: float) -> Self:
        """The judgement of these probabilities, which add up to 1."""
        polarity = round(positive - negative, _DIGITS)
        if neutral >= max(negative, positive):
            return cls("neutral", round(neutral, _DIGITS), 0.0)
        if not polarity:
            return cls.mixed(negative, positive)
        return cls("positive" if polarity > 0 else "negative", round(max(negative, positive), _DIGITS), polarity)

    @classmethod
    def mixed(cls, negative: float, positive: float) -> Self:
        """Neutral, since neither side prevails."""
        return cls("neutral", round(1 - abs(positive - negative), _DIGITS), 0.0)


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A text that cannot be judged; another try would fail too. `reason` has no words of the text, so it may be
    logged."""

    reason: str


@dataclass(frozen=True, slots=True)
class PassageJudgement:
    """The judgements of one passage: `whole` is what the passage says in general, `tools` what it says about each tool
    that it names."""

    whole: Judgement | NotJudged
    tools: Mapping[str, Judgement | NotJudged]


class Analyzer(Protocol):
    """Judges passages. `name` and `version` are stored with every score: with the same two, the same passage is judged
    the same.

    `languages` are the primary subtags of the languages that the analyzer can judge.
    """

    name: str
    version: str
    languages: frozenset[str]

    async def analyze(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
        """One judgement for each passage, in the same order; what cannot be judged is a NotJudged.

        Raises Unavailable if the analyzer did not answer: no passage was judged, and another try may succeed.
        """
        ...

    async def close(self) -> None:
        """Releases everything. Calling it again does nothing."""
        ...


@runtime_checkable
class LocalAnalyzer(Analyzer, Protocol):
    """An analyzer that runs in this process, so that a passage can be judged once for each of its words."""

    def judge(self, passages: Sequence[Passage]) -> list[PassageJudgement]: ...


class Analyzers:
    """The analyzers that this app can use, by name, each made when it is first needed. `present_name` is the one that
    scores articles."""

    def __init__(self, present_name: str, makers: Mapping[str, Callable[[], Analyzer]]) -> None:
        self.present_name = present_name
        self._makers = makers
        self._made: dict[str, Analyzer] = {}

    @property
    def present(self) -> Analyzer:
        return self.get(self.present_name)

    def get(self, name: str) -> Analyzer:
        """Raises InvalidInput for another name, and for an analyzer that lacks something."""
        if name not in self._makers:
            raise InvalidInput("analyzer", f"must be one of {', '.join(sorted(self._makers))}")
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def compared_with(self, asked: Reanalysis) -> str | None:
        """The name of the analyzer to compare with; None if the new scores are to be applied. Raises InvalidInput."""
        if asked.apply:
            return None
        name = self.present_name if asked.analyzer is None else asked.analyzer
        self.get(name)
        return name

    async def close(self) -> None:
        """Releases everything. Calling it again does nothing."""
        made, self._made = self._made, {}
        for analyzer in made.values():
            await analyzer.close()
