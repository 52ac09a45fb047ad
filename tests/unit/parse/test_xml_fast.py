"""Both readers find the same titles, links, ids, dates, tags and texts as feedparser itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.parse.feed import parse
from services.parse.xml_fast import LONGEST_TAG, Unsupported, has_long_tag, read_fast, without_long_tags
from services.parse.xml_feedparser import read_with_feedparser
from tests.unit.parse.feedparser_reading import BASE, FEEDS, Reading, read_by_feedparser, read_by_us

XML = sorted(FEEDS.glob("*.xml"))
OURS_IS_BETTER = {
    "rss20_links.xml": "an empty link element does not hide the permalink, and a port must be a number",
    "rss20_repeated_guids.xml": "a guid that repeats identifies nothing",
    "rss20_titles.xml": "a title is cut at a thousand characters",
}
FAST = {
    "atom10.xml",
    "atom10_youtube.xml",
    "rss10.xml",
    "rss20_aggregator.xml",
    "rss20_dates.xml",
    "rss20_links.xml",
    "rss20_media.xml",
    "rss20_repeated_guids.xml",
    "rss20_strange_namespaces.xml",
    "rss20_titles.xml",
    "rss20_utf16.xml",
    "rss20_wordpress.xml",
}


@pytest.mark.parametrize("path", [path for path in XML if path.name not in OURS_IS_BETTER], ids=lambda path: path.stem)
def test_a_document_is_read_as_feedparser_reads_it(path: Path) -> None:
    version, expected = read_by_feedparser(path.read_bytes())
    document = parse(path.read_bytes(), BASE)
    assert document.version == version
    assert read_by_us(document) == expected
    assert document.items


LEFT = [path for path in XML if path.name not in FAST]


@pytest.mark.parametrize("path", LEFT, ids=lambda path: path.stem)
def test_what_the_fast_reader_does_not_support_is_left_to_feedparser(path: Path) -> None:
    with pytest.raises(Unsupported):
        read_fast(path.read_bytes(), BASE)


@pytest.mark.parametrize(
    ("content_type", "encoding", "declared", "is_guessed"),
    [
        ("text/xml", "utf-8", "utf-8", False),
        ("text/html", "utf-8", None, False),
        ("application/rss+xml; charset=iso-8859-1", "iso-8859-1", None, False),
        ("application/rss+xml; charset=iso-8859-1", "utf-8", "utf-8", False),
        ('application/xml;charset="UTF-8"', "utf-8", "iso-8859-1", False),
        ('application/xml;charset="UTF-8"', "iso-8859-15", "iso-8859-15", True),
        ("application/octet-stream", "windows-1252", "windows-1252", False),
        ("application/xml; charset=nonsense", "utf-8", "also-nonsense", False),
        ("application/xml; charset=idna", "utf-8", "punycode", False),
        ("application/xml", "windows-1252", None, True),
        ("application/xml", "gb18030", "gb2312", False),
    ],
)
def test_the_encoding_is_found_as_feedparser_finds_it(
    content_type: str, encoding: str, declared: str | None, is_guessed: bool
) -> None:
    title = "汉字 news" if encoding == "gb18030" else "Café news" if "iso" in encoding else "Café “quoted” news"
    declaration = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    item = f"<item><title>{title}</title><link>https://x.example/1</link></item>"
    body = f'{declaration}<rss version="2.0"><channel>{item}</channel></rss>'.encode(encoding)
    _, expected = read_by_feedparser(body, content_type)
    document = parse(body, BASE, content_type)
    assert read_by_us(document) == expected
    assert expected[0].title == title
    assert ("encoding_guessed" in document.warnings) is is_guessed


NAMESPACES = {
    "media": "http://search.yahoo.com/mrss/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "itunes": "http://www.itunes.com/DTDs/Podcast-1.0.dtd",
    "atom": "http://www.w3.org/2005/Atom",
    "x": "urn:x",
}
SPACES = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
ORDERS = [
    "<title></title><title>Two</title>",
    "<media:group><media:title>M</media:title></media:group>",
    "<title>T</title><description>d</description><media:description>m</media:description><content:encoded/>",
    "<title>T</title><content:encoded>c</content:encoded><description>d</description>",
    "<title>T</title><media:group><media:description>m</media:description></media:group>",
    "<title>T</title><itunes:summary>i &lt; j</itunes:summary>",
    "<title>T</title><category domain='x'>a</category><category domain='x'>b</category><category>a</category>",
    "<title>T</title><category term='t' label='l'>text</category><media:keywords>a, b,,c</media:keywords>",
    "<title>T</title><pubDate>no date</pubDate><dcterms:created>2026-02-21T00:00:00Z</dcterms:created>",
    "<title>T</title><guid>g</guid><link>https://x.example/2</link><atom:link href='https://x.example/3'/>",
    "<title>T</title><atom:link rel='self' href='https://x.example/self'/><atom:link rel='ALTERNATE' href='/alt'/>",
    "<title>T</title><author><name>n</name></author><x:y><title>nested</title></x:y>",
    "<title>T<b>old</b></title>",
    "<Title>Upper</Title><LINK>https://x.example/upper</LINK>",
    "<title>T</title><link>https://x.example/?a=1&amp;amp;b;=2</link>",
    "<title>T</title><link>HTTPS://X.example//a/../b?</link>",
    "<title>T</title><link> \n https://x.example/wrapped\n</link>",
]


@pytest.mark.parametrize("inner", ORDERS)
def test_repeated_or_reordered_elements_count_as_they_do_for_feedparser(inner: str) -> None:
    link = "" if "ink" in inner else "<link>https://x.example/1</link>"
    body = f'<rss version="2.0" {SPACES}><channel><item>{inner}{link}</item></channel></rss>'.encode()
    assert read_by_us(parse(body, BASE)) == [Reading(*each) for each in read_by_feedparser(body)[1]]


def test_the_title_and_link_of_a_feed_are_its_own() -> None:
    item = "<item><title>T</title><link>https://x.example/1</link></item>"
    image = "<image><title>I</title><link>/i</link></image>"
    head = f"{image}<title>One</title><link>/1</link><atom:link rel='self' href='/f'/>"
    ours = parse(f"<rss version='2.0' {SPACES}><channel>{head}{item}</channel></rss>".encode(), BASE)
    assert (ours.title, ours.site_url) == ("One", "http://feeds.example/1")


DECLARATION = "<?xml version='1.0' encoding='utf-8'?>"
PROLOGS = [
    DECLARATION + '<!DOCTYPE rss [<!ENTITY foo "bar">]>',
    DECLARATION + '\n<!DOCTYPE rss [\n<!ENTITY foo "bar">\n]>',
    DECLARATION + '\n<!DOCTYPE rss [<!ENTITY foo "bar">]>',
    "<!DOCTYPE html>",
    "<?PHP" + "." * 400 + ">",
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("prolog", PROLOGS)
def test_prologs_are_read_as_feedparser_reads_them(prolog: str, encoding: str) -> None:
    item = "<item><title>A &foo; &amp;hellip; B</title><link>https://x.example/1</link><category>A&amp;amp;B</category>"
    text = (
        prolog
        + f"<rss version='2.0'><channel>{item}<description>&amp;lt; {'x' * 100}</description></item></channel></rss>"
    )
    _, expected = read_by_feedparser(text.encode())
    assert read_by_us(parse(text.replace("'utf-8'", f"'{encoding}'").encode(encoding), BASE)) == expected
    assert expected


ENTRY = "<item><title>T</title><link>https://x.example/1</link></item>"
RDF_ROOT = 'rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("0.91", "rss091u"),
        ("0.94", "rss094"),
        ("2.0", "rss20"),
        ("2.0.1", "rss20"),
        ("1.0", "rss"),
        ("", "rss"),
    ],
)
def test_the_version_of_an_rss_feed_is_named_as_feedparser_names_it(version: str, name: str) -> None:
    body = f"<rss version='{version}'><channel>{ENTRY}</channel></rss>".encode()
    assert read_fast(body, BASE).version == read_with_feedparser(body, BASE).version == name


@pytest.mark.parametrize(
    "body",
    [
        f"<rss><channel>{ENTRY}</channel><channel/></rss>",
        f"<rss xml:base='/b'><channel>{ENTRY}</channel></rss>",
        f"<rss><channel><entry/>{ENTRY}</channel></rss>",
        f"<other>{ENTRY}</other>",
        f"<{RDF_ROOT}>{ENTRY}<channel/></rdf:RDF>",
        f"<!DOCTYPE rss><rss><channel>{ENTRY}</channel></rss>",
        f"<?xml version='1.0'?><?x <r?><!DOCTYPE rss><rss><channel>{ENTRY}</channel></rss>",
        f"<rss><channel>{ENTRY}</channel>",
    ],
)
def test_these_documents_are_left_to_feedparser(body: str) -> None:
    with pytest.raises(Unsupported):
        read_fast(body.encode(), BASE)


@pytest.mark.parametrize(
    "body",
    [
        f"<rss><channel><image><title>I</title></image><textInput><title>S</title></textInput>{ENTRY}</channel></rss>",
        f"<?xml version='1.0'?><rss><channel><!-- <!DOCTYPE -->{ENTRY}</channel></rss>",
        f"<{RDF_ROOT}><channel/><image/>{ENTRY}</rdf:RDF>",
    ],
)
def test_these_documents_are_read_fast(body: str) -> None:
    assert [item.headline for item in read_fast(body.encode(), BASE).items()] == ["T"]


@pytest.mark.parametrize(
    ("attributes", "link"),
    [
        ("href='/l'", "/l"),
        ("href='/l' rel='Alternate' title='t' hreflang='en' length='1' type='html'", "/l"),
        ("href='/l' rel='self'", ""),
        ("href='/l' type='application/xhtml+xml'", "/l"),
        ("href='/l' type='text/plain'", ""),
    ],
)
def test_the_link_of_an_atom_feed_is_an_alternate_of_html(attributes: str, link: str) -> None:
    entry = "<entry><title>T</title><link href='https://x.example/1'/></entry>"
    body = f"<feed xmlns='http://www.w3.org/2005/Atom'><link {attributes}/>{entry}</feed>".encode()
    assert read_fast(body, BASE).link == (f"http://feeds.example{link}" if link else "")


def test_a_document_of_over_450000_tags_is_left_to_feedparser() -> None:
    frame = f"<rss><channel>{ENTRY}%s</channel></rss>"
    body = (frame % ("<a/>" * (450_001 - frame.count("<")))).encode()
    assert body.count(b"<") == 450_001
    with pytest.raises(Unsupported):
        read_fast(body, BASE)


@pytest.mark.parametrize(
    ("equals_in_tag", "equals_in_text", "supported"), [(29_999, 0, True), (30_000, 0, False), (0, 40_000, True)]
)
def test_a_document_with_a_long_tag_and_over_30000_attributes_is_left_to_feedparser(
    equals_in_tag: int, equals_in_text: int, supported: bool
) -> None:
    value = "=" * equals_in_tag + "x" * (70_000 if equals_in_tag else 0)
    body = f"<rss><channel><a b='{value}'/>{'=' * equals_in_text}{ENTRY}</channel></rss>".encode()
    if supported:
        assert len(read_fast(body, BASE).items()) == 1
    else:
        with pytest.raises(Unsupported):
            read_fast(body, BASE)


def tag_of(size: int) -> bytes:
    return b"<a b='" + b"x" * (size - 7) + b"'"


def test_a_tag_of_over_64_kilobytes_is_long() -> None:
    assert len(tag_of(LONGEST_TAG)) == LONGEST_TAG == 65_536
    assert not has_long_tag(b"<r>" + tag_of(LONGEST_TAG) + b"></a></r>")
    assert has_long_tag(b"<r>" + b"x" * 4 * LONGEST_TAG + tag_of(LONGEST_TAG + 1) + b"></a></r>")
    assert not has_long_tag(b"<r>" + b"x" * 4 * LONGEST_TAG + b"</r>")


def test_a_long_tag_keeps_its_name_only() -> None:
    short, long = tag_of(LONGEST_TAG), tag_of(LONGEST_TAG + 1)
    assert without_long_tags(b"<r>" + short + b"></a></r>") == b"<r>" + short + b"></a></r>"
    assert without_long_tags(b"<r>" + long + b"></a></r>") == b"<r><a ></a></r>"


DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
ITEM = "<item{0}><title{1}>One</title><link>http://a.example/1</link>{2}</item>"


@pytest.mark.parametrize(
    ("root", "channel", "item", "expected"),
    [
        ("", "", ("", "", ""), ""),
        ("", "<language>de-AT</language>", ("", "", ""), "de"),
        ("", "<dc:language>pt_BR</dc:language>", ("", "", ""), "pt"),
        ("", "<language>de</language><dc:language>fr</dc:language>", ("", "", ""), "fr"),
        (' xml:lang="nl"', "", ("", "", ""), "nl"),
        (' xml:lang="nl"', "", (' xml:lang="ja"', "", ""), "ja"),
        (' xml:lang="nl"', "", (' xml:lang="ja"', ' xml:lang="it"', ""), "it"),
        ("", "<language>de</language>", (' xml:lang="ja"', "", ""), "ja"),
        ("", "<language>de</language>", (' xml:lang="ja"', "", "<dc:language>es</dc:language>"), "es"),
        ("", "<language>de</language>", ("", "", "<language>es</language>"), "es"),
        ("", "<language>English</language>", ("", "", ""), ""),
    ],
)
def test_both_readers_find_the_declared_language(
    root: str, channel: str, item: tuple[str, str, str], expected: str
) -> None:
    body = f'<rss version="2.0" {DC}{root}><channel><title>T</title>{channel}{ITEM.format(*item)}</channel></rss>'
    fast = read_fast(body.encode(), BASE)
    slow = read_with_feedparser(body.encode(), BASE)
    assert [each.language for each in fast.items()] == [expected]
    assert fast.items() == slow.items()


ATOM_ENTRY = '<entry{0}><title>One</title><id>{0}</id><link href="http://a.example/1"/></entry>'
ATOM_ENTRIES = "".join(map(ATOM_ENTRY.format, ("", ' xml:lang="fr-CA"', ' lang="es"')))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de">{ATOM_ENTRIES}</feed>', ["de", "fr", "es"]),
        (f"<{RDF_ROOT} {DC}><channel><dc:language>ja</dc:language></channel>{ENTRY}</rdf:RDF>", ["ja"]),
    ],
)
def test_atom_and_rss_1_declare_languages(body: str, expected: list[str]) -> None:
    fast = read_fast(body.encode(), BASE)
    assert [each.language for each in fast.items()] == expected
    assert fast.items() == read_with_feedparser(body.encode(), BASE).items()
