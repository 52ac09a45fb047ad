"""Texts become words with clauses; names of tools are never read."""

from __future__ import annotations

import pytest

from services.mentions.analyzers.tokens import NAME, Tokens, phrases_of, read_tokens
from services.tools.matching import Span


def read(text: str, *names: str, phrases: tuple[str, ...] = ()) -> Tokens:
    found = {name: (Span(text.index(name), text.index(name) + len(name)),) for name in names}
    return read_tokens(text, found, phrases_of(phrases))


def test_a_name_is_one_token_whatever_its_characters() -> None:
    tokens = read("Best Buy beats C++ again", "Best Buy", "C++")
    assert tokens.words == [NAME, "beats", NAME, "again"]
    assert tokens.names == {0: {"Best Buy"}, 2: {"C++"}}


def test_overlapping_names_are_one_token_with_all_their_tools() -> None:
    tokens = read("The GitHub Copilot plan", "GitHub", "GitHub Copilot")
    assert tokens.words == ["the", NAME, "plan"]
    assert tokens.names == {1: {"GitHub", "GitHub Copilot"}}


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_the_possessive_of_a_name_is_a_word(apostrophe: str) -> None:
    assert read(f"Slack{apostrophe}s price", "Slack").words == [NAME, "'s", "price"]


@pytest.mark.parametrize(
    ("number", "word"),
    [
        ("$10M", "<money>"),
        ("40%", "<percent>"),
        ("2024", "<year>"),
        ("3x", "<times>"),
        ("3.11", "<version>"),
        ("12", "<number>"),
    ],
)
def test_numbers_stand_for_their_kind(number: str, word: str) -> None:
    assert read(f"about {number} more").words == ["about", word, "more"]


def test_clauses_end_at_signs_and_connecting_words() -> None:
    tokens = read("up, down while flat - gone")
    assert tokens.words == ["up", "down", "while", "flat", "gone"]
    assert tokens.clauses == [0, 1, 2, 2, 3]
    assert tokens.connectors == [None, ",", "while", "-"]


def test_the_longest_phrase_is_one_word() -> None:
    tokens = read("shut down for good", phrases=("shut down", "shut down for", "shut up"))
    assert tokens.words == ["shut down for", "good"]


def test_a_character_that_stands_for_names_is_no_name() -> None:
    tokens = read("The \ue000 and \uf8ff of Foo \ue001", "Foo")
    assert tokens.words == ["the", "and", "of", NAME]
    assert tokens.names == {3: {"Foo"}}
