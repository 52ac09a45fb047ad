"""Lists in YAML: the entries under a key, with their lines."""

from __future__ import annotations

import pytest

from models.errors import InvalidInput
from services.parse.yaml_lists import Entry, read_entries

DOCUMENT = b"""
other: 1
feeds:
  - url: a
    1: x

  - {url: b}
"""


def test_entries_are_read_with_their_lines_and_the_names_of_fields_as_text() -> None:
    assert read_entries(DOCUMENT, "feeds", "url") == [Entry(4, {"url": "a", "1": "x"}), Entry(7, {"url": "b"})]


@pytest.mark.parametrize("document", [b"feeds:", b"feeds: null", b"feeds: []"])
def test_an_empty_list_has_no_entries(document: bytes) -> None:
    assert read_entries(document, "feeds", "url") == []


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"", "must be a list under the key feeds, each entry with url"),
        (b"[]", "must be a list"),
        (b"text", "must be a list"),
        (b"tools: []", "must be a list"),
        (b"feeds: {}", "must be a list"),
        (b"feeds: 0", "must be a list"),
        (b"feeds: [1]", "must be a list"),
        (b"feeds: [", "must be YAML"),
        (b"feeds: !!python/object:os.system {}", "must be YAML"),
        (b"\xff\xfe\x00", "must be YAML"),
        (b"[" * 1000, "must be YAML"),
    ],
)
def test_another_document_is_refused_by_the_name_of_its_key(document: bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        read_entries(document, "feeds", "url")
    assert caught.value.field == "feeds"


def test_an_error_quotes_no_line_of_the_document() -> None:
    with pytest.raises(InvalidInput) as caught:
        read_entries(b"feeds: [hunter2", "feeds", "url")
    assert "hunter2" not in str(caught.value)
