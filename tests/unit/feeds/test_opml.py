"""OPML: as other readers write it, and as we do."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from models.errors import InvalidInput
from services.feeds.lists import read_opml
from services.yaml_lists import Entry
from tests.documents import NOW, feed
from triggers.opml import write_opml

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


def outline(line: int, url: str, name: str, tags: tuple[str, ...] = (), site: str | None = None) -> Entry:
    return Entry(line, {"url": url, "source_name": name, "tags": tags, "site_url": site})


def test_feeds_are_found_at_any_depth_with_their_lines_and_best_titles() -> None:
    assert read_opml(NESTED) == [
        outline(6, "https://a.example/rss?x=1&y=2", "The World & more", ("News",)),
        outline(7, "https://b.example/", "Café", ("News/deeper",)),
        outline(9, "https://c.example/feed", "c.example"),
    ]


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"<html><body/></html>",
        b"<opml><body><outline></body></opml>",
        b'<?xml version="1.0" encoding="no-such"?><opml/>',
        b'<!DOCTYPE opml SYSTEM "https://evil.example/x.dtd"><opml/>',
        b'<!DOCTYPE opml [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><opml><body><outline text="&b;"/></body></opml>',
    ],
)
def test_a_document_that_is_no_opml_or_has_a_document_type_is_refused(document: bytes) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_opml(document)
    assert caught.value.field == "body"


def test_an_opml_document_of_ten_thousand_levels_is_read() -> None:
    deep = b"<opml><body>" + b"<outline>" * 10_000 + b'<outline xmlUrl="https://a.example/"/>'
    assert len(read_opml(deep + b"</outline>" * 10_000 + b"</body></opml>")) == 1


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


def test_categories_are_tags_and_a_comma_in_a_folder_is_a_blank() -> None:
    document = b"""<opml><body><outline text="World, local">
<outline text="A" xmlUrl="https://a.example/" category="/B/C, D,,/" htmlUrl=" https://site.example/ "/>
<outline><outline text="B" xmlUrl="https://b.example/"/></outline></outline>
<outline text="C" xmlUrl="https://c.example/" htmlUrl=""><outline xmlUrl="https://d.example/"/></outline>
</body></opml>"""
    assert read_opml(document) == [
        outline(2, "https://a.example/", "A", ("World  local", "/B/C", "D"), "https://site.example/"),
        outline(3, "https://b.example/", "B", ("World  local",)),
        outline(4, "https://c.example/", "C", site=""),
        outline(4, "https://d.example/", "d.example"),
    ]


def test_an_export_has_a_feed_in_the_folder_of_each_of_its_tags() -> None:
    feeds = [
        feed(source_name="A", tags=("News/World", "Z"), site_url="https://a.example/"),
        feed(feed_id="b", source_name="B", tags=("News",)),
        feed(feed_id="c", source_name="C"),
    ]
    tree = ElementTree.fromstring(write_opml(feeds, NOW))
    top = [each.get("text") for each in tree.findall("body/outline")]
    assert top == ["News", "Z", "C"]
    news, z, c = tree.findall("body/outline")
    assert [each.get("text") for each in news] == ["World", "B"]
    assert [each.get("text") for each in news.iter("outline")] == ["News", "World", "A", "B"]
    (a,) = z
    assert a.get("category") == "/News/World,/Z"
    assert a.get("htmlUrl") == "https://a.example/"
    assert (c.get("category"), c.get("htmlUrl")) == (None, None)
