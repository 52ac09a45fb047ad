"""JSON from strangers: what is refused, what is repaired, and how a JSON Feed is read."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from models.raw_item import RawItem
from services.parse.collected import Unreadable
from services.parse.json_documents import MAX_VALUES, load_json, read_json_feed, text_of

BASE = "https://feeds.example/news/feed.json"
VERSION = "https://jsonfeed.org/version/1.1"


def loaded(body: bytes) -> tuple[Any, dict[str, int]]:
    warnings: Counter[str] = Counter()
    return load_json(body, warnings), dict(warnings)


def read_item(**fields: Any) -> RawItem:
    entry = {"id": "1", "title": "One", "url": "https://x.example/1", **fields}
    (item,) = read_json_feed(json.dumps({"version": VERSION, "items": [entry]}).encode(), BASE).items()
    return item


@pytest.mark.parametrize(
    ("body", "document"),
    [
        (b'{"a": [1, "x"]}', {"a": [1, "x"]}),
        (b'\xef\xbb\xbf["x"]', ["x"]),
        ('["ü"]'.encode("utf-16"), ["ü"]),
        (rb'["\ud83d\ude80"]', ["\U0001f680"]),
        (rb'["\ud83d"]', ["?"]),
        (rb'["\uDe80 \\ud"]', ["? \\ud"]),
    ],
)
def test_json_is_read_without_what_no_store_can_hold(body: bytes, document: Any) -> None:
    assert loaded(body) == (document, {})


def test_bytes_that_are_not_utf_8_are_windows_1252() -> None:
    assert loaded(b'["Caf\xe9 \x80\xff"]') == (["Caf\xe9 \u20ac\xff"], {"encoding_guessed": 1})
    mixed = b'["Caf\xc3\xa9 \x93cut\xe2\x82"]'
    assert loaded(mixed) == (["Caf\xe9 \u201ccut\xe2\u201a"], {"encoding_guessed": 1})


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b" \n", "empty", "the body is empty"),
        (b"{broken", "not_json", "not well-formed JSON"),
        (b"[" * 100_000, "not_json", "not well-formed JSON"),
    ],
)
def test_a_body_that_is_not_json_is_unreadable(body: bytes, kind: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words) as caught:
        loaded(body)
    assert caught.value.kind == kind


def test_the_number_of_values_is_limited_by_their_marks() -> None:
    assert MAX_VALUES == 1_000_000
    most = b"[" + b",".join([b"1"] * MAX_VALUES) + b"]"
    assert len(loaded(most)[0]) == MAX_VALUES
    with pytest.raises(Unreadable, match="more values"):
        loaded(b"[1," + most[1:])
    with pytest.raises(Unreadable, match="more values"):
        loaded(b'[{"a": 1}' + b",{}" * (MAX_VALUES // 2) + b"]")


@pytest.mark.parametrize(
    ("value", "text"), [(" x ", "x"), (7, "7"), (True, ""), (None, ""), ([], ""), (1.5, ""), ("", "")]
)
def test_a_field_is_text_or_a_whole_number(value: Any, text: str) -> None:
    assert text_of({"name": value}, "name") == text
    assert text_of({}, "name") == ""


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        (VERSION, "json11"),
        ("https://jsonfeed.org/version/1", "json1"),
        ("https://jsonfeed.org/version/123.456", "json1234"),
    ],
)
def test_a_json_feed_names_its_version_title_and_page(version: str, shown: str) -> None:
    document = {"version": version, "title": " News ", "home_page_url": "https://x.example/", "items": {}}
    collected = read_json_feed(json.dumps(document).encode(), BASE)
    assert (collected.version, collected.title, collected.link) == (shown, "News", "https://x.example/")
    assert collected.items() == ()


@pytest.mark.parametrize("document", ["[]", '"jsonfeed.org/version/1"', "{}", '{"version": "1.1"}', '{"version": 1}'])
def test_other_json_is_no_feed(document: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_json_feed(document.encode(), BASE)
    assert caught.value.kind == "not_a_feed"


def test_an_items_link_is_its_url_else_its_other_page_else_its_id() -> None:
    assert read_item(external_url="https://y.example/").url == "https://x.example/1"
    assert read_item(url="", external_url="../other").url == "https://feeds.example/other"
    assert read_item(url=None, id="https://x.example/id").url == "https://x.example/id"
    assert read_item(url=None, id="http://x.example/id").url == "http://x.example/id"
    document = {"version": VERSION, "items": [{"id": "ftp://x.example/", "title": "One"}]}
    assert read_json_feed(json.dumps(document).encode(), BASE).skipped == {"no_link": 1}


def test_an_items_text_is_its_summary_and_content() -> None:
    item = read_item(summary="1 < 2", content_html="<p>x</p>", content_text="t")
    assert (item.summary_html, item.content_html) == ("1 &lt; 2", "<p>x</p>")
    item = read_item(content_text="1 < 2")
    assert (item.summary_html, item.content_html) == ("1 &lt; 2", "1 &lt; 2")


def test_an_items_date_is_that_of_publishing_else_of_its_last_change() -> None:
    both = {"date_published": "2026-02-21T12:00:00Z", "date_modified": "2026-02-22T12:00:00Z"}
    assert read_item(**both).date_text == "2026-02-21T12:00:00Z"
    assert str(read_item(**both).published) == "2026-02-21 12:00:00+00:00"
    assert str(read_item(date_modified=both["date_modified"]).published) == "2026-02-22 12:00:00+00:00"
    assert read_item(tags=["a", 1]).tags == ("a",)
