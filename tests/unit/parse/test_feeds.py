"""What a feed gives: items, counts of what was mended or left out, and what it says of itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from models.raw_item import Freshness, ParsedDocument
from services.parse.collected import MAX_ITEMS, Unreadable
from services.parse.feed import parse
from services.parse.page_links import FeedLink, discover
from tests.unit.parse.judged import BASE, FEEDS


def read(name: str) -> ParsedDocument:
    return parse((FEEDS / name).read_bytes(), BASE)


def rss(*items: str) -> bytes:
    return f'<rss version="2.0"><channel><title>t</title>{"".join(items)}</channel></rss>'.encode()


def test_an_rss_feed_says_when_to_ask_again_and_who_it_is() -> None:
    document = read("rss20_wordpress.xml")
    assert (document.version, document.title, document.site_url) == ("rss20", "Example News", "https://news.example/")
    assert document.freshness == Freshness(30, 30, frozenset({0, 1}), frozenset({"sunday"}))
    assert document.warnings == {}
    first, second = document.items
    assert first.article_id == "https://news.example/?p=101"
    assert first.tags == ("Politics", "Q&A")
    assert first.content_html == "<p>The <b>whole</b> story &amp; more.</p>"
    assert second.url == "https://news.example/2026/02/chips?a=1&b=2"
    assert second.published == datetime(2026, 2, 21, 20, tzinfo=UTC)


def test_a_feed_that_moves_says_where_to() -> None:
    assert read("rss20_media.xml").moved_to == "https://new.example/feed.xml"
    assert read("rss20_media.xml").title == "Example News"


def test_an_aggregator_names_the_publisher() -> None:
    assert [item.publisher for item in read("rss20_aggregator.xml").items] == ["Reuters"]


def test_links_are_made_absolute_or_refused_and_counted() -> None:
    document = read("rss20_links.xml")
    assert [item.url for item in document.items] == [
        "http://feeds.example/2026/rel?x=1#part",
        "https://news.example/perma",
        "https://news.example/a%20b",
        "https://news.example/atom",
        "https://news.example/empty-link",
        "https://news.example/l1",
        "http://cdn.example/x",
    ]
    assert document.skipped == {"no_link": 2, "link_refused": 3}


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("https://reader:s3cret@news.example/a", "https://news.example/a"),
        ("https://bank.example@news.example", "https://news.example"),
        ("HTTPS://a@b@news.example:8443/?u=http://x@y/", "HTTPS://news.example:8443/?u=http://x@y/"),
        ("https://news.example/@writer", "https://news.example/@writer"),
        ("https://bank.example\\@news.example/", None),
        ("https://reader@", None),
    ],
)
@pytest.mark.parametrize("element", ["link", "guid"])
def test_a_link_leads_where_it_seems_to_and_holds_no_secret(link: str, url: str | None, element: str) -> None:
    entry = f"<item><title>A story</title><{element}>{link}</{element}></item>"
    document = parse(f"<rss version='2.0'><channel>{entry}</channel></rss>".encode(), BASE)
    assert [item.url for item in document.items] == ([url] if url else [])
    assert document.skipped == ({} if url else {"link_refused": 1})


def test_titles_become_plain_text_however_often_they_were_escaped() -> None:
    document = read("rss20_titles.xml")
    headlines = [item.headline for item in document.items]
    assert headlines[:6] == [
        "Tom & Jerry return",
        "Café opens doors",
        "Say no more",
        "How to use the <b> tag",
        "Many spaces and lines",
        "🚀🔥",
    ]
    assert headlines[6] == "x" * 1_000
    assert headlines[7:] == ["a < b & c", "Café news", "It\u2019s here", "Twice escaped"]
    assert document.skipped == {"no_title": 3}
    assert document.warnings["headline_cut"] == 1


def test_dates_of_any_form_become_utc_and_the_rest_is_flagged() -> None:
    items = {item.url.rpartition("/")[2]: item for item in read("rss20_dates.xml").items}
    evening = datetime(2026, 2, 21, 20, tzinfo=UTC)
    assert items["0"].published == items["4"].published == items["6"].published == evening
    assert items["1"].published == datetime(2026, 2, 22, 1, tzinfo=UTC)
    assert items["8"].published == datetime(1970, 1, 1, tzinfo=UTC)
    assert items["9"].published == datetime(2099, 1, 1, tzinfo=UTC)
    assert (items["10"].published, items["10"].published_flag) == (None, "unparsable")
    assert (items["11"].published, items["11"].published_flag) == (None, "missing")
    assert (items["none"].published, items["none"].published_flag) == (None, "missing")
    assert items["both"].published == datetime(2026, 2, 21, 10, tzinfo=UTC)


def test_a_guid_that_repeats_identifies_nothing() -> None:
    document = read("rss20_repeated_guids.xml")
    assert [item.article_id for item in document.items] == [None, None, "own"]
    assert document.warnings == {"id_repeated": 2}


def test_a_json_feed_is_read() -> None:
    document = read("jsonfeed11.json")
    first, second, fourth = document.items
    assert (document.version, document.title, document.site_url) == ("json11", "Example JSON", "https://json.example/")
    assert (first.headline, first.tags, first.summary_html) == ("JSON & friends", ("a", "b"), "1 &lt; 2")
    assert first.published == datetime(2026, 2, 21, 19, tzinfo=UTC)
    assert (second.article_id, second.url, second.content_html) == ("2", "http://feeds.example/two", "a &lt; b")
    assert fourth.headline.encode()
    assert document.skipped == {"no_title": 1, "not_an_entry": 1}


def test_a_document_that_breaks_off_gives_what_came_before() -> None:
    document = read("rss20_truncated.xml")
    assert [item.headline for item in document.items][:2] == ["First one whole", "Second one whole"]
    assert document.warnings["malformed"] == 1


def test_a_wrong_charset_is_guessed_and_said_so() -> None:
    document = read("rss20_wrong_charset.xml")
    assert [item.headline for item in document.items] == ["Café ouvert"]
    assert document.warnings == {"encoding_guessed": 1}


def test_a_json_feed_in_a_wrong_charset_is_read_and_said_so() -> None:
    head, tail = b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "/1", "title": "', b'"}]}'
    for title, shown in (
        (b"Caf\xe9 ouvert", "Caf\xe9 ouvert"),
        (b"Caf\xc3\xa9 \x93cut\xe2\x82", "Caf\xe9 \u201ccut\xe2\u201a"),
    ):
        document = parse(head + title + tail, BASE, "application/feed+json")
        assert [item.headline for item in document.items] == [shown]
        assert document.warnings == {"encoding_guessed": 1, "date_missing": 1}


def test_control_characters_do_not_reach_a_headline() -> None:
    document = read("rss20_control_characters.xml")
    assert [item.headline for item in document.items] == ["Bell rings twice"]
    assert document.warnings["malformed"] == 1


@pytest.mark.parametrize(
    ("odd", "headline", "warnings"),
    [
        ("&#55357;&#56960;", "A \U0001f680 in it", {}),  # what many make of an emoji: two halves, each written as one
        ("&#xD83D;&#xde80;", "A \U0001f680 in it", {}),
        ("&#xD83D;", "A \ufffd in it", {"malformed": 1}),
        ("&#x110000;", "A \ufffd in it", {"malformed": 1}),
        ("&#99999999999999999999;", "A \ufffd in it", {"malformed": 1}),
        ("<gml:posList>1</gml:posList>", "A 1 in it", {"malformed": 1, "elements_ignored": 1}),
    ],
)
def test_what_feedparser_stumbles_over_costs_no_entry_behind_it(
    odd: str, headline: str, warnings: dict[str, int]
) -> None:
    items = [f"<item><title>A {odd} in it</title><link>https://x.example/1</link>DATE</item>"]
    items += [f"<item><title>Story {n}</title><link>https://x.example/{n}</link>DATE</item>" for n in (2, 3)]
    date = "<pubDate>Sat, 21 Feb 2026 20:00:00 GMT</pubDate>"
    head = "<rss version='2.0' xmlns:gml='http://www.opengis.net/gml'>"
    body = f"{head}<channel>{''.join(items)}</channel></rss>".replace("DATE", date).encode()
    document = parse(body, BASE)
    assert [item.headline for item in document.items] == [headline, "Story 2", "Story 3"]
    assert document.warnings == warnings


@pytest.mark.parametrize("charset", ["utf-16", "UTF-16LE", "utf-32", "cp037", "rot13"])
@pytest.mark.parametrize("says", ["its declaration", "the header"])
def test_a_charset_that_the_first_letter_belies_is_not_believed(charset: str, says: str) -> None:
    declaration = f'<?xml version="1.0" encoding="{charset}"?>' if says == "its declaration" else ""
    entry = "<item><title>Caf\xe9 ouvert</title><link>https://x.example/1</link></item>"
    body = f"{declaration}<rss version='2.0'><channel>{entry}</channel></rss>".encode()
    document = parse(body, BASE, f"text/xml; charset={charset}" if says == "the header" else "application/xml")
    assert [item.headline for item in document.items] == ["Caf\xe9 ouvert"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"<!DOCTYPE html><html><body>x</body></html>", "html"),
        (b'<?xml version="1.0"?>\n<!-- c --><html xmlns="http://www.w3.org/1999/xhtml"/>', "html"),
        (b"Service unavailable", "not_a_feed"),
        (b"<opml version='2.0'><body/></opml>", "not_a_feed"),
        (b"<channel><item><title>t</title></item></channel>", "not_a_feed"),
        (b'{"error": "no"}', "not_a_feed"),
        (b"[1, 2]", "not_a_feed"),
        (b"{broken", "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"items": ' + b"9" * 5_000 + b"}", "not_json"),
        (b"\x00" * 100, "not_a_feed"),
    ],
)
def test_what_is_no_feed_is_called_what_it_is(body: bytes, kind: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(body, BASE)
    assert caught.value.kind == kind
    assert str(caught.value).startswith("body: ")


def test_a_web_page_names_its_feeds() -> None:
    body = (FEEDS / "web_page.html").read_bytes()
    assert discover(body, "https://news.example/start/") == [
        FeedLink("https://news.example/feed.xml", "News & views", "application/rss+xml"),
        FeedLink("https://news.example/atom.xml", "", "application/atom+xml"),
        FeedLink("https://news.example/start/feed.json", "", "application/feed+json"),
    ]
    with pytest.raises(Unreadable):
        parse(body, BASE)


def test_ten_thousand_entries_are_read_and_a_limit_is_kept() -> None:
    item = "<item><title>Number {0}</title><link>https://x.example/{0}</link></item>"
    assert len(parse(rss(*(item.format(number) for number in range(10_000))), BASE).items) == 10_000
    document = parse(rss(*(item.format(number) for number in range(MAX_ITEMS + 5))), BASE)
    assert len(document.items) == MAX_ITEMS
    assert document.skipped == {"too_many": 5}
