"""The limits of feedparser's work, and of what the fast reader leaves to it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from services.parse import xml_feedparser
from services.parse.collected import MAX_TAGS, Collected, Unreadable
from services.parse.xml_feedparser import read_with_feedparser
from tests.unit.parse.feedparser_reading import BASE

ITEM = "<item><title>T{0}</title><link>https://x.example/{0}</link></item>"


def rss(inner: str) -> bytes:
    return f"<rss version='2.0'><channel>{inner}</channel></rss>".encode()


def test_a_document_for_feedparser_is_cut_off_at_three_megabytes() -> None:
    padding = "x" * xml_feedparser.MAX_BYTES
    cut = read_with_feedparser(rss(ITEM.format(1) + padding + ITEM.format(2)), BASE)
    assert [item.headline for item in cut.items()] == ["T1"]
    assert cut.warnings == Counter(document_cut=1, malformed=1, date_missing=1)


STRICT, LOOSE = "", "<br>"
"""The loose parser reads a document that has an element without an end."""
each_parser = pytest.mark.parametrize("more", [STRICT, LOOSE])


def one(inner: str, more: str = STRICT) -> Any:
    body = f"<!DOCTYPE rss><rss xmlns:dcterms='http://purl.org/dc/terms/'><channel><item>{inner}{more}"
    collected = read_with_feedparser(
        f"{body}<title>T</title><link>https://x.example/1</link></item></channel></rss>".encode(), BASE
    )
    assert collected.warnings["malformed"] == (more == LOOSE)
    (item,) = collected.items()
    return item


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("&#55357;&#56832;", "\U0001f600"),
        ("&#xD83D;&#XDE00;", "\U0001f600"),
        ("&#56319;&#57343;", "\U0010ffff"),
        ("&#55295;&#56320;", "&#55295;&#56320;"),
        ("&#56320;&#56320;", "&#56320;&#56320;"),
        ("&#55296;&#57344;", "&#55296;&#57344;"),
    ],
)
def test_the_halves_of_a_character_in_utf_16_are_joined(pair: str, expected: str) -> None:
    assert xml_feedparser._PAIR.sub(xml_feedparser._joined, pair.encode()).decode() == expected


def bounded(data: bytes) -> tuple[bytes, int]:
    collected = Collected()
    return xml_feedparser._bounded(data, collected), collected.warnings["document_cut"]


@pytest.mark.parametrize(
    ("entity", "is_kept"),
    [
        (b' a "b"', True),
        (b' a "' + b"b" * 34 + b'"', True),
        (b' a "' + b"b" * 35 + b'"', False),
        (b' a "&b;c"', False),
        (b' a SYSTEM "b"', False),
    ],
)
def test_only_short_entities_without_others_are_kept(entity: bytes, is_kept: bool) -> None:
    declared = b"<!ENTITY" + entity + b">"
    assert bounded(b"<!DOCTYPE r [" + declared + b"]><r/>") == (
        b"<!DOCTYPE r [" + (declared if is_kept else b"") + b"]><r/>",
        0,
    )


def test_feedparser_keeps_as_many_tags_as_an_entry_may_have() -> None:
    item = one("".join(f"<category>c{number}</category>" for number in range(MAX_TAGS + 5)))
    assert (len(item.tags), item.repairs) == (MAX_TAGS, ())


def parser() -> Any:
    return xml_feedparser._Strict(BASE, None, "utf-8")


def test_feedparser_searches_at_most_100_namespaces() -> None:
    strict = parser()
    for number in range(150):
        strict.track_namespace(f"x{number}", f"urn:{number}")
    assert len(strict.namespaces_in_use) == 100


@pytest.mark.parametrize(("length", "is_kept"), [(1_000, True), (1_001, False)])
def test_a_base_of_over_a_thousand_characters_is_ignored(length: int, is_kept: bool) -> None:
    strict, first = parser(), "http://a.example/"
    long = first + "x" * (length - len(first))
    for base in (first, long):
        strict.unknown_starttag("x", [("xml:base", base)])
    expected = long if is_kept else first
    assert (strict.baseuri, strict.basestack) == (expected, [first, expected])


def test_an_element_over_which_feedparser_raises_is_counted() -> None:
    loose: Any = xml_feedparser._Loose(BASE, None, "utf-8", {})
    loose.unknown_starttag("a", [("type", None)])
    collected = Collected()
    xml_feedparser._run_loose(loose, b"", collected)
    assert collected.warnings == Counter(elements_ignored=1)


@pytest.mark.parametrize("body", [b"<html><!-- <feed> --><p>T</p></html>", b"<html><p>T</p></html>"])
def test_a_document_without_a_version_is_not_a_feed(body: bytes) -> None:
    with pytest.raises(Unreadable) as refused:
        read_with_feedparser(body, BASE)
    assert refused.value.kind == "not_a_feed"


def test_a_cut_character_is_replaced() -> None:
    loose, collected = xml_feedparser._Loose(BASE, None, "utf-8", {}), Collected()
    xml_feedparser._run_loose(loose, rss(ITEM.format(1)).replace(b"T1", b"T\xc3"), collected)
    assert loose.entries[0]["title"] == "T\ufffd"


@each_parser
def test_html_is_neither_sanitized_nor_are_its_links_resolved(more: str) -> None:
    html = "&lt;script&gt;s&lt;/script&gt;&lt;a href='/r'&gt;a&lt;/a&gt;"
    item = one(f"<description>{html}</description>", more)
    assert item.summary_html == "<script>s</script><a href='/r'>a</a>"


@each_parser
def test_text_that_was_encoded_twice_is_decoded_twice(more: str) -> None:
    assert one("<description>Caf\u00c3\u00a9</description>", more).summary_html == "Caf\u00e9"


@each_parser
def test_an_entry_with_only_a_date_of_creation_has_that_date(more: str) -> None:
    item = one("<dcterms:created>2026-02-21T00:00:00Z</dcterms:created>", more)
    assert (item.published, item.date_text) == (datetime(2026, 2, 21, tzinfo=UTC), "2026-02-21T00:00:00Z")


def test_external_entities_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    strict = parser()
    entity = f'<!DOCTYPE rss [<!ENTITY x SYSTEM "{(tmp_path / "secret").as_uri()}">]>'
    assert xml_feedparser._run_strict(strict, entity.encode() + rss("<title>T&x;</title>"))
    assert strict.feeddata["title"] == "T"
