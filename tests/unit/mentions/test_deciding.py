"""A word decided if the analyzer is less sure, or says something else of the tool, without it."""

from collections.abc import Sequence

import pytest

from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.mentions.analyzers.port import Judgement, NotJudged, Passage, PassageJudgement
from services.mentions.deciding import LEAST_EFFECT, MOST_SHOWN, MOST_WORDS, deciding_words, odds_of
from services.tools.matching import Span

DOUBLINGS = {"good": 2.0, "bad": -2.0, "fine": 1.0, "rather": 0.5, "Nimbry": 3.0}


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


def words(text: str) -> list[tuple[str, int]]:
    return [(text[each.start : each.end], round(each.effect)) for each in deciding_words(judge, passage(text), "tool")]


def test_words_that_move_the_odds_are_found_in_their_order() -> None:
    assert words("A bad day for Nimbry, good news later") == [("bad", -2), ("good", 2)]


def test_words_that_say_the_same_all_decide_though_none_is_needed() -> None:
    assert words("good good Nimbry") == [("good", 2), ("good", 2)]


def test_the_name_of_a_tool_and_words_of_little_effect_do_not_decide() -> None:
    assert DOUBLINGS["rather"] < LEAST_EFFECT
    assert words("Nimbry is rather quick") == []


def test_the_words_with_the_largest_effects_are_shown() -> None:
    found = words("Nimbry " + "good bad " * MOST_SHOWN)
    assert len(found) == MOST_SHOWN


def test_a_long_passage_is_looked_at_as_far_as_its_first_words() -> None:
    assert words("Nimbry " + "so " * MOST_WORDS + "good") == []
    assert words("Nimbry " + "so " * (MOST_WORDS - 1) + "good") == [("good", 2)]


def test_a_passage_that_cannot_be_judged_has_no_deciding_words() -> None:
    def refuse(passages: Sequence[Passage]) -> list[PassageJudgement]:
        return [PassageJudgement(NotJudged("no"), {}) for _ in passages]

    assert deciding_words(refuse, passage("good Nimbry"), "tool") == ()


def test_the_odds_of_a_judgement_are_even_if_it_is_neutral() -> None:
    assert odds_of(Judgement.of(0.2, 0.6, 0.2)) == 0.0
    assert odds_of(Judgement.of(0.2, 0.0, 0.8)) == pytest.approx(2.0, abs=0.01)
    assert odds_of(Judgement.of(0.8, 0.0, 0.2)) == pytest.approx(-2.0, abs=0.01)


def test_the_embedded_analyzer_can_be_asked() -> None:
    text = "Nimbry suffers a terrible outage"
    found = deciding_words(EmbeddedAnalyzer().judge, passage(text), "tool")
    assert {"terrible", "outage"} & {text[each.start : each.end] for each in found if each.effect < 0}
