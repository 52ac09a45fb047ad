"""What people enter for a correction is checked; an error names the field and what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from models.errors import InvalidInput
from services.mentions.correction_form import NewCorrectionBody

GOOD = {"article": "dedup:1", "verdict": "right", "author": "Ada"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"author": "Ada"}, "article: one of article, source, phrase is needed"),
        ({**GOOD, "source": "b"}, "article: one of article, source, phrase is needed, and no other of them"),
        ({**GOOD, "article": " "}, "article: must be text of 1 to 2,000"),
        ({**GOOD, "verdict": None}, "verdict: must be one of right, not_this_tool, positive, negative, neutral with"),
        ({**GOOD, "verdict": "mute"}, "verdict: must be one of right"),
        ({"source": "a", "verdict": "exclude", "author": "A"}, "verdict: must be one of mute with source"),
        ({"source": "a b", "author": "A"}, "source: must be 1 to 64 letters"),
        ({"phrase": "", "author": "A"}, "phrase: must be text of 1 to 120"),
        ({**GOOD, "author": None}, "author: must be text of 1 to 100 characters"),
    ],
)
def test_an_error_names_the_field_and_what_is_allowed(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        NewCorrectionBody.checked(fields)
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({"source": "a", "author": " Ada "}, ("SOURCE", "a", "mute", "Ada", None)),
        (
            {"phrase": "Big  Q", "author": "Ada", "reason": " a place "},
            ("PHRASE", "Big Q", "exclude", "Ada", "a place"),
        ),
        (GOOD, ("MENTION", "dedup:1", "right", "Ada", None)),
    ],
)
def test_a_form_is_read_with_its_one_verdict_and_without_the_space_around_it(
    fields: dict[str, Any], read: tuple[str | None, ...]
) -> None:
    made = NewCorrectionBody.checked(fields)
    assert (made.subject, made.named, made.chosen_verdict, made.author, made.reason) == read
