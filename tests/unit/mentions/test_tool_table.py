"""The table with which tools are judged reads back as it was written."""

from __future__ import annotations

import pytest

from services.mentions.analyzers.tool_table import ToolTable, format_tool_table, parse_tool_table

TABLE = ToolTable(
    "v",
    1.25,
    {"a.tsv": "0f", "b.tsv": "1e"},
    {"shuts down": ("shutdown",), "win": ("grow", "beat")},
    {"constant": (-0.5, 0.25), "w wins A": (0.0, 1.5), "w odd": (2.0, 0.0), "< LEAVE": (0.75, -0.01)},
)


def test_a_table_reads_back_as_it_was_written() -> None:
    text = format_tool_table(TABLE)
    assert parse_tool_table(text) == TABLE
    assert format_tool_table(parse_tool_table(text)) == text


def test_weights_below_half_a_hundredth_are_left_out() -> None:
    table = ToolTable("v", 1.0, {}, {}, {"w a": (0.004, -0.004), "w b": (0.006, 0.0)})
    assert parse_tool_table(format_tool_table(table)).weights == {"w b": (0.01, 0.0)}


@pytest.mark.parametrize("text", ["", "no table", " w a\tx", "!version\tv\n\tx", "!version\tv\n\n w a\t1"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a line|invalid literal"):
        parse_tool_table(text)


@pytest.mark.parametrize("temperature", ["0", "-1"])
def test_a_temperature_that_cannot_divide_is_refused(temperature: str) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        parse_tool_table(f"!temperature\t{temperature}")
