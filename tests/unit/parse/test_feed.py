"""A feed's items, the counts of what was repaired or skipped, and when the feed wants to be fetched again."""

from __future__ import annotations

from datetime import UTC, datetime
from encodings.aliases import aliases

import pytest

from models.raw_item import Freshness, ParsedDocument
from services.parse.collected import Unreadable
from services.parse.feed import codec_of, linked_feed, parse
from tests.unit.parse.feedparser_reading import BASE, FEEDS


def read(name: str) -> ParsedDocument:
    return parse((FEEDS / name).read_bytes(), BASE)


def rss(*items: str) -> bytes:
    return f'<rss version="2.0"><channel><title>t</title>{"".join(items)}</channel></rss>'.encode()


def test_an_rss_feed_names_itself_and_when_to_fetch_it_again() -> None:
    document = read("rss20_wordpress.xml")
    assert (document.version, document.title, document.site_url) == ("rss20", "Example News", "https://news.example/")
    assert document.freshness == Freshness(30, frozenset({0, 1}), frozenset({"sunday"}))
    assert document.warnings == {}
    first, second = document.items
    assert first.article_id == "https://news.example/?p=101"
    assert first.tags == ("Politics", "Q&A")
    assert first.content_html == "<p>The <b>whole</b> story &amp; more.</p>"
    assert second.url == "https://news.example/2026/02/chips?a=1&b=2"
    assert second.published == datetime(2026, 2, 21, 20, tzinfo=UTC)


def test_a_feed_that_moves_names_its_new_address() -> None:
    assert read("rss20_media.xml").moved_to == "https://new.example/feed.xml"


def videos(page: str) -> bytes:
    """A feed with this page, of two videos and an article elsewhere; a source is named for the second video."""
    items = [
        "<title>t0</title><link>https://www.youtube.com/watch?v=0</link>",
        "<title>t1</title><link>https://www.youtube.com/watch?v=1</link><source url='https://b.example/'>B</source>",
        "<title>t2</title><link>https://a.example/2</link>",
    ]
    entries = "".join(f"<item>{each}</item>" for each in items)
    return f'<rss version="2.0"><channel><title>t</title><link>{page}</link>{entries}</channel></rss>'.encode()


def test_the_page_of_a_channel_stands_for_the_publisher_of_its_videos() -> None:
    page = "https://www.youtube.com/channel/UCqY"
    urls = [item.publisher_url for item in parse(videos(page), BASE).items]
    assert urls == [page, "https://b.example/", ""]
    for other in ("https://www.youtube.com/playlist?list=1", "https://a.example/", ""):
        assert [item.publisher_url for item in parse(videos(other), BASE).items] == ["", "https://b.example/", ""]


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


def test_a_json_feed_is_read() -> None:
    document = read("jsonfeed11.json")
    first, second, fourth = document.items
    assert (document.version, document.title, document.site_url) == ("json11", "Example JSON", "https://json.example/")
    assert (first.headline, first.tags, first.summary_html) == ("JSON & friends", ("a", "b"), "1 &lt; 2")
    assert first.published == datetime(2026, 2, 21, 19, tzinfo=UTC)
    assert (second.article_id, second.url, second.content_html) == ("2", "http://feeds.example/two", "a &lt; b")
    assert fourth.headline.encode()
    assert document.skipped == {"no_title": 1, "not_an_entry": 1}


@pytest.mark.parametrize(
    ("odd", "headline", "warnings"),
    [
        ("&#55357;&#56960;", "A \U0001f680 in it", {}),  # how many publishers write an emoji
        ("&#xD83D;", "A \ufffd in it", {"malformed": 1}),
        ("&#x110000;", "A \ufffd in it", {"malformed": 1}),
        ("<gml:posList>1</gml:posList>", "A 1 in it", {"malformed": 1, "elements_ignored": 1}),
    ],
)
def test_an_element_over_which_feedparser_raises_costs_no_entry_behind_it(
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


def test_every_charset_gives_text_that_can_be_stored() -> None:
    for codec in filter(None, map(codec_of, aliases.values())):
        b"+2AA- \\ud800 \xed\xa0\x80".decode(codec, "replace").encode()


@pytest.mark.parametrize("charset", ["utf-16", "cp037", "rot13"])
def test_a_declared_charset_that_contradicts_the_first_character_is_ignored(charset: str) -> None:
    entry = "<item><title>Caf\xe9 ouvert</title><link>https://x.example/1</link></item>"
    feed = f"<rss version='2.0'><channel>{entry}</channel></rss>"
    declared = parse(f'<?xml version="1.0" encoding="{charset}"?>{feed}'.encode(), BASE)
    for document in (declared, parse(feed.encode(), BASE, f"text/xml; charset={charset}")):
        assert [item.headline for item in document.items] == ["Caf\xe9 ouvert"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"<!DOCTYPE html><html><body>x</body></html>", "html"),
        (b'<?xml version="1.0"?>\n<!-- c --><html xmlns="http://www.w3.org/1999/xhtml"/>', "html"),
        (b"<opml version='2.0'><body/></opml>", "not_a_feed"),
        (b"<channel><item><title>t</title></item></channel>", "not_a_feed"),
        (b'{"error": "no"}', "not_a_feed"),
        (b"[1, 2]", "not_a_feed"),
        (b"{broken", "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"items": ' + b"9" * 5_000 + b"}", "not_json"),
        (b"\x00" * 100, "not_a_feed"),
        (b"<!-- a --><?b?> <!-- c --><html>", "html"),
        (b"<!-- a -->" * 30 + b"<html>", "html"),
        (b"<!--" + b"x" * 49_988 + b"--><html>", "html"),
        (b"<!--" + b"x" * 49_989 + b"--><html>", "not_a_feed"),
        (b" " * 999 + b"{broken", "not_json"),
        (b" " * 1_000 + b"{broken", "not_a_feed"),
    ],
)
def test_a_body_that_is_no_feed_is_unreadable_with_its_kind(body: bytes, kind: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(body, BASE)
    assert caught.value.kind == kind
    assert str(caught.value).startswith("body: ")


DAYS = ("Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def channel(inner: str) -> bytes:
    entry = "<item><title>One</title><link>https://x.example/1</link><ttl>7</ttl></item>"
    sy = 'xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"'
    itunes = 'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
    return f'<rss version="2.0" {sy} {itunes}><channel>{inner}{entry}</channel></rss>'.encode()


@pytest.mark.parametrize(
    ("inner", "freshness"),
    [
        ("", Freshness()),
        ("<ttl> 60 </ttl>", Freshness(ttl_minutes=60)),
        ("<ttl>999999</ttl>", Freshness(ttl_minutes=999999)),
        ("<ttl>soon</ttl>", Freshness()),
        (
            "<skipHours><hour>0</hour><hour> 7 </hour><hour>24</hour><hour>25</hour></skipHours>",
            Freshness(skip_hours=frozenset({0, 7})),
        ),
        (
            f"<skipDays><day>Caturday</day><day> Monday </day><day>{'</day><day>'.join(DAYS)}</day></skipDays>",
            Freshness(skip_days=frozenset({"monday", *(day.lower() for day in DAYS)})),
        ),
        ("<skipHours><hour>24</hour></skipHours>", Freshness(skip_hours=frozenset({0}))),
        ("<hour>7</hour><day>Sunday</day>", Freshness()),
        ("<sy:updatePeriod>hourly</sy:updatePeriod>", Freshness(ttl_minutes=60)),
        ("<sy:updatePeriod>daily</sy:updatePeriod>", Freshness(ttl_minutes=1_440)),
        ("<sy:updatePeriod>weekly</sy:updatePeriod>", Freshness(ttl_minutes=10_080)),
        ("<sy:updatePeriod>monthly</sy:updatePeriod>", Freshness(ttl_minutes=43_200)),
        ("<sy:updatePeriod>yearly</sy:updatePeriod>", Freshness(ttl_minutes=525_600)),
        ("<sy:updatePeriod>seldom</sy:updatePeriod>", Freshness()),
        ("<sy:updateFrequency>2</sy:updateFrequency>", Freshness()),
        (
            "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>",
            Freshness(ttl_minutes=15),
        ),
        (
            "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>",
            Freshness(ttl_minutes=60),
        ),
        (
            "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>9999</sy:updateFrequency>",
            Freshness(ttl_minutes=1),
        ),
    ],
)
def test_a_channel_says_when_to_fetch_it_again(inner: str, freshness: Freshness) -> None:
    assert parse(channel(inner), BASE).freshness == freshness


@pytest.mark.parametrize(
    ("link", "site_url"),
    [
        ("https://news.example/", "https://news.example/"),
        ("/start", "http://feeds.example/start"),
        ("mailto:a@b.example", None),
        ("https://x.example/" + "a" * 1_981, "https://x.example/" + "a" * 1_981),
        ("https://x.example/" + "a" * 1_982, None),
    ],
)
def test_a_feed_names_its_site(link: str, site_url: str | None) -> None:
    assert parse(channel(f"<link>{link}</link>"), BASE).site_url == site_url


@pytest.mark.parametrize(
    ("encoding", "content_type"),
    [
        *((each, "text/xml; charset=utf-8") for each in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")),
        ("iso-8859-1", None),
    ],
)
def test_a_wide_encoding_or_a_declared_charset_is_read(encoding: str, content_type: str | None) -> None:
    entry = "<item><title>Caf\u00e9</title><link>https://x.example/1</link></item>"
    text = f"<?xml version='1.0' encoding='{encoding}'?><rss version='2.0'><channel>{entry}</channel></rss>"
    document = parse(text.encode(encoding), BASE, content_type)
    assert [item.headline for item in document.items] == ["Caf\u00e9"]
    assert document.warnings == {"date_missing": 1}


PAGE = "https://news.example/start/"
RSS = "application/rss+xml"


def test_a_web_page_names_its_feed() -> None:
    body = (FEEDS / "web_page.html").read_bytes()
    assert linked_feed(body, PAGE) == "https://news.example/feed.xml"
    with pytest.raises(Unreadable):
        parse(body, PAGE)


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<link rel=feed href=f>", "/start/f"),
        ("<link rel=feed href='ftp://x.example/f'>", None),
        ("<base rel=feed href='/b/'>", None),
        ("<link href=f>", None),
        ("<link rel=feed href=''>", None),
        (f"<link rel=stylesheet type={RSS} href=f>", None),
        ("<link rel=alternate type=text/html href=f>", None),
        (f"<a rel=alternate type={RSS} href=f>", None),
        (f"<link rel=alternate type={RSS} href='javascript:x'>", None),
        (f"<link rel=alternate type={RSS} href='http://['>", None),
        (f"<base href='/b/'><link rel=alternate type={RSS} href=f>", "/b/f"),
        (f"<base href='mailto:x'><link rel=alternate type={RSS} href=f>", "/start/f"),
        (f"<link rel=alternate type={RSS} href='f?a=1&amp;b=2'>", "/start/f?a=1&b=2"),
        (f"<link rel=alternate type={RSS} href=f><link rel=feed href=g title=T>", "/start/f"),
        ("<LINK REL='Alternate home' TYPE='Application/Atom+XML; x=1' HREF=/f>", "/f"),
        *(
            (f"<link rel=alternate type=application/{kind} href=/f>", "/f")
            for kind in ("atom+xml", "feed+json", "rdf+xml", "json")
        ),
    ],
)
def test_other_links_are_not_and_relative_ones_go_by_the_base(html: str, found: str | None) -> None:
    assert linked_feed(html.encode(), PAGE) == (found and f"https://news.example{found}")


def test_only_so_much_of_a_page_is_read() -> None:
    link = b"<link rel=feed href=f>"
    assert linked_feed(b"x" * (1_000_000 - len(link)) + link, PAGE) == "https://news.example/start/f"
    assert linked_feed(b"x" * (1_000_001 - len(link)) + link, PAGE) is None
