"""Any bytes are a feed or the one documented error, and both readers find the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from models.raw_item import ParsedDocument
from models.values import WebUrl
from services.parse.collected import Unreadable
from services.parse.dates import parse_date
from services.parse.feed import parse
from services.parse.news_apis import NEWS_APIS
from services.parse.page_links import discover
from services.parse.text import headline_text, html_to_text, strip_publisher
from services.parse.urls import is_plain_url, normalize_url
from services.parse.xml_elements import Unsupported
from services.parse.xml_fast import read_fast
from services.parse.xml_feedparser import read_with_feedparser
from tests.unit.parse.feedparser_reading import BASE, FEEDS, read_by_feedparser, read_by_us

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
@settings(max_examples=250, deadline=None)
def test_any_bytes_are_read_or_unreadable(body: bytes, content_type: str | None) -> None:
    attempt(lambda: parse(body, BASE, content_type))
    for api in NEWS_APIS:
        attempt(partial(api.parse, body))
    discover(body, BASE)


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
        | <summary type='html'>{3}</summary> | <summary>{2}</summary> | <content type='html'>{0}</content>""",
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


ANY = """<media:content url='{1}' medium='image'><media:title type='plain'>{0}</media:title>
        <media:description>{0}</media:description></media:content> | <media:thumbnail url='{1}'/>
        | <dc:title>{0}</dc:title>
        | <media:group><media:content url='{1}'/><media:description type='html'>{0}</media:description></media:group>
        | <media:keywords>{0}, b</media:keywords> | <dc:date>{2}</dc:date> | <dc:subject>{0}</dc:subject>
        | <feedburner:origLink>{1}</feedburner:origLink> | <content:encoded>{0}</content:encoded> | <!-- {2} -->
        | <?p q?> | <x:odd>{0}</x:odd> | <dc:creator>{0}</dc:creator> | <dcterms:created>{2}</dcterms:created>"""
WIDE = {
    "rss": """<title>{0}</title> | <title type='html'>{0}</title> | <link>{1}</link> | <link xml:base='/b/'>{1}</link>
        | <guid>{1}</guid> | <guid isPermaLink='false'>{0}</guid> | <pubDate>{2}</pubDate> | <pubdate>{2}</pubdate>
        | <atom:updated>{2}</atom:updated> | <atom:link rel='alternate' href='{1}'/>
        | <atom:link rel='self' href='{1}'/> | <description>{0}</description>
        | <atom:summary>{0}</atom:summary> | <category domain='d'>{0}</category>
        | <source url='{1}'>{0}</source> | <itunes:summary>{0}</itunes:summary> | <itunes:image href='{1}'/>
        | <enclosure url='{1}' length='1' type='audio/mpeg'/> | <xhtml:body><xhtml:p>{0}</xhtml:p></xhtml:body>
        | <image><url>u</url><title>{0}</title><link>{1}</link></image> | <comments>{1}</comments> | """
    + ANY,
    "atom": """<title>{0}</title> | <title type='html'>{0}</title> | <link href='{1}'/> | <link rel='via' href='{1}'/>
        | <link rel='alternate' type='application/json' href='{1}'/>
        | <link href='{1}' xml:base='https://b.example/c/'/>
        | <title type='xhtml'><xhtml:div>{0}<xhtml:a href='/r'>{0}</xhtml:a></xhtml:div></title> | <id>{1}</id>
        | <id>{0}</id> | <published>{2}</published> | <updated>{2}</updated> | <issued>{2}</issued>
        | <modified>{2}</modified>
        | <summary type='text'>{0}</summary> | <summary type='html'>{0}</summary> | <content>{0}</content>
        | <content type='xhtml' xml:base='/b/'><xhtml:div>{0}<xhtml:br/></xhtml:div></content> | <content src='{1}'/>
        | <category term='{3}' label='L'/> | <author><name>{0}</name></author> | <content mode='escaped'>{0}</content>
        | <source><title>{0}</title><link href='{1}'/><updated>{2}</updated></source> | """
    + ANY,
}
ADDRESSES = (
    "https://x.example/1 http://x.example/a?b=1&amp;c=2 /rel/1 rel.html //y.example/1 #f ?q=1 mailto:a@b.c "
    "HTTP://X.example/2 https://x.example/\u00fc/1 ../up/1 https://x.example/a%20b"
)
STAMPS = (
    "Sat, 21 Feb 2026 20:00:00 GMT|2026-02-21T20:00:00Z|2026-02-21T20:00:00+05:30|21 Feb 2026 20:00 EST|yesterday||"
    "Sat, 21 Feb 26 20:00:00 +0100|2026-02-21|Thu, 01 Jan 1970 00:00:00 GMT|20260221T200000|Feb 21, 2026"
)
PIECES = (
    "Apple|&|<b>bold</b>|caf\u00e9|\u2014|AT&T|&amp;|&lt;i&gt;|5 < 6|\u00a0|&#8217;|&nbsp;|\U0001f600| |\n|<p>p</p>"
)
SAID = st.lists(st.sampled_from(PIECES.split("|")), max_size=4).map(" ".join)
WRITTEN = st.one_of(
    SAID.map(escape), SAID.map(lambda text: f"<![CDATA[{text}]]>"), SAID.map(lambda text: escape(escape(text)))
)
MORE = SPACES + (
    " xmlns:feedburner='http://rssnamespace.org/feedburner/ext/1.0' xmlns:atom='http://www.w3.org/2005/Atom'"
    " xmlns:xhtml='http://www.w3.org/1999/xhtml'"
)
ROOTS = {
    "rss20": f"<rss version='2.0' {MORE}><channel>{{}}</channel></rss>",
    "rss20 elsewhere": f"<rss version='2.0' xml:base='https://b.example/' {MORE}><channel>{{}}</channel></rss>",
    "rss091": f"<rss version='0.91' {MORE}><channel>{{}}</channel></rss>",
    "rss092": f"<rss version='0.92' {MORE}><channel>{{}}</channel></rss>",
    "rss10": f"<rdf:RDF {RDF} {MORE}><channel/>{{}}</rdf:RDF>",
    "rss090": f"<rdf:RDF {RDF.replace('purl.org/rss/1.0/', 'my.netscape.com/rdf/simple/0.9/')} {MORE}>{{}}</rdf:RDF>",
    "atom10": f"<feed xmlns='http://www.w3.org/2005/Atom' {MORE}>{{}}</feed>",
    "atom10 elsewhere": f"<feed xmlns='http://www.w3.org/2005/Atom' xml:base='https://b.example/d/' {MORE}>{{}}</feed>",
    "atom03": f"<feed version='0.3' xmlns='http://purl.org/atom/ns#' {MORE}>{{}}</feed>",
}
ENCODINGS = st.sampled_from(["", "utf-8", "utf-8-sig", "iso-8859-1", "windows-1252", "us-ascii", "utf-16"])


@st.composite
def wide_feeds(draw: st.DrawFn) -> bytes:
    """A well-formed feed of any kind, in any encoding, of what feeds are seen to say."""
    root = draw(st.sampled_from(sorted(ROOTS)))
    atom = root.startswith("atom")
    kinds = st.sampled_from(WIDE["atom" if atom else "rss"].split("|"))
    entries = []
    for number in range(draw(st.integers(1, 2))):
        address = draw(word_of(ADDRESSES))
        stamp = draw(st.sampled_from(STAMPS.split("|")))
        always = [
            "<title>One</title>",
            f"<link href='https://x.example/{number}'/>" if atom else f"<link>/{number}</link>",
        ]
        said = [each.format(draw(WRITTEN), address, stamp, draw(WORDS)) for each in draw(st.lists(kinds, max_size=7))]
        entries.append("".join(draw(st.permutations([*always, *said]))))
    name = "entry" if atom else "item"
    text = ROOTS[root].format("".join(f"<{name}>{each}</{name}>" for each in entries))
    encoding = draw(ENCODINGS)
    declared = f"<?xml version='1.0' encoding='{encoding.removesuffix('-sig')}'?>" if encoding else ""
    return (declared + text).encode(encoding or "utf-8", "xmlcharrefreplace")


@given(wide_feeds())
@example(
    f"<rss version='2.0' {MORE}><channel><item><atom:summary>5 &lt; 6</atom:summary>"
    "<content:encoded>c</content:encoded><media:content><media:description>d</media:description></media:content><title>T</title><link>/1</link></item>"
    "</channel></rss>".encode()
)
@example(
    b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><title>T</title><link href='/1'/>"
    b"<category term='  '/></entry></feed>"
)
@settings(max_examples=200, deadline=None)
def test_a_feed_of_any_kind_is_read_as_feedparser_reads_it(body: bytes) -> None:
    _, expected = read_by_feedparser(body)
    try:
        ours = read_by_us(parse(body, BASE, "application/xml"))
    except Unreadable:
        assert expected == []
        return
    ids = Counter(each.id for each in expected)
    theirs = [each._replace(id=each.id if ids[each.id] == 1 else None) for each in expected]
    assert ours == theirs


@pytest.mark.slow
@given(feeds() | common_feeds() | wide_feeds())
@settings(max_examples=250, deadline=None)
def test_both_readers_find_the_same_in_a_well_formed_feed(body: bytes) -> None:
    check(parse(body, BASE))
    try:
        fast = read_fast(body, BASE)
    except Unsupported:
        return
    slow = read_with_feedparser(body, BASE, "application/xml")
    assert fast.items() == slow.items()
    assert (fast.version, fast.skipped) == (slow.version, slow.skipped)


@given(feeds() | mutated())
@example(
    b'<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><item><title>One</title><link>https://'
    b"x.example/1</link></item><item><title>One</title><link>https://x.example/1</link><author><media:description>"
    b"<author></author></media:description></author></item></channel></rss>"
)
@example(
    # What the root is called does not matter where the namespace says what it is.
    b'<eed xmlns="http://www.w3.org/2005/Atom"><entry><id>tag:x.example,2026:1</id><title>One</title>'
    b"<link href='https://x.example/1'/></entry></feed>"
)
@example(
    # A declaration without an end: what follows it must not be cut in two.
    b'<?TY "' + b"x" * 460 + b'">\n<rss version="2.0"><channel><item><title>One</title><link>https://x.example/1</link>'
    b"</item></channel></rss>"
)
@settings(max_examples=120, deadline=None)
def test_the_limits_put_into_feedparser_change_nothing_that_it_reads(body: bytes) -> None:
    try:
        version, expected = read_by_feedparser(body)
    except (LookupError, AttributeError, TypeError, ValueError):
        return  # feedparser itself gives up; that we do not is tested above
    try:
        document = parse(body, BASE, "application/xml")
    except Unreadable:
        assert not version or not expected
        return
    assert document.version == version or not version
    # feedparser does not refuse links or ids that repeat, and does not read a permalink beside an empty link.
    ours = [each._replace(id=None) for each in read_by_us(document)]
    theirs = [each._replace(id=None) for each in expected]
    assert [each for each in ours if each in theirs] == [each for each in theirs if each in ours]
    assert {each.link for each in theirs if is_plain_url(each.link)} <= {each.link for each in ours}


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
@settings(max_examples=300, deadline=None)
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
