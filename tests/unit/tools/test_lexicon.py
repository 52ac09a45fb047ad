"""What the shipped lists say of names."""

from __future__ import annotations

from typing import Any

import pytest

from models.tool import normalize_name
from services.tools.lexicon import ACRONYMS, CUES, KNOWN, is_common_word, is_listed, sense_of


def known(name: str) -> Any:
    """The sense of a name in a list."""
    return sense_of(name)


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("kafka", "seldom"),
        ("slack", "capital"),
        ("next", "word"),
        ("r", "letter"),
        ("gopher", "word"),
        ("taylor", "capital"),
    ],
)
def test_a_name_is_in_the_group_of_its_list(name: str, group: str) -> None:
    assert known(name).group == group


@pytest.mark.parametrize("name", ["kubernetes", "quorvia", "7", "hp"])
def test_a_name_in_no_list_is_nothing_else(name: str) -> None:
    assert sense_of(name) is None


def test_a_sense_knows_languages_persons_phrases_and_commands() -> None:
    go, swift, julia, mercury = (known(name) for name in ("go", "swift", "julia", "mercury"))
    assert go.is_language
    assert go.commands >= {"build", "test"}
    assert go.other_phrases.search("on the go")
    assert go.other_phrases.search("touch-and-go")
    assert not go.other_phrases.search("upon the going")
    assert (swift.is_surname, swift.is_given_name) == (True, False)
    assert julia.is_given_name
    assert mercury.other_topics.search("in retrograde")
    assert known("q").is_language


def test_the_phrases_of_a_name_stand_in_several_lines() -> None:
    assert known("phoenix").other_phrases.search("a phoenix from the ashes")


def test_common_words_are_looked_up_apart() -> None:
    assert is_common_word("next")
    assert is_common_word("gopher")
    assert not is_common_word("kafka")
    assert is_listed("kafka")
    assert is_listed("r")
    assert not is_listed("gopher")


def test_the_lists_are_written_as_names_are_normalized() -> None:
    for words in (KNOWN, *(CUES[cue] for cue in CUES if cue != "another acronym")):
        assert [word for word in words if word != normalize_name(word)] == []
    assert all(word.isupper() for word in ACRONYMS | CUES["another acronym"])
