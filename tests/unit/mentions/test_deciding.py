"""A word decided if the analyzer is less sure, or says something else of the tool, without it."""

from collections.abc import Sequence

import pytest

from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.mentions.analyzers.port import Judgement, NotJudged, Passage, PassageJudgement
from services.mentions.passages import deciding_words, odds_of
from services.tools.matching import Span

DOUBLINGS = {"good": 2.0, "bad": -2.0, "fine": 1.0, "rather": 0.5, "quite": 0.94, "Nimbry": 3.0}


def judge(passages: Sequence[Passage]) -> list[PassageJudgement]:
    """An analyzer for which each of these words multiplies the odds of positive by a power of two."""
    found = []
    for each in passages:
        odds = 2 ** sum(DOUBLINGS.get(word.strip(".,"), 0.0) for word in each.text.split())
        said = Judgement.of(1 / (1 + odds), 0.0, odds / (1 + odds))
        found.append(PassageJudgement(said, dict.fromkeys(each.names, said)))
    return found


def passage(text: str, name: str = "Nimbry") -> Passage:
    start = text.index(name)
    return Passage(text, {"tool": (Span(start, start + len(name)),)})


def words(text: str, name: str = "Nimbry") -> list[tuple[str, int]]:
    found = deciding_words(judge, passage(text, name), "tool")
    return [(text[each.start : each.end], round(each.effect)) for each in found]


@pytest.mark.parametrize(
    ("text", "name", "deciding"),
    [
        ("A bad day for Nimbry, good news later", "Nimbry", [("bad", -2), ("good", 2)]),
        ("Nimbry is rather quick, quite", "Nimbry", []),
        ("fine Tolliver, rather quite", "Tolliver", [("fine", 1)]),
        ("fine good bad good bad good bad Tolliver", "Tolliver", [("good", 2), ("bad", -2)] * 3),
    ],
    ids=["in their order", "neither the name nor words of little effect", "if they double the odds", "at most six"],
)
def test_words_that_move_the_odds_are_found(text: str, name: str, deciding: list[tuple[str, int]]) -> None:
    assert words(text, name) == deciding


def test_a_long_passage_is_looked_at_as_far_as_its_first_words() -> None:
    assert words("Nimbry " + "so " * 120 + "good") == []
    assert words("Nimbry " + "so " * 119 + "good") == [("good", 2)]


def test_a_passage_that_cannot_be_judged_has_no_deciding_words() -> None:
    def refuse(passages: Sequence[Passage]) -> list[PassageJudgement]:
        return [PassageJudgement(NotJudged("no"), {}) for _ in passages]

    assert deciding_words(refuse, passage("good Nimbry"), "tool") == ()


def test_a_word_without_which_nothing_can_be_judged_does_not_decide() -> None:
    def judge_whole(passages: Sequence[Passage]) -> list[PassageJudgement]:
        refused = PassageJudgement(NotJudged("no"), {})
        return [refused if "xxxx" in each.text else judge([each])[0] for each in passages]

    assert deciding_words(judge_whole, passage("good Nimbry"), "tool") == ()


def test_words_beside_a_name_decide_and_words_that_touch_it_do_not() -> None:
    def found(*names: Span) -> list[int]:
        text = "good bad good"
        of_tools = {f"tool-{number}": (name,) for number, name in enumerate(names)}
        return [each.start for each in deciding_words(judge, Passage(text, of_tools), "tool-0")]

    assert found(Span(4, 8)) == [0, 9]
    assert found(Span(4, 9)) == [0, 9]
    assert found(Span(5, 7)) == [0, 9]
    assert found(Span(7, 10)) == [0]
    assert found(Span(0, 4), Span(9, 13)) == [5]
    assert found(Span(3, 5)) == [5, 9]


def test_a_word_is_covered_so_that_all_places_stay() -> None:
    asked: list[str] = []

    def note(passages: Sequence[Passage]) -> list[PassageJudgement]:
        asked.extend(each.text for each in passages)
        return judge(passages)

    deciding_words(note, passage("A bad Nimbry"), "tool")
    assert asked == ["A bad Nimbry", "x bad Nimbry", "A xxx Nimbry"]


def test_the_effect_of_a_word_has_two_decimals() -> None:
    found = deciding_words(judge, passage("bad good Nimbry"), "tool")
    assert [each.effect for each in found] == [-1.98, 2.0]


def test_the_odds_of_a_judgement_are_even_if_it_is_neutral() -> None:
    assert odds_of(Judgement.of(0.2, 0.6, 0.2)) == 0.0
    assert odds_of(Judgement.of(0.0, 0.0, 1.0)) == pytest.approx(10.966, abs=0.001)
    assert odds_of(Judgement.of(0.2, 0.0, 0.8)) == pytest.approx(2.0, abs=0.01)
    assert odds_of(Judgement.of(0.8, 0.0, 0.2)) == pytest.approx(-2.0, abs=0.01)


def test_the_embedded_analyzer_can_be_asked() -> None:
    text = "Nimbry suffers a terrible outage"
    found = deciding_words(EmbeddedAnalyzer().judge, passage(text), "tool")
    assert {"terrible", "outage"} & {text[each.start : each.end] for each in found if each.effect < 0}
