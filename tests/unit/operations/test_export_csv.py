"""Exports as CSV: stable columns, quoting, and no cell that a spreadsheet runs."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from services.operations.export import COLUMNS, LAYERS, Layer
from tests import documents
from triggers.http_codec import cell, csv_text

SHOWN: dict[Layer, dict[str, Any]] = {
    "canonical": documents.article().shown(),
    "raw": documents.observation().shown(),
    "mentions": documents.mention().shown(),
    "stories": documents.story().shown(),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_the_columns_are_the_fields_of_the_records_and_of_removals(layer: Layer) -> None:
    assert set(COLUMNS[layer]) == {*SHOWN[layer], "removed", "removed_at"}
    assert len(set(COLUMNS[layer])) == len(COLUMNS[layer])


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_text_that_looks_like_a_formula_is_made_a_text(start: str) -> None:
    assert cell(f"{start}cmd|' /C calc'!A0") == f"'{start}cmd|' /C calc'!A0"
    assert cell(f"1{start}1") == f"1{start}1"


TRICKS = [
    *("Nova;=cmd|'/c calc'!A0;x", "a\t=1", "a\n+1", "a\r\n-1", "a; @x", 'a;"=1"', 'a; "=1', "=1;=2", " =1", ["a;=1"]),
    *({"a;-1": 1}, ['x";', "=1"], 'a;""=1', "a;\n=1"),
]


@pytest.mark.parametrize("layer", ["canonical", "raw", "mentions"])
@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_begins_a_formula_whatever_separates_cells(layer: Layer, trick: Any, delimiter: str) -> None:
    text = csv_text(COLUMNS[layer], [dict.fromkeys(COLUMNS[layer], trick)], with_header=True)
    cells = [each for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) for each in row]
    assert [each for each in cells if each.lstrip(' "').startswith(("=", "+", "-", "@"))] == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((None, ""), (True, "true"), (False, "false"), (-0.5, "-0.5"), (0, "0"), ("", "")),
        *(([], "[]"), (["=a"], '["=a"]'), ({"a": "é"}, '{"a":"é"}')),
    ],
)
def test_other_values_stay_what_they_are(value: Any, expected: str) -> None:
    assert cell(value) == expected


def test_lines_are_quoted_as_rfc_4180_says_and_read_back_as_they_were() -> None:
    item = {**SHOWN["raw"], "headline": 'He said "go", then\r\nleft', "text": "=1+1", "tags": ["a,b"]}
    text = csv_text(COLUMNS["raw"], [item], with_header=True)
    assert text.endswith("\r\n")
    assert text.startswith('"source_id",')
    header, row = list(csv.reader(io.StringIO(text, newline="")))
    assert tuple(header) == COLUMNS["raw"]
    read = dict(zip(header, row, strict=True))
    assert (read["headline"], read["text"], read["tags"]) == (item["headline"], "'=1+1", '["a,b"]')
    assert csv_text(COLUMNS["raw"], [], with_header=False) == ""
