"""The file format of the embedded analyzer's table: what each line means, and which line a word gets."""

from __future__ import annotations

from services.mentions.analyzers.table import (
    BETTER_WHEN_MORE,
    BOOSTER,
    CONTRAST,
    DAMPENER,
    DOWN,
    FIRST_PERSON,
    MODAL,
    NEGATOR,
    SECOND_PERSON,
    SHIPPED,
    UP,
    WORSE_WHEN_MORE,
    Word,
    format_table,
    make_table,
    parse_table,
    unpacked,
)

LINES = """\
!version\t1-abc
=constant\t\t10\t-5
bad\t-250\t\t-50\t\t\t25
!\t100
good\t190
in the red\t\t-200
not\t\t\t\t1
"""


def test_each_line_is_a_word_a_signal_or_the_version() -> None:
    table = parse_table(LINES)
    assert table.version == "1-abc"
    assert table.signals == {"constant": (0.0, 0.1, -0.05)}
    assert table.words == {
        "bad": Word(-2.5, 0.0, -0.5, 0, (0.0, 0.25, 0.0)),
        "!": Word(general=1.0),
        "good": Word(general=1.9),
        "in the red": Word(market=-2.0),
        "not": Word(roles=NEGATOR),
    }
    assert table.phrases == {"in": ((("the", "red"), Word(market=-2.0)),)}


def test_what_a_line_leaves_out_is_zero_or_nothing() -> None:
    table = parse_table("=silent\nbad\t-250\t\t\t\t25\nplain\n")
    assert table.version == ""
    assert table.signals == {"silent": (0.0, 0.0, 0.0)}
    assert table.words == {"bad": Word(-2.5, weights=(0.25, 0.0, 0.0)), "plain": Word()}


def test_a_word_without_values_is_written_as_it_is() -> None:
    assert format_table("1", {"X": Word()}, {}) == "!version\t1\nX\n"


def test_a_table_is_written_in_whole_hundredths_sorted_by_code_points() -> None:
    entries = {"b": Word(1.234, -0.5), "B": Word(product=2.0, roles=3), "a": Word(weights=(0.004, -1.0, 0.125))}
    signals = {"z": (0.0, 1.0, 0.0), "c": (-0.01, 0.0, 0.0)}
    assert format_table("v", entries, signals) == (
        "!version\tv\n=c\t-1\t\t\n=z\t\t100\t\nB\t\t\t200\t3\na\t\t\t\t\t\t-100\t12\nb\t123\t-50\n"
    )


def test_of_phrases_with_one_first_word_the_longest_comes_first() -> None:
    known = {"in": Word(1), "in the": Word(2), "in the red": Word(3), "in red": Word(4)}
    table = make_table("v", known, {})
    assert [rest for rest, _ in table.phrases["in"]] == [("the", "red"), ("the",), ("red",)]
    assert table.words == known


def test_the_roles_are_the_bits_of_the_shipped_table() -> None:
    roles = (NEGATOR, BOOSTER, DAMPENER, CONTRAST, UP, DOWN, BETTER_WHEN_MORE, WORSE_WHEN_MORE)
    assert (*roles, FIRST_PERSON, SECOND_PERSON, MODAL) == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    words = parse_table(unpacked(SHIPPED)).words
    assert words["not"].roles & NEGATOR
    assert words["surge"].roles & UP
    assert words["debt"].roles & WORSE_WHEN_MORE
