"""What people enter for a correction is checked; an error names the field and what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from models.errors import InvalidInput
from services.mentions.correction_form import (
    FIELDS,
    LONGEST_ARTICLE_ID,
    LONGEST_AUTHOR,
    LONGEST_REASON,
    STATES,
    UNDO_FIELDS,
    NewCorrection,
    Signed,
    new_correction,
    signed,
)

GOOD = {"article": "dedup:1", "verdict": "right", "author": "Ada"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "article: one of article, source, phrase is needed"),
        ({**GOOD, "source": "b"}, "article: one of article, source, phrase is needed, and no other of them"),
        ({**GOOD, "article": " "}, "article: must be the id of an article"),
        ({**GOOD, "article": 7}, "article: must be the id of an article"),
        ({**GOOD, "verdict": None}, "verdict: must be one of right, not_this_tool, positive, negative, neutral with"),
        ({**GOOD, "verdict": "mute"}, "verdict: must be one of right"),
        ({"source": "a", "verdict": "exclude", "author": "A"}, "verdict: must be one of mute with source"),
        ({"phrase": "a", "verdict": "mute", "author": "A"}, "verdict: must be one of exclude with phrase"),
        ({"source": "a b", "author": "A"}, "source: must be the id of a feed"),
        ({"phrase": "", "author": "A"}, "phrase: must be text of 1 to 120"),
        ({**GOOD, "author": None}, "author: is needed: the name of the person, 1 to 100 characters in one line"),
        ({**GOOD, "author": "A" * 101}, "author: is needed"),
        ({**GOOD, "author": "A\nB"}, "author: is needed"),
        ({**GOOD, "author": "\u200b"}, "author: must not contain invisible characters such as U+200B"),
        ({**GOOD, "author": "A\u2028B"}, "author: must not contain invisible characters such as U+2028"),
        ({**GOOD, "reason": " "}, "reason: text of 1 to 1,000 characters"),
        ({**GOOD, "reason": "x" * 1001}, "reason: text of 1 to 1,000 characters"),
        ({**GOOD, "reason": "a\x00b"}, "reason: text of 1 to 1,000 characters"),
        ({**GOOD, "reason": 7}, "reason: text of 1 to 1,000 characters"),
    ],
)
def test_an_error_names_the_field_and_what_is_allowed(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        new_correction(fields)
    assert str(refused.value).startswith(words)


def test_the_limits_are_allowed() -> None:
    assert signed({"author": "A" * LONGEST_AUTHOR, "reason": "x\n" * (LONGEST_REASON // 2 - 1) + "xx"})
    assert (LONGEST_AUTHOR, LONGEST_REASON, LONGEST_ARTICLE_ID) == (100, 1000, 2000)
    longest = "x" * LONGEST_ARTICLE_ID
    assert new_correction({**GOOD, "article": longest}).named == longest
    with pytest.raises(InvalidInput, match="article"):
        new_correction({**GOOD, "article": longest + "x"})


def test_the_fields_and_states_are_those_of_the_api() -> None:
    assert FIELDS == ("article", "source", "phrase", "verdict", "reason", "author")
    assert UNDO_FIELDS == ("reason", "author")
    assert STATES == ("active", "outdated", "undone")


def test_a_form_is_read_with_its_one_verdict_and_without_the_space_around_it() -> None:
    assert new_correction({"source": "a", "author": " Ada "}) == NewCorrection("SOURCE", "a", "mute", Signed("Ada"))
    made = new_correction({"phrase": "Big  Quorvia", "author": "Ada", "reason": " a place "})
    assert made == NewCorrection("PHRASE", "Big Quorvia", "exclude", Signed("Ada", "a place"))
    assert new_correction(GOOD) == NewCorrection("MENTION", "dedup:1", "right", Signed("Ada"))
