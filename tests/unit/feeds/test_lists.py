"""Whole lists of feeds: as other readers write them, and as we do."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidInput
from services.feeds.form import new_feed
from services.feeds.lists import Outline, apply_yaml, import_opml, read_opml, write_opml
from services.feeds.registry import FeedRegistry
from tests.documents import NOW, feed

SPECIFIED = Path(__file__).resolve().parents[3] / "config" / "feeds.yaml"


def opml(*outlines: str) -> bytes:
    return "\n".join(["<opml><body>", *outlines, "</body></opml>"]).encode()


async def test_an_import_reports_new_known_and_refused_feeds_by_line(registry: FeedRegistry) -> None:
    document = opml(
        '<outline text="A" xmlUrl="https://a.example/"/>',
        '<outline text="bad" xmlUrl="gopher://b.example/"/>',
        '<outline text="A again" xmlUrl="http://a.example"/>',
        '<outline text="%s" xmlUrl="https://c.example/"/>' % ("long " * 100),
        '<outline text="secret" xmlUrl="https://me:pw@d.example/"/>',
    )
    report = await import_opml(registry, document, NOW)
    assert (len(report.added), report.known) == (2, report.added[:1])
    assert [each.line for each in report.refused] == [3, 6]
    assert "http:// or https://" in report.refused[0].reason
    again = await import_opml(registry, document, NOW)
    assert (again.added, len(again.known), again.refused) == ((), 3, report.refused)
    feeds = await registry.every()
    assert sorted(feed.source_name[:9] for feed in feeds) == ["A", "long long"]


async def test_the_specifications_list_is_applied_once(registry: FeedRegistry) -> None:
    report = await apply_yaml(registry, SPECIFIED.read_bytes(), NOW)
    assert sorted(report.added) == ["bloomberg-markets", "cnbc-breaking", "reuters-world"]
    assert (await registry.get("cnbc-breaking")).priority_score == 1.5
    again = await apply_yaml(registry, SPECIFIED.read_bytes(), NOW)
    assert (again.added, sorted(again.known), again.changed, again.refused) == ((), sorted(report.added), (), ())


async def test_the_feeds_may_be_in_the_file_with_the_settings_of_ingestion(registry: FeedRegistry) -> None:
    settings = b"ingestion:\n  fetcher:\n    retry_attempts: 3\n"
    report = await apply_yaml(registry, settings + SPECIFIED.read_bytes(), NOW)
    assert sorted(report.added) == ["bloomberg-markets", "cnbc-breaking", "reuters-world"]


async def test_a_known_feed_is_changed_in_the_fields_of_the_list_only(
    registry: FeedRegistry,
) -> None:
    await apply_yaml(registry, b"feeds: [{id: a, url: 'https://a.example/', source_name: A, source_priority: 7}]", NOW)
    report = await apply_yaml(registry, b"feeds: [{url: 'https://a.example', source_name: B, enabled: false}]", NOW)
    assert report.changed == ("a",)
    feed = await registry.get("a")
    assert (feed.source_name, feed.enabled, feed.source_priority) == ("B", False, 7)


async def test_a_bad_entry_is_reported_with_its_line_and_the_others_are_registered(registry: FeedRegistry) -> None:
    document = b"""
feeds:
  - url: "https://a.example/"
    source_name: A
  - url: "https://b.example/"
    source_name: B
    prio: 1
  - id: 7
    url: "https://c.example/"
    source_name: C
  - 1: 2
"""
    report = await apply_yaml(registry, document, NOW)
    assert len(report.added) == 1
    assert [each.line for each in report.refused] == [5, 8, 11]
    assert report.refused[0].reason.startswith("prio: no such field")


@pytest.mark.parametrize(
    "document",
    [b"", b"- a", b"a: 1", b"feeds: 7", b"feeds: [7]", b"feeds: {a: b}", b"{", b"feeds: !!python/object:os.system {}"],
)
async def test_a_document_that_is_no_list_of_feeds_is_refused(registry: FeedRegistry, document: bytes) -> None:
    with pytest.raises(InvalidInput, match="feeds"):
        await apply_yaml(registry, document, NOW)


async def test_an_empty_list_is_a_list(registry: FeedRegistry) -> None:
    assert (await apply_yaml(registry, b"feeds:\n", NOW)).added == ()


NESTED = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<opml version="1.0">
  <head><title>Mine</title></head>
  <body>
    <outline text="News">
      <outline text="World" title="The World &amp; more" type="rss" xmlUrl="https://a.example/rss?x=1&amp;y=2"/>
      <outline text="deeper"><outline text="Caf\xe9" XMLURL=" https://b.example/ "/></outline>
    </outline>
    <outline xmlUrl="https://c.example/feed"/>
    <outline text="no feed" htmlUrl="https://d.example/"/>
  </body>
</opml>
"""


def test_feeds_are_found_at_any_depth_with_their_lines_and_best_titles() -> None:
    assert read_opml(NESTED) == [
        Outline(6, "https://a.example/rss?x=1&y=2", "The World & more"),
        Outline(7, "https://b.example/", "Café"),
        Outline(9, "https://c.example/feed", "c.example"),
    ]


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"not xml",
        b"<html><body/></html>",
        b"<opml><body><outline></body></opml>",
        b'<?xml version="1.0" encoding="no-such"?><opml/>',
        b'<!DOCTYPE opml SYSTEM "https://evil.example/x.dtd"><opml/>',
        b'<!DOCTYPE opml [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><opml><body><outline text="&b;"/></body></opml>',
        b"\x00\xff" * 100,
    ],
)
def test_a_document_that_is_no_opml_or_has_a_document_type_is_refused(document: bytes) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_opml(document)
    assert caught.value.field == "body"


def test_an_opml_document_of_ten_thousand_levels_is_read() -> None:
    deep = b"<opml><body>" + b"<outline>" * 10_000 + b'<outline xmlUrl="https://a.example/"/>'
    assert len(read_opml(deep + b"</outline>" * 10_000 + b"</body></opml>")) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_a_list_or_are_refused(document: bytes) -> None:
    try:
        read_opml(b"<opml>" + document)
    except InvalidInput:
        return


@given(st.text(min_size=1, max_size=60))
def test_any_name_comes_back_as_it_was_written(name: str) -> None:
    try:
        new = new_feed({"url": "https://a.example/?a=1&b=<2>".replace("<2>", "2"), "source_name": name}, NOW)
    except InvalidInput:
        return
    assert [(each.url, each.title) for each in read_opml(write_opml([new], NOW))] == [(new.feed_url, new.source_name)]


def test_an_export_is_opml_2_with_a_title_a_date_and_one_outline_for_each_feed() -> None:
    tree = ElementTree.fromstring(write_opml([feed(source_name='"A" & <B>'), feed(feed_id="b")], NOW))
    assert (tree.tag, tree.get("version")) == ("opml", "2.0")
    assert tree.findtext("head/dateCreated") == "Sat, 21 Feb 2026 20:00:00 GMT"
    first, second = tree.findall("body/outline")
    assert first.attrib == {
        "type": "rss",
        "text": '"A" & <B>',
        "title": '"A" & <B>',
        "xmlUrl": "https://www.reuters.com/rssFeed/worldNews",
    }
    assert second.get("text") == "Reuters"
