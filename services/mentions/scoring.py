"""What is asked of an analyzer about an article and the tools it names, and what follows from the answers. Pure.

    questions = ask(headline, text, names)          which sentences bear on whom
    answers = await analyzer.analyze(questions.texts)
    scores = conclude(questions, answers)           one judgement for the article, one for each tool

A tool is judged by the sentences that name it, and by the headline where that does; a tool that neither names (it
came with the source's tags) by the headline. Nothing here knows stores, catalogs or how a text is judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from models.values import Sentiment
from services.mentions.analyzers.port import Judgement, NotJudged
from services.mentions.sentences import Span, naming, split_sentences

LONGEST_TEXT = 50_000
MOST_SENTENCES = 12
_HEADLINE_SHARE = 0.4
_HEADLINE_LEAST = 2.0
_NEUTRAL_COUNTS = 0.5
_LONGEST_COMPARISON = 40

_WINNING = re.compile(
    r"\s+(?:beats?|outperforms?|outpaces?|overtakes?|surpass(?:es)?|outsells?|trumps?|crush(?:es)?)\s+"
)
_LOSING = re.compile(r"\s+(?:loses(?: out)? to|lags(?: behind)?|trails|falls behind)\s+")
_COMPARED = re.compile(r"\s+(?:is|are|was|runs) (?:\w+ )?(?P<how>better|faster|worse|slower) than\s+")
_WORSE = ("worse", "slower")

Side = Literal[-1, 0, 1]


@dataclass(frozen=True, slots=True)
class Names:
    """Where a tool is named. Neither: the source said so."""

    headline: tuple[Span, ...] = ()
    text: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Bearing:
    """One text that bears on something, with its weight. `side` is 1 or -1 where it says that this wins or loses
    against another: then what the whole sounds like is turned that way."""

    text: int
    weight: float
    side: Side = 0


@dataclass(frozen=True, slots=True)
class Questions:
    """`texts` are asked about once each; the rest points into them."""

    texts: tuple[str, ...]
    article: tuple[Bearing, ...]
    tools: Mapping[str, tuple[Bearing, ...]]


@dataclass(frozen=True, slots=True)
class Scores:
    article: Judgement | NotJudged
    tools: Mapping[str, Judgement | NotJudged]


@dataclass(slots=True)
class _Texts:
    """Texts in the order in which they were first wanted."""

    places: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))


def ask(headline: str, text: str, names: Mapping[str, Names]) -> Questions:
    """`names` has the tools that were recognised, by id."""
    text = text[:LONGEST_TEXT]
    whole = [span for each in names.values() for span in each.text]
    sentences = split_sentences(text, whole)
    texts = _Texts()
    article = _bearings(texts, headline, text, sentences, {}, {})
    headline_sides = _sides(headline, {tool: each.headline for tool, each in names.items()})
    text_sides = _sides(text, {tool: each.text for tool, each in names.items()})
    tools = {}
    for tool, each in names.items():
        told = naming(sentences, [span for span in each.text if span.end <= len(text)])
        head = headline if each.headline or not told else ""
        tools[tool] = _bearings(texts, head, text, told, headline_sides.get(tool, {}), text_sides.get(tool, {}))
    return Questions(tuple(texts.places), article, tools)


def conclude(questions: Questions, answers: Sequence[Judgement | NotJudged]) -> Scores:
    """What could not be judged is left out where something else could."""
    return Scores(
        combine(questions.article, answers),
        {tool: combine(bearings, answers) for tool, bearings in questions.tools.items()},
    )


def combine(bearings: Sequence[Bearing], answers: Sequence[Judgement | NotJudged]) -> Judgement | NotJudged:
    """The mean chances of each sentiment. A neutral sentence counts for half: it mostly says that it says nothing."""
    sums = [0.0, 0.0, 0.0]
    refused: NotJudged | None = None
    for bearing in bearings:
        answer = answers[bearing.text]
        if isinstance(answer, NotJudged):
            refused = refused or answer
            continue
        weight = bearing.weight * (_NEUTRAL_COUNTS if answer.sentiment == "neutral" else 1.0)
        for index, chance in enumerate(_chances(_turned(answer, bearing.side))):
            sums[index] += weight * chance
    total = sum(sums)
    if not total:
        return refused or NotJudged("nothing to judge")
    negative, neutral, positive = (each / total for each in sums)
    top = max(negative, neutral, positive)
    sentiment: Sentiment = "neutral" if neutral == top else "positive" if positive > negative else "negative"
    return Judgement(sentiment, round(min(top, 1.0), 4), round(positive - negative, 4))


def _bearings(
    texts: _Texts,
    headline: str,
    text: str,
    sentences: Sequence[Span],
    headline_sides: Mapping[int, Side],
    text_sides: Mapping[int, Side],
) -> tuple[Bearing, ...]:
    told = sentences[:MOST_SENTENCES]
    found = []
    if headline.strip():
        share = len(told) * _HEADLINE_SHARE / (1 - _HEADLINE_SHARE)
        side: Side = next(iter(headline_sides.values()), 0)
        found.append(Bearing(texts.place(headline), max(_HEADLINE_LEAST, share), side))
    for start, end in told:
        side = next((side for place, side in text_sides.items() if start <= place < end), 0)
        found.append(Bearing(texts.place(text[start:end]), 1.0, side))
    return tuple(found)


def _sides(text: str, names: Mapping[str, Sequence[Span]]) -> dict[str, dict[int, Side]]:
    """For each tool, where a sentence sets it directly against another ("X beats Y"), who wins. By where it stands."""
    all_names = sorted((span.start, span.end, tool) for tool, spans in names.items() for span in spans)
    found: dict[str, dict[int, Side]] = {}
    for (start, end, tool), (other_start, other_end, other) in pairwise(all_names):
        between = text[end:other_start].lower()
        owner = text[other_end : other_end + 1] in ("'", "\u2019")
        side = 0 if tool == other or owner or len(between) > _LONGEST_COMPARISON else _first_side(between)
        if side:
            found.setdefault(tool, {})[start] = 1 if side > 0 else -1
            found.setdefault(other, {})[other_start] = -1 if side > 0 else 1
    return found


def _first_side(between: str) -> Side:
    if _WINNING.fullmatch(between):
        return 1
    if _LOSING.fullmatch(between):
        return -1
    compared = _COMPARED.fullmatch(between)
    if not compared or " not " in between:
        return 0
    return -1 if compared["how"] in _WORSE else 1


def _turned(answer: Judgement, side: Side) -> Judgement:
    if not side or answer.polarity * side >= 0:
        return answer
    opposite: dict[Sentiment, Sentiment] = {"positive": "negative", "negative": "positive", "neutral": "neutral"}
    return Judgement(opposite[answer.sentiment], answer.score, -answer.polarity)


def _chances(answer: Judgement) -> tuple[float, float, float]:
    """Of negative, neutral, positive: three numbers that add to one are told by any two of what is kept."""
    score, polarity = answer.score, answer.polarity
    if answer.sentiment == "positive":
        negative, positive = score - polarity, score
    elif answer.sentiment == "negative":
        negative, positive = score, score + polarity
    else:
        negative, positive = (1 - score - polarity) / 2, (1 - score + polarity) / 2
    negative, positive = max(0.0, negative), max(0.0, positive)
    return negative, max(0.0, 1 - negative - positive), positive
