"""The limits of feedparser's work, and of what the fast reader leaves to it."""

from __future__ import annotations

from collections import Counter

import pytest

from services.parse import xml_fast, xml_feedparser
from services.parse.xml_elements import Unsupported
from services.parse.xml_fast import read_fast
from services.parse.xml_feedparser import read_with_feedparser
from tests.unit.parse.feedparser_reading import BASE

ITEM = "<item><title>T{0}</title><link>https://x.example/{0}</link></item>"


def rss(inner: str) -> bytes:
    return f"<rss version='2.0'><channel>{inner}</channel></rss>".encode()


def test_the_limits_of_the_readers() -> None:
    assert (xml_fast.DEEPEST, xml_fast.MANY_TAGS, xml_fast.MANY_ATTRIBUTES) == (20, 450_000, 30_000)
    assert (xml_feedparser.MAX_BYTES, xml_feedparser.MAX_MARKS) == (3_000_000, 100_000)
    assert (xml_feedparser.MAX_DECLARATION, xml_feedparser.MAX_PROLOG, xml_feedparser.MAX_BASE) == (500, 20_000, 1_000)
    assert (xml_feedparser.LONGEST_ENTITY, xml_feedparser.MOST_REFERENCES) == (100, 100_000)
    assert xml_feedparser.MAX_NAMESPACES == 100


@pytest.mark.parametrize(("depth", "supported"), [(19, True), (20, True), (21, False)])
def test_elements_that_mean_nothing_may_be_nested_twenty_deep(depth: int, supported: bool) -> None:
    nested = "<author>" + "<name>" * depth + "</name>" * depth + "</author>"
    body = rss(f"<item><title>T</title><link>https://x.example/1</link>{nested}</item>")
    if supported:
        assert len(read_fast(body, BASE).items()) == 1
    else:
        with pytest.raises(Unsupported):
            read_fast(body, BASE)


def test_a_document_for_feedparser_is_cut_off_at_so_many_marks() -> None:
    entries = "".join(ITEM.format(number) for number in range(100))
    comments = "<!-- -->" * (xml_feedparser.MAX_MARKS - 2 - 6 * 50)
    whole = read_with_feedparser(rss(entries), BASE, "application/xml")
    assert (len(whole.items()), whole.warnings["document_cut"]) == (100, 0)
    cut = read_with_feedparser(rss(comments + entries), BASE, "application/xml")
    assert cut.warnings["document_cut"] == 1
    assert 49 <= len(cut.items()) <= 51


def test_a_document_for_feedparser_is_cut_off_at_three_megabytes() -> None:
    padding = "x" * xml_feedparser.MAX_BYTES
    cut = read_with_feedparser(rss(ITEM.format(1) + padding + ITEM.format(2)), BASE, "application/xml")
    assert [item.headline for item in cut.items()] == ["T1"]
    assert cut.warnings == Counter(document_cut=1, malformed=1, date_missing=1)
