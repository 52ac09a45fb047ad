"""A name with the words of its sentence."""

from __future__ import annotations

import pytest

from services.tools.surroundings import BESIDE, MAX_CAPITALISED, MIN_FOREIGN, Surroundings


def of(text: str, name: str = "Go") -> Surroundings:
    start = text.index(name)
    return Surroundings.of(name, text, start, start + len(name))


def test_the_words_beside_a_name_are_those_of_its_sentence() -> None:
    place = of("It was late. We, too, like Go-based tools, e.g. this. And more")
    assert place.before == ("like", ",", "too", ",", "We")
    assert place.after[:3] == ("-", "based", "tools")
    assert "And" not in place.after
    assert (place.previous(), place.previous(2), place.previous(9)) == ("like", "too", "")
    assert (place.next(1), place.next(99)) == ("based", "")


def test_a_sentence_is_read_100_characters_before_and_after() -> None:
    assert BESIDE == 100
    assert of("x" * 99 + " Go").before == ("x" * 99,)
    assert of("x" * 100 + " Go").before == ("x" * 99,)
    assert of("Go " + "x" * 101).after == ("x" * 99,)


@pytest.mark.parametrize(
    ("text", "is_headline"),
    [
        ("Why They Rewrote Go Again", True),
        ("Why they rewrote Go Again", False),
        ("Rewrote Go again", False),
        ("We Like Tools, They like Go", True),
        ("A One Alpha, Gamma, delta Go", False),
        ("A One Alpha, Gamma, Delta, epsilon Go", True),
    ],
)
def test_headline_case_is_seven_of_ten_words_capitalised(text: str, is_headline: bool) -> None:
    assert MAX_CAPITALISED == 0.7
    assert of(text).is_headline_case == is_headline


def test_two_small_words_of_another_language_make_a_sentence_foreign() -> None:
    assert MIN_FOREIGN == 2
    assert of("Der Browser Go ist Neu").is_foreign
    assert not of("Der Browser Go hat Neues").is_foreign
    assert not of("Der Browser Go ist Neu").is_headline_case, "German capitalises nouns"
    assert of("Der Browser Go hat Neues").is_headline_case
    assert not of("用 Browser Go Neues").is_headline_case


def test_a_plain_capital_is_within_a_sentence_in_lower_case() -> None:
    assert of("they rewrote Go again").is_plain_capital
    assert not of("they rewrote go again", "go").is_plain_capital
    assert not of("Go again").is_plain_capital
    assert not of("They Rewrote Go Again").is_plain_capital
    assert not of("REWROTE Go AGAIN").is_plain_capital
