"""Where sentences end, and which of them name a tool."""

import pytest

from services.mentions.scoring import sentences_naming, split_sentences
from services.tools.matching import Span
from tests.steps import growth


def parts(text: str, *whole: str) -> list[str]:
    spans = [Span(text.index(name), text.index(name) + len(name)) for name in whole]
    return [text[start:end] for start, end in split_sentences(text, spans)]


def test_a_sentence_ends_at_a_stop_before_space() -> None:
    assert parts("It works. It fails! Why? Who knows…  ") == ["It works.", "It fails!", "Why?", "Who knows…"]


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Smith uses it",
        "Acme Inc. Released it",
        "Prof. Smith uses it",
        "The U.S. Army uses it",
        "It is fast, e.g. on Linux",
        "Node.js 22.1 is out",
        "It grew 3.5 per cent",
        "The J. Geils build is broken",
    ],
)
def test_a_stop_within_a_sentence_does_not_end_it(text: str) -> None:
    assert parts(text) == [text]


def test_a_name_with_a_stop_in_it_is_never_cut() -> None:
    text = "We love Who! Where it counts. It is slow."
    assert parts(text, "Who! Where") == ["We love Who! Where it counts.", "It is slow."]


@pytest.mark.parametrize("text", ["", "  \n ", "...", "!?"])
def test_nothing_much_is_at_most_one_sentence(text: str) -> None:
    assert len(parts(text)) <= 1


def test_only_the_sentences_in_which_a_name_begins_name_it() -> None:
    text = "Alpha is fast. Beta is slow. Alpha wins."
    sentences = split_sentences(text)
    spans = [Span(0, 5), Span(text.rindex("Alpha"), text.rindex("Alpha") + 5)]
    assert [text[start:end] for start, end in sentences_naming(sentences, spans)] == ["Alpha is fast.", "Alpha wins."]


@pytest.mark.parametrize("unit", [".", "\n", "\n ", 'a."', ". a"])
def test_hostile_texts_take_steps_in_proportion_to_their_length(unit: str) -> None:
    assert growth(lambda size: split_sentences(unit * size + "x"), 1000) < 2.2
    split_sentences(unit * 300_000 + "x")  # no expression is quadratic: see steps.py


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The firm grew... And fell", 2),
        ("The firm grew. and fell", 1),
        ("The end.", 1),
        ("Made by J. Smith", 1),
        ("Made by them. Sold", 2),
        ("Is it? yes", 2),
        ("a.b. C", 1),
        ("A price of 3.5", 1),
        ("One\nTwo", 1),
        ("One\n \nTwo", 2),
        ("One\n* Two\n• Three", 3),
        ('He wrote "no." then left', 1),
        ('He wrote "no." Then he left', 2),
    ],
)
def test_where_a_sentence_ends(text: str, count: int) -> None:
    assert len(parts(text)) == count


def test_a_stop_at_the_end_of_a_name_ends_the_sentence() -> None:
    assert parts("We use Yahoo! It works.", "Yahoo!") == ["We use Yahoo!", "It works."]
