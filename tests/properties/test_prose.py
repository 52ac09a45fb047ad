"""Whatever a text is made of: its prose has its length, and every character of the prose is where it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from models.values import UNKNOWN_LANGUAGE
from services.mentions.prose import headline_prose, text_prose
from services.parse.language import choose, evidence_of, primary_subtag

PARTS = [
    "Slack is fast. ",
    "GitHub",
    " - ",
    " | ",
    ": ",
    "TechCrunch",
    "The Verge",
    "By Jane Doe",
    ", Reuters - ",
    "BERLIN (AP) \u2014 ",
    "Read more",
    "[\u2026] ",
    "The post X appeared first on Y.",
    "Share on Facebook ",
    "Follow us on X. ",
    "Sign up for our newsletter. ",
    "submitted by /u/x [link] [comments]",
    "```",
    " x = {a: [1]}; ",
    'Traceback (most recent call last): File "a.py", line 3, in run ',
    "ValueError: no ",
    "at a.b.C(C.java:3) ",
    "goroutine 1 [running]: ",
    "/a.go:3 ",
    "Image: Jane / Getty Images ",
    "\u00a9 2026 Slack. ",
    " ",
    "\n",
    "新機能",
]
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(max_size=8), max_size=12).map("".join)


def is_blanked(before: str, after: str) -> bool:
    return len(before) == len(after) and all(new in (old, " ") for old, new in zip(before, after, strict=True))


@given(TEXTS)
def test_a_place_in_the_prose_of_a_text_is_the_same_place_in_the_text(text: str) -> None:
    assert is_blanked(text, text_prose(text))


@given(TEXTS, st.lists(TEXTS | st.none(), max_size=2), TEXTS, TEXTS)
def test_a_place_in_the_prose_of_a_headline_is_the_same_place_in_the_headline(
    headline: str, publishers: list[str | None], url: str, normalized: str
) -> None:
    prose = headline_prose(headline, publishers, url, normalized)
    assert is_blanked(headline, prose)
    assert any(map(str.isalnum, prose)) == any(map(str.isalnum, headline)), "something of a headline is left"


@given(TEXTS, TEXTS, st.sampled_from(["", "en", "de", "ja", "xx"]), st.dictionaries(st.sampled_from("ab"), st.just(3)))
def test_a_language_is_a_primary_subtag_or_unknown(
    headline: str, text: str, declared: str, counts: dict[str, int]
) -> None:
    history = {"de" if each == "a" else "en": count for each, count in counts.items()}
    language = choose(evidence_of(headline, text), declared, history)
    assert language == UNKNOWN_LANGUAGE or primary_subtag(language) == language
