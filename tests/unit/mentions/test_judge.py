"""Articles are judged in one call, unless the analyzer does not know their language."""

from collections.abc import Sequence

from services.mentions.analyzers.port import Judgement, Passage, PassageJudgement
from services.mentions.scoring import Scores, Unscored
from services.mentions.understanding import ArticleAnalysis, judge, understand
from services.tools.detector import Detector
from tests.documents import NOW, TOOL_ID, article, reading, tool

DETECTOR = Detector([tool(primary_name="Quorvia")])


def by_length(text: str) -> Judgement:
    score = round(0.5 + len(text) / 1000, 4)
    return Judgement("positive", score, score)


class Polyglot:
    """Judges a text by its length. Remembers what it was asked."""

    name, version, languages = "polyglot", "1", frozenset({"en", "de"})

    def __init__(self) -> None:
        self.calls: list[list[Passage]] = []

    async def analyze(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
        self.calls.append(list(passages))
        judgements = [by_length(each.text) for each in passages]
        return [
            PassageJudgement(judgement, dict.fromkeys(each.names, judgement))
            for each, judgement in zip(passages, judgements, strict=True)
        ]

    async def close(self) -> None:
        """Nothing to release."""


def analysis(headline: str, language: str | None = None, **fields: object) -> ArticleAnalysis:
    made = article(canonical=reading(headline=headline), text_for_analysis=None, language=language, **fields)
    return understand(made, DETECTOR)


async def test_the_passages_of_all_articles_are_judged_in_one_call_with_their_language() -> None:
    analyzer = Polyglot()
    analyses = [analysis("Quorvia"), analysis("Quorvia fehlt", "de"), analysis("Gone", "en", deleted_at=NOW)]
    await judge(analyzer, analyses)
    [asked] = analyzer.calls
    assert [(each.text, each.language) for each in asked] == [("Quorvia", "en"), ("Quorvia fehlt", "de")]
    first, second = by_length("Quorvia"), by_length("Quorvia fehlt")
    assert analyses[0].scores == Scores(first, {TOOL_ID: first})
    assert analyses[1].scores == Scores(second, {TOOL_ID: second})
    assert analyses[2].scores is None


async def test_an_article_in_a_language_that_the_analyzer_does_not_know_is_unscored() -> None:
    analyzer = Polyglot()
    analyses = [analysis("Quorvia est en panne", "fr"), analysis("Quorvia", "und")]
    await judge(analyzer, analyses)
    assert analyzer.calls == []
    expected = Scores(Unscored("LANGUAGE"), {TOOL_ID: Unscored("LANGUAGE")})
    assert [each.scores for each in analyses] == [expected, expected]
