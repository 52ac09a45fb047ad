"""Every guarantee names the tests that hold it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GUARANTEES = (ROOT / "docs" / "guarantees.md").read_text()
NAMED = re.findall(r"`(tests/\S+\.py)::(\w+)`", GUARANTEES)


def test_each_guarantee_names_a_test() -> None:
    rows = [line for line in GUARANTEES.splitlines() if re.match(r"\| [a-z] \|", line)]
    assert [row[2] for row in rows] == list("abcdefgh")
    assert all("::test_" in row for row in rows)


def test_the_named_tests_exist() -> None:
    missing = [name for file, name in NAMED if f"def {name}(" not in (ROOT / file).read_text()]
    assert missing == []
