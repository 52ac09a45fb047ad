"""Numbers that people are told come from their constants: other copies are in the docs only, and are the same there."""

import re
from pathlib import Path

import pytest

import function_app
from models.cache import FEWEST, FRESH_MINUTES, ONE_PUBLISHER
from models.feed import MAX_ERRORS, SHORT_TEXT
from triggers.http_page import contract_file

assert function_app.app is not None, "its modules declare the endpoints"

ROOT = Path(__file__).resolve().parents[3]
WORDS = {"five": "5", "ten": "10", "thirty": "30"}
NUMBER = r"([\d,]+|five|ten|thirty)"
TOLD = (
    (FRESH_MINUTES, rf"(?:over|older than|succeeded for|more than|up to) {NUMBER} minutes (?:old|ago|too long|;)"),
    (MAX_ERRORS, rf"{NUMBER} errors in a row|\(`?{NUMBER} in a row\)"),
    (FEWEST, rf"fewer than {NUMBER} (?:scored )?mentions"),
    (int(ONE_PUBLISHER * 100), rf"at least {NUMBER} ?% of them"),
    (SHORT_TEXT, rf"fewer than {NUMBER} characters of text"),
)
"""The constants, with how texts tell them."""
SOURCES = sorted(path for folder in ("models", "toolpulse", "triggers") for path in (ROOT / folder).rglob("*.[pj][ys]"))
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def told(pattern: str, text: str) -> set[str]:
    """The numbers that a text tells."""
    found = (next(filter(None, each.groups())) for each in re.finditer(pattern, text))
    return {WORDS.get(each, each.replace(",", "")) for each in found}


@pytest.mark.parametrize(("constant", "pattern"), TOLD)
def test_a_number_that_people_are_told_is_nowhere_typed_again(constant: int, pattern: str) -> None:
    for path in SOURCES:
        text = re.sub(r'"\s+f?"', "", path.read_text(encoding="utf-8"))
        assert told(pattern, text) == set(), path


@pytest.mark.parametrize(("constant", "pattern"), TOLD)
def test_the_contract_and_the_docs_tell_the_same_number(constant: int, pattern: str) -> None:
    contract = told(pattern, contract_file().content.decode())
    assert contract == {str(constant)}
    for path in DOCS:
        assert told(pattern, path.read_text(encoding="utf-8")) <= {str(constant)}, path
