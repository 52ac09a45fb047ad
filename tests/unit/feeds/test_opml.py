"""Lists of feeds as other readers write them, and as we do."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidInput
from services.feeds.form import new_feed
from services.feeds.opml import Outline, read_opml, write_opml
from tests.documents import NOW, feed

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
def test_what_is_no_opml_or_has_a_document_type_is_refused_whole(document: bytes) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_opml(document)
    assert caught.value.field == "body"


def test_ten_thousand_levels_are_no_trouble() -> None:
    deep = b"<opml><body>" + b"<outline>" * 10_000 + b'<outline xmlUrl="https://a.example/"/>'
    assert len(read_opml(deep + b"</outline>" * 10_000 + b"</body></opml>")) == 1


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_it_is_a_list_or_refused(document: bytes) -> None:
    try:
        read_opml(b"<opml>" + document)
    except InvalidInput:
        return


@given(st.text(min_size=1, max_size=60))
def test_any_name_comes_back_as_it_was_written(name: str) -> None:
    try:
        new = new_feed({"url": "https://a.example/?a=1&b=<2>".replace("<2>", "2"), "source_name": name})
    except InvalidInput:
        return
    stored = new.feed("a", NOW)
    assert [(each.url, each.title) for each in read_opml(write_opml([stored], NOW))] == [
        (stored.feed_url, stored.source_name)
    ]


def test_what_we_write_is_opml_2_with_a_title_a_date_and_one_outline_for_each_feed() -> None:
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
