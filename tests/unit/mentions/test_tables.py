"""The tables of the embedded analyzer read back as they were written."""

from __future__ import annotations

import pytest

from scripts.sentiment.learning import format_table
from services.mentions.analyzers.tables import Role, ToolTable, Word, WordTable, parse_tool_table, parse_word_table

TOOLS = ToolTable(
    "v",
    1.25,
    {"a.tsv": "0f", "b.tsv": "1e"},
    {"shuts down": ("shutdown",), "win": ("grow", "beat")},
    {"constant": (-0.5, 0.25), "w wins A": (0.0, 1.5), "< LEAVE": (0.75, -0.01)},
)
WORDS = WordTable(
    "1",
    {
        "bad": Word(-2.5, 0.0, -0.5, 0, (0.0, 0.25, 0.0)),
        "in the red": Word(market=-2.0),
        "in the": Word(1.0),
        "not": Word(roles=Role.NEGATOR | Role.BOOSTER),
        "\u2028odd": Word(),
    },
    {"constant": (0.0, 0.1, -0.05)},
)


def test_a_table_reads_back_as_it_was_written() -> None:
    assert parse_tool_table(format_table(TOOLS)) == TOOLS
    assert parse_word_table(format_table(WORDS)) == WORDS


def test_a_table_is_written_with_two_decimals_in_one_order() -> None:
    table = ToolTable("v", 1.0, {}, {}, {"b": (0.006, -0.004), "a": (1.0, 0.126)})
    text = format_table(table)
    assert parse_tool_table(text).weights == {"a": (1.0, 0.13), "b": (0.01, 0.0)}
    assert "-0.0" not in text
    assert format_table(parse_tool_table(text)) == text


def test_of_phrases_with_one_first_word_the_longest_comes_first() -> None:
    assert WORDS.phrases["in"] == (("the", "red"), ("the",))


@pytest.mark.parametrize("text", ["", "no table", "{}", '{"version": "v"}'])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        parse_tool_table(text)


def test_a_temperature_that_cannot_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        parse_tool_table(format_table(ToolTable("v", 0.0, {}, {}, {})))
