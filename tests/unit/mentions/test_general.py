"""Which features of a text say what it says in general, with a small table, and how features become a judgement."""

from __future__ import annotations

import math

import pytest

from services.mentions.analyzers.general import judge, read_features
from services.mentions.analyzers.port import Judgement
from services.mentions.analyzers.tables import Role, Word, WordTable

TABLE = WordTable(
    "test",
    {
        "good": Word(general=2.0),
        "bad": Word(general=-2.0),
        "bullish": Word(market=1.0),
        "stable": Word(product=1.0),
        "up": Word(roles=Role.UP),
        "down": Word(roles=Role.DOWN),
        "surge": Word(market=1.0, roles=Role.UP),
        "profit": Word(market=0.5, roles=Role.BETTER_WHEN_MORE),
        "debt": Word(market=-0.5, roles=Role.WORSE_WHEN_MORE),
        "not": Word(roles=Role.NEGATOR),
        "very": Word(roles=Role.BOOSTER),
        "slightly": Word(roles=Role.DAMPENER),
        "but": Word(roles=Role.CONTRAST),
        "i": Word(roles=Role.FIRST_PERSON),
        "you": Word(roles=Role.SECOND_PERSON),
        "should": Word(roles=Role.MODAL),
        "in the red": Word(market=-1.0),
        "in the": Word(product=-1.0),
        "🚀": Word(general=1.5),
        "💀": Word(general=-1.5),
        "🙂": Word(general=0.5),
        "🙁": Word(general=-0.5),
        "📈": Word(market=1.0),
        "alas": Word(general=-1.0, roles=Role.CONTRAST),
        "growth": Word(market=0.5, roles=Role.UP | Role.BETTER_WHEN_MORE),
    },
    {},
)


def squeezed(value: float) -> float:
    return value / math.sqrt(value**2 + 15)


def figures(text: str) -> dict[str, float]:
    return read_features(text, TABLE).figures


def sums(text: str) -> dict[str, float]:
    """The sums of valences, without the factor and the squeeze."""
    found = {name: value / 2 for name, value in figures(text).items() if name[-1] in "+-" or name.endswith(" negated")}
    return {name: round(math.sqrt(15 * value**2 / (1 - value**2)), 6) for name, value in found.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a table", {}),
        ("good", {"general+": 2.0}),
        ("bad bad", {"general-": 4.0}),
        ("bullish and stable", {"market+": 1.0, "product+": 1.0}),
        ("very good", {"general+": 2.6}),
        ("very, very a good", {"general+": 2.0}),
        ("good-stable", {"general+": 2.0, "product+": 1.0}),
        ("un-good", {"general+": 2.0}),
        ("we are in the red", {"market-": 1.0}),
        ("`good` ```bad", {}),
        ("$good @good good@bad.com www.good.com https://good.com/bad", {}),
    ],
)
def test_valences_are_summed_by_word_list_and_sign(text: str, expected: dict[str, float]) -> None:
    assert sums(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("not good", True),
        ("not a b good", True),
        ("not a b c good", False),
        ("not, good", True),
        ("not. good", False),
        ("good not", False),
        ("wouldn't good", True),
    ],
)
def test_a_negation_reaches_three_words_of_its_clause(text: str, negated: bool) -> None:
    assert sums(text) == pytest.approx({"general+ negated" if negated else "general+": 2.0})
    effect = 2.0 * (-0.6 if negated else 1.0)
    assert figures(text)["total"] == pytest.approx(3 * squeezed(effect))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("profit up", {"market+": 1.5}),
        ("debt up", {"market-": 1.5}),
        ("surge", {"market+": 1.0}),
        ("up", {}),
        ("profit a b c up", {"market+": 1.5}),
        ("profit a b c d up", {"market+": 0.5}),
        ("up a b profit", {"market+": 1.5}),
        ("up a b c profit", {"market+": 0.5}),
        ("profit. up", {"market+": 0.5}),
        ("debt up profit", {"market-": 1.5, "market+": 0.5}),
        ("profit up down", {"market+": 1.5}),
        ("not profit up", {"market+ negated": 1.5}),
        ("growth", {"market+": 0.5}),
    ],
)
def test_a_direction_takes_its_sign_from_the_nearest_object_of_its_clause(
    text: str, expected: dict[str, float]
) -> None:
    assert sums(text) == pytest.approx(expected)


def test_what_follows_the_last_contrast_counts_for_more() -> None:
    assert sums("good but bad") == pytest.approx({"general+": 1.0, "general-": 3.0})
    assert sums("but good") == pytest.approx({"general+": 3.0})
    assert sums("alas") == pytest.approx({"general-": 1.5})
    assert sums("bad but good but bad") == pytest.approx({"general-": 1.0 + 3.0, "general+": 1.0})


def test_figures_of_the_whole_text() -> None:
    found = figures("Good but bad")
    total = 3 * squeezed(1.0 - 3.0)
    assert found["total"] == pytest.approx(total)
    assert found["strength"] == pytest.approx(-total)
    assert (found["first"], found["last"], found["silent"]) == (1, -1, 0.0)
    assert found["length"] == pytest.approx(math.log1p(3) / 2)
    assert found["capitals"] == pytest.approx(1 / 4)
    assert "asked" not in found
    assert [figures(text)["last"] for text in ("slightly bullish", "slightly in the red")] == [1, -1]
    assert figures("a `x` b")["length"] == pytest.approx(math.log1p(2) / 2)
    assert figures("bad?")["asked"] == figures("bad")["total"]


def test_the_words_are_those_of_the_text_with_phrases_as_one() -> None:
    assert read_features("We're in the red, not e-mail 5!", TABLE).words == ["we're", "in the red", "not", "e-mail"]


def test_the_judgement_follows_from_the_weights_of_features_and_of_each_different_word() -> None:
    table = WordTable(
        "test",
        {"fine": Word(weights=(0.0, 0.0, 1.0)), "good": Word(general=2.0)},
        {"constant": (0.5, 0.25, 0.0), "exclamations": (0.0, 0.0, 2.0), "strength": (0.0, 0.0, 0.0)},
    )
    # positive: 1.0 once for "fine", 0.5 * 2.0 for the exclamation
    odds = math.exp(0.5), math.exp(0.25), math.exp(2.0)
    expected = Judgement("positive", round(odds[2] / sum(odds), 4), round((odds[2] - odds[0]) / sum(odds), 4))
    assert judge("fine, fine!", table) == expected
    assert judge("", table).sentiment == "negative"
