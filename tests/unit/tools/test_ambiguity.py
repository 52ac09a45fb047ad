"""When a name that is also something else counts as the name."""

from __future__ import annotations

import pytest

from models.tool import NameRule, normalize_name
from services.tools.ambiguity import (
    BASIS,
    ENOUGH,
    MONEY_NEAR,
    OWN_WORD,
    OWN_WORD_WEIGHT,
    WEIGHTS,
    MatchRule,
    Meaning,
    is_near,
    match_rule,
    meaning,
    ticker_meaning,
    weigh,
)
from services.tools.cues import NEAR
from services.tools.lexicon import sense_of
from services.tools.matching import Phrase, normalize

OWN = ("golang",)
IN_ANY_CASE = MatchRule()
AS_WRITTEN = MatchRule(case_sensitive=True)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("Kubernetes", IN_ANY_CASE),
        ("C++", IN_ANY_CASE),
        ("42", IN_ANY_CASE),
        ("HP", AS_WRITTEN),
        ("Apple", MatchRule(context=OWN, sense=sense_of("apple"))),
        ("R", MatchRule(True, OWN, sense_of("r"))),
        ("r", MatchRule(False, OWN, sense_of("r"))),
        ("Go", MatchRule(context=OWN, sense=sense_of("go"))),
        ("make", MatchRule(context=OWN, sense=sense_of("make"))),
    ],
)
def test_the_rule_of_a_name_follows_from_the_lists_and_its_case(name: str, rule: MatchRule) -> None:
    assert match_rule(name, None, OWN) == rule


def test_a_rule_of_the_tool_replaces_the_lists() -> None:
    assert match_rule("Rust", NameRule(), OWN) == MatchRule()
    assert match_rule("Rust", NameRule(case_sensitive=True), OWN) == AS_WRITTEN
    given = NameRule(case_sensitive=True, context=("game",))
    assert match_rule("Kubernetes", given, OWN) == MatchRule(True, ("game",))


def decided(name: str, text: str, rule: MatchRule | None = None) -> list[bool]:
    article = normalize(text)
    found = Phrase.of(normalize_name(name)).occurrences(article.text)
    return [meaning(name, rule or match_rule(name, None, ()), article, *span).is_meant for span in found]


def test_the_weights_of_the_cues_decide() -> None:
    weight = weigh(("version after", "no such cue"))
    assert weight == pytest.approx(WEIGHTS[BASIS] + WEIGHTS["version after"])
    article = normalize("We rewrote it in Go")
    is_meant, cues = meaning("Go", match_rule("Go", None, ()), article, 17, 19)
    assert is_meant == (weigh(cues) > ENOUGH)
    assert {"often a word: capital within the sentence", "made or run maybe with it"} <= set(cues)


def test_words_of_the_tool_speak_for_its_name() -> None:
    text = normalize("go, or golang")
    plain, own = match_rule("Go", None, ()), match_rule("Go", None, OWN)
    without, with_own = (meaning("Go", rule, text, 0, 2) for rule in (plain, own))
    assert with_own.cues == (*without.cues, OWN_WORD)
    assert not without.is_meant
    assert OWN_WORD_WEIGHT == 2.0
    assert with_own.is_meant == (weigh(without.cues) + OWN_WORD_WEIGHT > ENOUGH)


def test_a_rule_of_the_tool_decides_alone() -> None:
    assert decided("Go", "Go to the GitHub page", MatchRule()) == [True]
    assert decided("Go", "Written in go", AS_WRITTEN) == [False]
    assert decided("Go", "Written in Go", MatchRule(True, ("gopher",))) == [False]
    assert decided("Go", "Go to the gopher", MatchRule(True, ("gopher",))) == [True]
    article = normalize("Go to the gopher")
    assert meaning("Go", MatchRule(True, ("gopher",)), article, 0, 2) == Meaning(True, ("word of the rule near",))
    assert meaning("GO", AS_WRITTEN, article, 0, 2) == Meaning(False, ("written differently",))


@pytest.mark.parametrize(
    ("rule", "is_strict"),
    [
        (match_rule("Next", None, ()), True),
        (match_rule("R", None, ()), True),
        (match_rule("Rust", None, ()), False),
        (match_rule("Python", None, ()), False),
        (AS_WRITTEN, False),
        (MatchRule(True, ("game",)), True),
        (MatchRule(False, ("game",)), False),
    ],
)
def test_a_tag_that_is_often_a_word_must_be_written_as_the_name(rule: MatchRule, is_strict: bool) -> None:
    assert rule.is_strict_in_tags == is_strict


@pytest.mark.parametrize(
    ("ticker", "text", "is_finance", "meant"),
    [
        ("AAPL", "AAPL rises 3 %", False, True),
        ("NVDA", "Nvidia (NVDA) unveils chips", False, True),
        ("AAPL", "aapl rises", False, False),
        ("IT", "IT shares rise and IT stock falls, 3% up", False, True),
        ("IT", "IT departments adopt it", True, False),
        ("SNOW", "Is SNOW a buy?", False, False),
        ("SNOW", "Is SNOW a buy after earnings?", False, True),
        ("CRM", "Is CRM a buy after earnings?", False, False),
        ("SNOW", "Is SNOW a buy?", True, True),
        ("SNOW", "Snowflake (SNOW) beats estimates", False, True),
        ("SNOW", "SNOW up 5% after earnings", False, True),
        ("SNOW", "SNOW SHARES RISE", True, False),
        ("SNOW", "Buy SNOW shares", False, True),
        ("SNOW", f"Is SNOW {'x' * (MONEY_NEAR - 9)} stock", True, True),
        ("SNOW", f"Is SNOW {'x' * (MONEY_NEAR - 2)} stock", True, False),
    ],
)
def test_a_bare_ticker_counts_in_capitals_and_a_word_only_among_words_about_shares(
    ticker: str, text: str, is_finance: bool, meant: bool
) -> None:
    article = normalize(text)
    start, end = next(Phrase.of(ticker.lower()).occurrences(article.text))
    assert ticker_meaning(ticker, article, start, end, is_finance=is_finance).is_meant == meant


@pytest.mark.parametrize("gap", [1, NEAR - 9, NEAR - 8, NEAR - 7])
def test_a_context_word_counts_within_200_characters_on_either_side(gap: int) -> None:
    assert NEAR == 200
    behind, before = "go" + "." * gap + "compiler", "compiler" + "." * gap + "go"
    assert is_near(("compiler",), behind, 0, 2) == (gap <= NEAR - 8)
    assert is_near(("compiler",), before, len(before) - 2, len(before)) == (gap <= NEAR - 8)
