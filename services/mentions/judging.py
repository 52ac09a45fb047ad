"""Has an analyzer judge articles and the own words of their sources: the passages of all of them in one call."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from services.mentions.analyzers.port import Analyzer
from services.mentions.own_words import OwnWords
from services.mentions.scoring import Questions, conclude, unscored
from services.mentions.understanding import ArticleAnalysis


async def judge(analyzer: Analyzer, analyses: Iterable[ArticleAnalysis]) -> None:
    """Gives each analysis its scores. Words in a language that the analyzer does not know are unscored. Raises
    Unavailable if the analyzer does not answer."""
    asked: list[tuple[ArticleAnalysis | OwnWords, Questions]] = []
    every: list[ArticleAnalysis | OwnWords] = []
    for analysis in analyses:
        every += [analysis, *analysis.own_words]
    for each in every:
        if each.questions is not None and each.questions.language in analyzer.languages:
            asked.append((each, each.questions))
        elif each.questions is not None:
            each.scores = unscored(each.questions, "LANGUAGE")
    passages = [passage for _, questions in asked for passage in questions.passages]
    judgements = iter(await analyzer.analyze(passages) if passages else ())
    for each, questions in asked:
        each.scores = conclude(questions, list(islice(judgements, len(questions.passages))))
