"""Any bytes are a feed or the one documented error, and both readers find the same items."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from xml.sax.saxutils import escape, quoteattr

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from models.raw_item import ParsedDocument
from models.values import WebUrl
from services.parse.collected import Unreadable
from services.parse.dates import parse_date
from services.parse.feed import linked_feed, parse
from services.parse.news_apis import NEWS_APIS
from services.parse.text import headline_text, html_to_text, strip_publisher
from services.parse.urls import normalize_url
from services.parse.xml_fast import Unsupported, read_fast
from services.parse.xml_feedparser import read_with_feedparser
from tests.unit.parse.feedparser_reading import BASE, FEEDS, read_by_feedparser

GOLDEN = [path.read_bytes() for path in sorted(FEEDS.iterdir()) if path.stat().st_size < 10_000]
SPLINTERS = [
    *(b"<", b">", b"&", b'"', b"'", b"]]>", b"<![CDATA[", b"<!--", b"<?xml", b"<!DOCTYPE x [", b"&a;", b"&#0;"),
    *(b"&#xD800;", b"&#99999999;", b"<item>", b"</item>", b"<title>", b"<svg>", b"\x00", b"\xff"),
    b"xmlns='http://purl.org/rss/1.0/'",
]
TYPES = st.sampled_from([None, "text/xml", "application/rss+xml; charset=utf-16", "text/html; charset=latin-1", "x"])
URL = TypeAdapter[str](WebUrl)


def storable(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text


def check(document: ParsedDocument) -> None:
    """What holds for the items of every document."""
    for item in document.items:
        URL.validate_python(item.url)
        assert normalize_url(item.url)
        assert item.headline == " ".join(item.headline.split()) != ""
        assert item.published is None or item.published.tzinfo is UTC
        assert (item.published is None) == (item.published_flag is not None)
        assert all(map(storable, (item.headline, item.url, item.article_id or "", item.publisher or "", *item.tags)))
        assert storable(item.summary_html + item.content_html)
        html_to_text(item.content_html)
    assert all(count > 0 for count in (*document.warnings.values(), *document.skipped.values()))


def attempt(read: Callable[[], ParsedDocument]) -> None:
    try:
        check(read())
    except Unreadable:
        return


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A golden document with some pieces cut out, doubled, exchanged or overwritten."""
    body = draw(st.sampled_from(GOLDEN))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.integers(0, 200)))
        pieces = [b"", body[start:end] * 2, draw(st.binary(max_size=8)), draw(st.sampled_from(SPLINTERS))]
        body = body[:start] + draw(st.sampled_from(pieces)) + body[end:]
    return body


@given(st.binary(max_size=300) | mutated(), TYPES)
@settings(max_examples=250)
def test_any_bytes_are_read_or_unreadable(body: bytes, content_type: str | None) -> None:
    attempt(lambda: parse(body, BASE, content_type))
    for api in NEWS_APIS:
        attempt(partial(api.parse, body))
    linked_feed(body, BASE)


NAMES = (
    "title link guid id pubDate published updated category description summary content source author image name "
    "media:title media:description media:group media:content media:keywords dc:title dc:date dc:subject dc:description "
    "dc:creator content:encoded dcterms:created itunes:summary itunes:keywords x:y tags date links item div"
)
ATTRIBUTES = "type rel href url isPermaLink term domain xml:base base x:z mode"
VALUES = "text html xhtml text/html alternate self true false tag /a https://x.example/b"
PHRASES = [
    "A title",
    "https://x.example/1?a=1&b;=2",
    "Sat, 21 Feb 2026 20:00:00 GMT",
    "2026-02-21",
    "&amp;",
    "<b>x</b>",
]
TEXTS = st.text(st.sampled_from("ab <>&;\u00e9\u00a0\u0092\u2019\U0001f680\n#")) | st.sampled_from(PHRASES)
SPACES = (
    'xmlns:media="http://search.yahoo.com/mrss/" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:x="urn:x" '
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
)
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'


def word_of(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words.split())


@st.composite
def elements(draw: st.DrawFn, depth: int = 0) -> str:
    name = draw(word_of(NAMES))
    attributes = draw(st.dictionaries(word_of(ATTRIBUTES), word_of(VALUES), max_size=2))
    said = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    has_more = depth < 2 and draw(st.integers(0, 4)) == 0
    below = draw(st.lists(elements(depth + 1), max_size=2)) if has_more else []
    return f"<{name}{said}>{escape(draw(TEXTS))}{''.join(below)}</{name}>"


@st.composite
def feeds(draw: st.DrawFn) -> bytes:
    """A well-formed feed of entries that say what they like, as often and in what order they like."""
    entries = draw(st.lists(st.lists(elements(), max_size=6).map("".join), min_size=1, max_size=3))
    form = draw(st.sampled_from(["rss", "atom", "rdf"]))
    if form == "atom":
        inner = "".join(f"<entry><link href='https://x.example/a'/>{entry}</entry>" for entry in entries)
        return f'<feed xmlns="http://www.w3.org/2005/Atom" {SPACES}>{inner}</feed>'.encode()
    start = draw(st.sampled_from(["<title>Always one</title><link>https://x.example/1</link>", ""]))
    inner = "".join(f"<item>{start}{entry}</item>" for entry in entries)
    if form == "rss":
        return f'<rss version="2.0" {SPACES}><channel>{inner}</channel></rss>'.encode()
    return f"<rdf:RDF {RDF} {SPACES}><channel/>{inner}</rdf:RDF>".encode()


LETTERS = "ab  &<\u00e9\u00c3\u00a9\u0092\u2019\U0001f680\t"
WORDS = st.text(st.sampled_from(LETTERS), min_size=1, max_size=12).map(escape)
COMMON = {
    "rss": """<title>{0}</title> | <link>https://x.example/{1}</link> | <guid isPermaLink='false'>{2}</guid>
        | <guid>https://x/{2}</guid> | <pubDate>Sat, {1} Feb 2026 20:00:00 +0100</pubDate>
        | <dc:creator>{0}</dc:creator> | <category>{2}</category> | <category>{3}</category>
        | <description>{3}</description> | <content:encoded>{0}</content:encoded>""",
    "atom": """<title type='text'>{0}</title> | <link rel='alternate' type='text/html' href='https://x.example/{1}'/>
        | <id>tag:x,2026:{1}</id> | <id>{2}</id> | <published>2026-02-{1}T20:00:00+01:00</published>
        | <updated>2026-02-{1}T20:00:00.5Z</updated> | <author><name>{0}</name></author> | <category term='{1}'/>
        | <summary type='html'>{3}</summary> | <content type='html'>{0}</content>""",
    "rdf": """<title>{0}</title> | <link>https://x.example/{1}</link> | <dc:date>2026-02-{1}T20:00:00Z</dc:date>
        | <dc:creator>{0}</dc:creator> | <dc:subject>{2}</dc:subject> | <dc:subject>{3}</dc:subject>
        | <description>{3}</description> | <content:encoded>{0}</content:encoded>""",
}


@st.composite
def common_feeds(draw: st.DrawFn) -> bytes:
    """A feed as they nearly all are, but for the words in it."""
    form = draw(st.sampled_from(sorted(COMMON)))
    names = draw(st.permutations(COMMON[form].split("|")))[: draw(st.integers(5, 9))]
    entries = [
        "".join(names).format(draw(WORDS), draw(st.integers(10, 28)), draw(WORDS), draw(WORDS)) for _ in range(2)
    ]
    if form == "atom":
        return f'<feed xmlns="http://www.w3.org/2005/Atom"><entry>{"</entry><entry>".join(entries)}</entry></feed>'.encode()
    inner = f"<item>{'</item><item>'.join(entries)}</item>"
    if form == "rss":
        return f'<rss version="2.0" {SPACES}><channel>{inner}</channel></rss>'.encode()
    return f"<rdf:RDF {RDF} {SPACES}><channel/>{inner}</rdf:RDF>".encode()


@given(feeds() | common_feeds())
@settings(max_examples=150)
def test_both_readers_find_the_same_in_a_well_formed_feed(body: bytes) -> None:
    check(parse(body, BASE))
    try:
        fast = read_fast(body, BASE)
    except Unsupported:
        return
    slow = read_with_feedparser(body, BASE)
    assert fast.items() == slow.items()
    assert (fast.version, fast.skipped) == (slow.version, slow.skipped)


def written(moment: datetime) -> list[str]:
    return [
        f"{moment:%a, %d %b %Y %H:%M:%S} GMT",
        f"{moment:%a, %d %b %Y %H:%M:%S} -0730",
        f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        f"{moment.isoformat()}+05:45",
        f"{moment:%d %b %Y %H:%M} EST",
        f"{moment:%Y-%m-%d}",
        f"{moment:%Y%m%d}",
    ]


DATES = st.datetimes().flatmap(lambda moment: st.sampled_from(written(moment)))


@given(DATES | st.text(st.sampled_from("0123456789-+:TZ ,.JanFebGMT"), max_size=32))
@settings(max_examples=300)
def test_a_date_means_what_it_means_to_feedparser(text: str) -> None:
    item = f"<item><title>t</title><link>http://x/</link><pubDate>{text}</pubDate></item>"
    _, (entry,) = read_by_feedparser(f"<rss version='2.0'><channel>{item}</channel></rss>".encode())
    assert parse_date(text.strip()) == entry.published


@given(st.text())
@settings(max_examples=200)
def test_text_comes_out_on_one_line_and_only_loses_its_end(text: str) -> None:
    headline = headline_text(text, is_html=True)
    assert headline == " ".join(headline.split())
    assert storable(headline)
    stripped = strip_publisher(headline, ["Some Paper"])
    assert headline.startswith(stripped)
    assert bool(stripped) == bool(headline)


HOSTS = ["example.com", "EXAMPLE.com.", "b\u00fccher.example", "[::1]", "x.example:80", "x.example:8443", "u:p@h"]


@given(st.sampled_from(["http", "HTTPS"]), st.sampled_from(HOSTS), st.text())
@settings(max_examples=300)
def test_normalising_a_url_again_changes_nothing(scheme: str, host: str, rest: str) -> None:
    once = normalize_url(f"{scheme}://{host}/{rest}")
    assert normalize_url(once) == once
    assert once.isascii()
    URL.validate_python(once)
