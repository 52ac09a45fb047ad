"""Documents made to take memory or time: each is read or refused within limits, and counted."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from services.parse.collected import Unreadable
from services.parse.feed import linked_feed, parse
from services.parse.text import headline_text, html_to_text, looks_like_html
from tests.steps import growth, steps
from tests.unit.parse.feedparser_reading import BASE, FEEDS

HEAD = b'<?xml version="1.0"?><rss version="2.0"><channel><title>t</title>'
ITEM = b"<item><title>Some title</title><link>https://x.example/1</link>"
TAIL = b"</channel></rss>"
ITUNES = b' xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd"'
ENTITY = b'<!DOCTYPE rss [\n<!ENTITY a "' + b"x" * 100_000 + b'">\n]>\n'

HOSTILE: dict[str, Callable[[], bytes]] = {
    "quadratic entities": lambda: ENTITY + HEAD[21:] + b"<item><title>" + b"&a;" * 20_000 + b"</title></item>" + TAIL,
    "one level of many": lambda: HEAD + b"<a>" * 40_000,
    "deep in an entry": lambda: HEAD + ITEM + b"<a>" * 20_000 + b"</a>" * 20_000 + b"</item>" + TAIL,
    "a codec that is no charset": lambda: b'<?xml version="1.0" encoding="punycode"?><rss>' + b"a-z9" * 500_000,
    "a prolog of lines": lambda: b'<?xml version="1.0"?>' + b"\n" * 3_000_000 + b"<rss>",
    "a declaration without end": lambda: b"<?" + b'encoding="' * 300_000,
    "a first line without end": lambda: b'<?xml version="1.0"?>' + b'encoding="' * 300_000 + b"<rss version='2.0'>",
    "comments before a page": lambda: b"<!-- --><!--" * 250_000,
    "nothing but brackets": lambda: HEAD + b"<" * 1_000_000,
    "quotes without end": lambda: HEAD + b'<a "' * 30_000,
    "sections without end": lambda: HEAD + b"<![CDATA[" * 100_000,
    "tags without end": lambda: HEAD + ITEM + b"".join(b"<category>%d</category>" % n for n in range(20_000)),
    "keywords": lambda: HEAD + ITEM + b"<i:keywords" + ITUNES + b">" + b",".join(b"%d" % n for n in range(300_000)),
    "an author without end": lambda: HEAD + ITEM + b"<author>" + b"a" * 2_000_000 + b"</author></item>",
    "a namespace each": lambda: (
        HEAD
        + ITEM
        + b"".join(b'<x:y xmlns:x="http://n%d.example/"/>' % number for number in range(50_000))
        + b"</item>"
        + TAIL
    ),
    "a base within each base": lambda: HEAD + ITEM + b"<a xml:base='b/'>" * 20_000,
    "a date without end": lambda: HEAD + ITEM + b"<pubDate>" + b"1" * 2_000_000 + b"</pubDate></item>" + TAIL,
    "many empty lists": lambda: b'{"version":"https://jsonfeed.org/version/1","items":[' + b"[]," * 2_000_000 + b"[]]}",
}


MAX_CALLS_PER_BYTE = 100


def entries(body: bytes) -> int:
    try:
        return len(parse(body, BASE, "application/xml").items)
    except Unreadable:
        return 0


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_document_costs_little(name: str) -> None:
    body = HOSTILE[name]()
    beginning = body[: len(body) // 8]  # counting makes it five times as slow
    assert steps(lambda: entries(beginning), of_lines=False) < MAX_CALLS_PER_BYTE * len(beginning)
    assert entries(body) <= 1


def test_a_billion_laughs_expand_to_nothing() -> None:
    tracemalloc.start()
    try:
        document = parse((FEEDS / "billion_laughs.xml").read_bytes(), BASE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(len(item.headline) < 100 for item in document.items)
    assert peak < 20_000_000


@pytest.mark.slow
def test_entities_of_a_declaration_within_a_line_expand_to_little() -> None:
    entities = b'<!-- --><!DOCTYPE rss [<!ENTITY a "' + b"x" * 90 + b'"><!ENTITY b "' + b"&a;" * 50 + b'">]>'
    text = b"<description>" + b"&a;" * 110_000 + b"&b;" * 2_000 + b"</description></item>"
    tracemalloc.start()
    try:
        document = parse(entities + HEAD[21:] + ITEM + text + TAIL, BASE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(document.items) == 1
    assert peak < 15_000_000


ATTRIBUTES: dict[str, Callable[[], bytes]] = {
    "brackets within quotes": lambda: b" ".join(b'a%x=">"' % number for number in range(600_000)),
    "without values and brackets within quotes": lambda: (b"a " * 2_000 + b'"<" ') * 1_000,
    "quotes without end": lambda: b'x="' * 2_000_000,
}


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_a_tag_of_a_million_attributes_costs_no_memory_and_no_entry(name: str) -> None:
    body = HEAD + ITEM + b"</item><a " + ATTRIBUTES[name]() + b"/>" + TAIL
    tracemalloc.start()
    try:
        document = parse(body, BASE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [item.headline for item in document.items] == ["Some title"]
    assert peak < 60_000_000


def test_a_tag_with_a_picture_loses_the_picture_and_nothing_behind_it() -> None:
    picture = b"<![CDATA[<img alt='it' src=\"data:image/png;base64," + b"iVBORw0KGgo=" * 10_000 + b'"> and words]]>'
    odd = (
        b"<description>"
        + picture
        + b"</description><x:y xmlns:x='u'/>&</item>"
        + ITEM.replace(b"/1", b"/2")
        + b"</item>"
    )
    first, second = parse(HEAD + ITEM + odd + TAIL, BASE).items
    assert html_to_text(first.summary_html) == "and words"
    assert second.url == "https://x.example/2"


MARKS = ["<", '<a "', "<!--", "<script>", "&", " \x00", "<style ", "<?"]


@pytest.mark.parametrize("text", MARKS)
def test_text_takes_steps_in_proportion_to_its_length(text: str) -> None:
    def work(size: int) -> None:
        html_to_text(text * size)
        headline_text(text * size, is_html=False)
        looks_like_html(text * size)
        linked_feed((text + "<link ").encode() * size, BASE)

    assert growth(work, 1000) < 2.2
    work(300_000)  # no expression is quadratic: see steps.py
