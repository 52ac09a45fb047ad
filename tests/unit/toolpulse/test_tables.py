"""Values as text: tables that fit, CSV, sparklines."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from toolpulse.tables import aligned, as_csv, cell, printable, sparkline

ROWS: list[dict[str, Any]] = [
    {"name": "Hexwharf", "count": 12, "about": "x" * 60, "metrics": {"new": 1}},
    {"name": "Go", "count": None, "about": "", "metrics": None},
]


def test_columns_are_aligned_numbers_to_the_right() -> None:
    assert aligned(ROWS, ["name", "count", "metrics.new"]) == [
        "name      count  new",
        "--------  -----  ---",
        "Hexwharf     12    1",
        "Go",
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_a_table_fits_the_terminal_and_keeps_its_first_column(width: int) -> None:
    lines = aligned(ROWS, ["name", "count", "about", "name"], width)
    assert max(map(len, lines)) <= width
    assert [line.split()[0] for line in lines] == ["name", "-" * 8, "Hexwharf", "Go"]
    assert ("…" in lines[2]) == (width >= 40), "the widest column is cut before one is left out"


def test_one_column_that_is_too_wide_is_cut() -> None:
    assert aligned([{"a": "abcdef"}], ["a"], 4) == ["a", "----", "abc…"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (True, "yes"), (False, "no"), (0.25, "0.25"), (0.0, "0"), (1234.5, "1,234.50"), (7, "7"),
        (["a", 1], "a, 1"), ([{"a": 1}], '[{"a": 1}]'), ({"a": 1, "b": None}, "a 1"), ("two\n lines", "two lines"),
    ],
)  # fmt: skip
def test_a_value_is_shown_for_a_person(value: object, text: str) -> None:
    assert cell(value) == text


def test_texts_of_others_do_not_control_the_terminal() -> None:
    assert cell("\x1b[31mred\x9b") == "\\x1b[31mred\\x9b"
    assert printable("日本\u202e") == "日本\\u202e"


def test_csv_has_every_field_and_no_formula() -> None:
    text = as_csv([{"a": "=1+1", "b": [1], "links": {}}, {"a": "x;=1", "c": True, "b": None}])
    rows = [["a", "b", "c"], ["'=1+1", "[1]", ""], ["x;'=1", "", "true"]]
    assert list(csv.reader(io.StringIO(text, newline=""))) == rows
    assert text.startswith('"a","b","c"\r\n')
    assert as_csv([]) == ""


def test_a_sparkline_goes_from_the_lowest_to_the_highest_with_gaps() -> None:
    assert sparkline([0, 1, None, 0.5]) == "▁█ ▅"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([0.3, 0.3]) == "▅▅"
    assert sparkline([None]) == sparkline([]) == ""
