"""Which passages an analyzer judges for an article and its tools, and what follows from the judgements. Pure.

    questions = ask(headline, text, detected)                which passages count for which tool
    judgements = await analyzer.analyze(questions.passages)
    scores = conclude(questions, judgements)                 one judgement for the article, one for each tool

A passage is the headline or a sentence. A tool is judged by the sentences that name it, and by the headline if the
headline names it. A tool that only the tags of a source name is judged by what the headline says in general.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import Any

from models.article import Article
from models.mention import SentimentScore
from models.stored import WordsJudgement
from models.values import Sentiment, UnscoredReason
from services.mentions.analyzers.port import Judgement, NotJudged, Passage, PassageJudgement
from services.tools.detector import Detected
from services.tools.matching import Span

LONGEST_TEXT = 50_000
MAX_SENTENCES = 12
HEADLINE_SHARE = 0.4
"""The least share of the headline in a score, however many sentences count."""
HEADLINE_WEIGHT = 2.0
"""The least weight of the headline; a sentence has 1."""
NEUTRAL_WEIGHT = 0.5
"""A neutral text counts for less: most neutral sentences do not judge the tool."""
CLEAR_BALANCE = 0.1
"""The least polarity of a tool of which some texts speak well and others ill. Below, they are balanced: neutral."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A passage that counts for a score: its index in `Questions.passages`, and its weight."""

    passage: int
    weight: float


@dataclass(frozen=True, slots=True)
class Questions:
    """What an analyzer is asked about an article. `passages` are to be judged, each once, by an analyzer that knows
    `language`. `article` and `tools` are the passages that count for each score."""

    passages: tuple[Passage, ...]
    article: tuple[Weighed, ...]
    tools: Mapping[str, tuple[Weighed, ...]]
    language: str


@dataclass(frozen=True, slots=True)
class Unscored:
    """What stands for a judgement of a text that the analyzer was not asked about."""

    reason: UnscoredReason


Score = Judgement | NotJudged | Unscored


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of an article and of its tools."""

    article: Score
    tools: Mapping[str, Score]


def ask(
    headline: str,
    text: str,
    detected: Mapping[str, Detected],
    only: Collection[str] | None = None,
    language: str = "en",
) -> Questions:
    """`detected` are the tools that the article names. With `only`, no others of them get a score, and each of these
    gets the same as without."""
    text = text[:LONGEST_TEXT]
    in_headline = {tool: each.headline_spans for tool, each in detected.items() if each.headline_spans}
    in_text = {
        tool: spans
        for tool, each in detected.items()
        if (spans := tuple(span for span in each.text_spans if span.end <= len(text)))
    }
    names = sorted((*span, tool) for tool, spans in in_text.items() for span in spans)
    passages = _Passages(headline, text, language, in_headline, names)
    sentences = split_sentences(text, [span for spans in in_text.values() for span in spans])
    article = passages.weighed(sentences)
    tools = {}
    for tool in [each for each in detected if only is None or each in only]:
        naming = sentences_naming(sentences, in_text.get(tool, ()))
        tools[tool] = passages.weighed(naming, with_headline=tool in in_headline or not naming)
    return Questions(tuple(passages.asked), article, tools, language)


def conclude(questions: Questions, judgements: Sequence[PassageJudgement]) -> Scores:
    """`judgements` are those of the passages, in the same order."""
    whole = [each.whole for each in judgements]
    tools = {}
    for tool, weighed in questions.tools.items():
        tools[tool] = combine(weighed, [each.tools.get(tool, each.whole) for each in judgements])
    return Scores(combine(questions.article, whole), tools)


def unscored(questions: Questions, reason: UnscoredReason) -> Scores:
    return Scores(Unscored(reason), dict.fromkeys(questions.tools, Unscored(reason)))


def combine(weighed: Sequence[Weighed], judgements: Sequence[Judgement | NotJudged]) -> Judgement | NotJudged:
    """The weighted mean of the probabilities. Passages that could not be judged are left out, unless none could. If all
    have the same sentiment, so has the whole."""
    sums = [0.0, 0.0, 0.0]
    sentiments: set[Sentiment] = set()
    refused: NotJudged | None = None
    for each in weighed:
        judgement = judgements[each.passage]
        if isinstance(judgement, NotJudged):
            refused = refused or judgement
            continue
        sentiments.add(judgement.sentiment)
        weight = each.weight * (NEUTRAL_WEIGHT if judgement.sentiment == "neutral" else 1.0)
        for index, probability in enumerate(probabilities_of(judgement)):
            sums[index] += weight * probability
    total = sum(sums)
    if not total:
        return refused or NotJudged("nothing to judge")
    negative, neutral, positive = (each / total for each in sums)
    if len(sentiments) == 1:
        (sentiment,) = sentiments
        score = {"negative": negative, "neutral": neutral, "positive": positive}[sentiment]
        return Judgement(sentiment, round(score, 4), round(positive - negative, 4))
    if {"positive", "negative"} <= sentiments and abs(positive - negative) < CLEAR_BALANCE:
        return Judgement.mixed(negative, positive)
    return Judgement.of(negative, neutral, positive)


@dataclass(slots=True)
class _Passages:
    """The passages that were asked for. Two with the same text and names are one. `names` are those in the text, each
    with its start, its end and its tool, in order."""

    headline: str
    text: str
    language: str
    in_headline: Mapping[str, Sequence[Span]]
    names: Sequence[tuple[int, int, str]]
    asked: list[Passage] = field(default_factory=list)
    numbers: dict[Any, int] = field(default_factory=dict)

    def weighed(self, sentences: Sequence[Span], *, with_headline: bool = True) -> tuple[Weighed, ...]:
        """The headline, if there is one, and the first sentences."""
        counted = sentences[:MAX_SENTENCES]
        found = []
        if with_headline and self.headline.strip():
            share = len(counted) * HEADLINE_SHARE / (1 - HEADLINE_SHARE)
            found.append(Weighed(self._number(self.headline, self.in_headline), max(HEADLINE_WEIGHT, share)))
        for sentence in counted:
            number = self._number(self.text[sentence.start : sentence.end], self._names_in(sentence))
            found.append(Weighed(number, 1.0))
        return tuple(found)

    def _names_in(self, sentence: Span) -> dict[str, list[Span]]:
        """The names in a sentence, by their place in it."""
        names: dict[str, list[Span]] = {}
        first = bisect_left(self.names, sentence.start, key=_start_of)
        for start, end, tool in self.names[first : bisect_left(self.names, sentence.end, key=_start_of)]:
            names.setdefault(tool, []).append(Span(start - sentence.start, end - sentence.start))
        return names

    def _number(self, text: str, names: Mapping[str, Sequence[Span]]) -> int:
        """The index of the passage in `asked`."""
        key = text, tuple((tool, tuple(names[tool])) for tool in sorted(names))
        number = self.numbers.setdefault(key, len(self.asked))
        if number == len(self.asked):
            self.asked.append(Passage(text, dict(key[1]), self.language))
        return number


def probabilities_of(judgement: Judgement) -> tuple[float, float, float]:
    """The probabilities of negative, neutral and positive, which add up to 1. A neutral text leans to neither side."""
    score, polarity = judgement.score, judgement.polarity
    if judgement.sentiment == "positive":
        negative, positive = score - polarity, score
    elif judgement.sentiment == "negative":
        negative, positive = score, score + polarity
    else:
        negative = positive = (1 - score) / 2
    negative, positive = max(0.0, negative), max(0.0, positive)
    return negative, max(0.0, 1 - negative - positive), positive


_END = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s+(\S?)|$)|[\u3002\uff01\uff1f]+|\n\s*\n|\n(?=\s*[-*\u2022])"
)
_ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|inc|corp|co|ltd|vs|no|nos|vol|fig|approx|est|dept|gov|sen|rep|gen|u\.s|u\.k|e\.g|i\.e"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|\b[A-Z])$",
    re.I,
)
_LONGEST_ABBREVIATION = 8
_start_of = itemgetter(0)


def split_sentences(text: str, names: Iterable[Span] = ()) -> list[Span]:
    """The sentences in order, without the space around them.

    No sentence ends inside one of `names` ("Yahoo! Finance"), after an abbreviation, or before a small letter.
    """
    names = sorted(names)
    ends = [match.end() for match in _END.finditer(text) if not (_inside(match.end(), names) or _goes_on(text, match))]
    found = []
    for start, end in pairwise((0, *ends, len(text))):
        sentence = text[start:end].strip()
        if sentence:
            begin = text.index(sentence, start)
            found.append(Span(begin, begin + len(sentence)))
    return found


def sentences_naming(sentences: Sequence[Span], names: Iterable[Span]) -> list[Span]:
    """The sentences in which one of `names` begins."""
    numbers = {bisect_right(sentences, name.start, key=_start_of) - 1 for name in names}
    return [sentences[number] for number in sorted(numbers) if number >= 0]


def _inside(index: int, names: Sequence[Span]) -> bool:
    nearest = bisect_left(names, index, key=_start_of) - 1
    return nearest >= 0 and index < names[nearest].end


def _goes_on(text: str, match: re.Match[str]) -> bool:
    """Whether the sentence goes on behind this full stop."""
    if not match[0].startswith("."):
        return False
    following = match[1] or ""
    if following.islower():
        return True
    before = text[max(0, match.start() - _LONGEST_ABBREVIATION) : match.start()]
    return bool(match[0] == "." and following and _ABBREVIATED.search(before))


Version = tuple[str, str]
"""The analyzer's name and version."""


def judged_fields(score: Score, analyzer: Version) -> dict[str, Any]:
    """The fields that mentions and articles have in common."""
    assert not isinstance(score, NotJudged), "an article that cannot be judged has failed before"
    name, version = analyzer
    fields: dict[str, Any] = {"analyzer": name, "analyzer_version": version}
    if isinstance(score, Unscored):
        return {**fields, "sentiment": None, "score": None, "polarity": None, "unscored_reason": score.reason}
    return {
        **fields,
        "sentiment": score.sentiment,
        "score": score.score,
        "polarity": score.polarity,
        "unscored_reason": None,
    }


def has_fields(document: Article | SentimentScore, fields: Mapping[str, Any]) -> bool:
    return all(getattr(document, name) == value for name, value in fields.items())


def words_judgement(fields: Mapping[str, Any]) -> WordsJudgement:
    return WordsJudgement(**{name: fields[name] for name in WordsJudgement.model_fields})
