"""docs/adr/0008-dependencies.md gives a reason for every package."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "adr" / "0008-dependencies.md").read_text(encoding="utf-8")


FILES = (
    ("requirements.in", "The app"),
    ("requirements-cli.in", "The command line"),
    ("requirements-dev.in", "Development"),
)


@pytest.mark.parametrize(("file", "section"), FILES)
def test_the_page_has_a_row_for_every_required_package(file: str, section: str) -> None:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    required = [found[0] for line in lines if (found := re.match(r"[A-Za-z][\w-]*", line))]
    table = PAGE.partition(f"## {section}\n")[2].partition("## ")[0]
    listed = [name for row in re.findall(r"^\| ([\w, -]+) \|", table, re.MULTILINE) for name in row.split(", ")]
    assert sorted(listed) == sorted([*required, "package"])
