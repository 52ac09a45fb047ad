"""What headlines and leads are compared by."""

from __future__ import annotations

import pytest

from services.stories.terms import terms_of, weight, words_in


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("$36 billion", "$36bn"),
        ("15 percent", "15%"),
        ("40K users", "40,000 users"),
        ("40 thousand users", "40,000 users"),
        ("1,200,000 users", "1.2 million users"),
        ("1500 million", "1.5bn"),
        ("stopped", "stops"),
        ("companies", "company"),
        ("acquires", "takeover"),
        ("sues", "lawsuit"),
        ("launching", "unveils"),
        ("killed", "deaths"),
        ("Ukrainian", "Kyiv"),
        ("the says", ""),
    ],
)
def test_words_that_mean_the_same_are_one_term(one: str, other: str) -> None:
    assert terms_of(words_in(one)) == terms_of(words_in(other))


@pytest.mark.parametrize(
    ("term", "says"),
    [("quux", 4.5), ("36b", 5.0), ("4400", 2.0), ("7", 0.5), ("2026", 0.5)],
)
def test_what_a_term_says(term: str, says: float) -> None:
    assert weight(term) == says
