"""Lists in YAML: the entries under a key, with their lines."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidInput
from services.yaml_lists import Entry, read_entries

DOCUMENT = b"""
other: 1
feeds:
  - url: a
    1: x

  - {url: b}
"""


def test_entries_are_read_with_their_lines_and_the_names_of_fields_as_text() -> None:
    assert read_entries(DOCUMENT, "feeds", "url") == [Entry(4, {"url": "a", "1": "x"}), Entry(7, {"url": "b"})]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("yes", True), ("False", False), ("~", None), ("", None), ("12", 12), ("-1", -1), ("1.5", 1.5)),
        *(("005930", "005930"), ("0x1f", "0x1f"), ("0x_", "0x_"), ("1:30", "1:30"), ("9" * 19, "9" * 19)),
        *(("2026-02-30", "2026-02-30"), ("'12'", "12"), ('"yes"', "yes")),
    ],
)
def test_a_value_without_quotes_may_be_a_number_or_a_truth_value(text: str, value: object) -> None:
    (entry,) = read_entries(f"feeds:\n- url: {text}\n".encode(), "feeds", "url")
    assert entry.fields == {"url": value}


WORDS = (
    *("feeds:", "url: a", ": ", "- ", "? ", "&a ", "*a", "<<: "),
    *("!!int ", "!!bool ", "\\ud800", "\\UFFFFFFFF", "0x_"),
)
SIGNS = st.sampled_from("\n[]{}'\",|>#%@\\\x85")
TEXTS = st.lists(st.sampled_from(WORDS) | st.characters() | SIGNS, max_size=30).map("".join)


@given(TEXTS.map(lambda text: text.encode(errors="surrogatepass")) | st.binary(max_size=100))
def test_every_document_is_a_list_that_can_be_shown_or_is_refused(document: bytes) -> None:
    for each in (document, b"feeds:\n- " + document, b'feeds: [{url: "' + document + b'"}]'):
        with contextlib.suppress(InvalidInput):
            shown = [entry.fields for entry in read_entries(each, "feeds", "url")]
            assert json.loads(json.dumps(shown, ensure_ascii=False).encode()) == shown


@given(st.text(), st.sampled_from((None, 1, "\t")))
def test_json_is_read_as_it_was_written(text: str, indent: int | str | None) -> None:
    written = [{"url": text, text: [text], "empty": {}}]
    read = read_entries(json.dumps({"feeds": written}, indent=indent).encode(), "feeds", "url")
    assert [each.fields for each in read] == written


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
        (b"[" * 600, "more than 10 levels of lists and mappings .*line 1"),
        (b"feeds:\n- " + b"{a: " * 600, "more than 10 levels of lists and mappings .*line 2"),
        (b"- " * 600, "more than 10 levels of lists and mappings .*line 1"),
        (b"a: &a [x]\nfeeds: [{url: b}]", "aliases, anchors and tags are not allowed .*line 1"),
        (b"feeds:\n- {<<: [*a, *a]}", "aliases, anchors and tags are not allowed .*line 2"),
        (b"feeds: !!int ''", "aliases, anchors and tags are not allowed .*line 1"),
        (b"feeds: [{url: !!timestamp foo}]", "aliases, anchors and tags are not allowed .*line 1"),
        (b"feeds: []\nfeeds: []", "feeds is there twice .*line 2"),
        (b"feeds:\n- url: a\n  url: b", "url is there twice .*line 3"),
        (b"feeds:\n- {[a]: b}", "a key must be text .*line 2"),
        (b'feeds:\n- {url: "\\ud800"}', "an escape that is no character .*line 2"),
        (b'feeds:\n- {url: "\\UFFFFFFFF"}', "must be YAML.* line 2"),
        (b"%YAML 1." + b"9" * 5000, "must be YAML.* line 1"),
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
