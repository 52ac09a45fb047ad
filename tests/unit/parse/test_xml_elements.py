"""What each element means, which attributes the fast reader refuses, and what is done with long tags."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import pytest

from services.parse import xml_elements as xml
from services.parse.xml_elements import (
    LONGEST_TAG,
    MAX_OTHER_NAMESPACES,
    MAX_REMEMBERED,
    Kinds,
    Unsupported,
    check_attributes,
    has_entries,
    has_long_tag,
    is_html,
    is_permalink,
    text_of,
    without_long_tags,
)

MEDIA = "{http://search.yahoo.com/mrss/}"
DC = "{http://purl.org/dc/elements/1.1/}"
DCTERMS = "{http://purl.org/dc/terms/}"
ITUNES = "{http://www.itunes.com/dtds/podcast-1.0.dtd}"


def kind(tag: str, document: str = "") -> int:
    return Kinds(document.encode())[tag]


@pytest.mark.parametrize(
    ("tag", "meaning"),
    [
        ("TITLE", xml.TITLE),
        ("link", xml.LINK),
        ("guid", xml.ID),
        ("category", xml.CATEGORY),
        ("description", xml.SUMMARY),
        ("summary", xml.ATOM_SUMMARY),
        ("content", xml.CONTENT),
        ("published", xml.PUBLISHED),
        ("updated", xml.UPDATED),
        ("lastBuildDate", xml.UPDATED),
        *((name, xml.IGNORE) for name in ["author", "comments", "enclosure", "copyright", "generator", "ttl", "cloud"]),
        (xml.ATOM + "title", xml.TITLE),
        (xml.ATOM + "updated", xml.UPDATED),
        (xml.ATOM + "author", xml.IGNORE),
        (xml.RSS1 + "title", xml.TITLE),
        (xml.RSS1 + "items", xml.IGNORE),
        ("{http://purl.org/rss/1.0/modules/content/}encoded", xml.ENCODED),
        ("{http://www.georss.org/georss}point", xml.IGNORE),
        ("{http://www.opengis.net/gml}pos", xml.IGNORE),
        ("pubdate", xml.PUBLISHED),
        ("issued", xml.PUBLISHED),
        ("modified", xml.UPDATED),
        ("created", xml.CREATED),
        ("id", xml.ID),
        ("source", xml.SOURCE),
        ("image", xml.IMAGE),
        (MEDIA + "title", xml.MEDIA_TITLE),
        (MEDIA + "description", xml.MEDIA_SUMMARY),
        ("language", xml.LANGUAGE),
        ("{http://purl.org/dc/elements/1.1/}language", xml.LANGUAGE),
        (MEDIA + "keywords", xml.KEYWORDS),
        (MEDIA + "category", xml.CATEGORY),
        (MEDIA + "content", xml.IGNORE),
        (DC + "title", xml.TITLE),
        (DC + "description", xml.SUMMARY),
        (DC + "creator", xml.IGNORE),
        (DC + "date", xml.UPDATED),
        (DC + "subject", xml.CATEGORY),
        (DCTERMS + "issued", xml.PUBLISHED),
        (DCTERMS + "modified", xml.UPDATED),
        (DCTERMS + "created", xml.CREATED),
        (ITUNES + "summary", xml.ATOM_SUMMARY),
        (ITUNES + "keywords", xml.KEYWORDS),
        (ITUNES + "category", xml.UNSUPPORTED),
        (ITUNES + "link", xml.UNSUPPORTED),
        (ITUNES + "explicit", xml.IGNORE),
        ("{http://web.resource.org/cc/}license", xml.IGNORE),
        ("rss", xml.UNSUPPORTED),
        ("geom", xml.UNSUPPORTED),
        ("email", xml.IGNORE),
        ("neverheardof", xml.IGNORE),
        ("links", xml.UNSUPPORTED),
        ("title_detail", xml.UNSUPPORTED),
        ("item", xml.UNSUPPORTED),
        ("{http://www.w3.org/1999/xhtml}body", xml.UNSUPPORTED),
    ],
)
def test_an_element_means_what_it_means_to_feedparser(tag: str, meaning: int) -> None:
    assert kind(tag) == meaning


@pytest.mark.parametrize(
    ("document", "meaning"),
    [
        ('<rss xmlns:x="urn:x">', xml.IGNORE),
        ("<rss xmlns:x = 'urn:x'>", xml.IGNORE),
        ('<rss xmlns:x="urn:x"><a xmlns:x="urn:x"/>', xml.IGNORE),
        ('<rss xmlns:x="urn:x" xmlns:y="urn:x">', xml.UNSUPPORTED),
        ('<rss xmlns="urn:x">', xml.UNSUPPORTED),
        ('<rss xmlns:media="urn:x">', xml.UNSUPPORTED),
        ("<rss>", xml.UNSUPPORTED),
    ],
)
def test_an_unknown_namespace_counts_by_its_only_prefix(document: str, meaning: int) -> None:
    assert kind("{urn:x}title", document) == meaning


def test_a_namespace_of_userland_is_not_certain() -> None:
    space = "http://backend.userland.com/own"
    assert kind(f"{{{space}}}title", f'<rss xmlns:x="{space}">') == xml.UNSUPPORTED


def test_every_kind_is_another_number() -> None:
    names = "IGNORE TITLE LINK ID PUBLISHED UPDATED CATEGORY SUMMARY ATOM_SUMMARY CONTENT ENCODED SOURCE CREATED"
    names += " KEYWORDS MEDIA_TITLE MEDIA_SUMMARY IMAGE UNSUPPORTED LANGUAGE"
    assert len({getattr(xml, name) for name in names.split()}) == 19


def test_only_so_many_namespaces_and_tags_are_remembered() -> None:
    document = "".join(f'<a xmlns:x{n}="urn:{n}">' for n in range(MAX_OTHER_NAMESPACES + 1)).encode()
    kinds = Kinds(document)
    found = [kinds[f"{{urn:{n}}}a"] for n in range(MAX_OTHER_NAMESPACES + 1)]
    assert found == [xml.IGNORE] * 20 + [xml.UNSUPPORTED]
    kinds = Kinds(b"")
    for n in range(MAX_REMEMBERED + 5):
        assert kinds[f"tag{n}"] == xml.IGNORE
    assert len(kinds) == MAX_REMEMBERED == 10_000


def tag_of(size: int) -> bytes:
    return b"<a b='" + b"x" * (size - 7) + b"'"


def test_a_tag_of_over_64_kilobytes_is_long() -> None:
    assert len(tag_of(LONGEST_TAG)) == LONGEST_TAG == 65_536
    assert not has_long_tag(b"<r>" + tag_of(LONGEST_TAG) + b"></a></r>")
    assert has_long_tag(b"<r>" + tag_of(LONGEST_TAG + 1) + b"></a></r>")
    assert not has_long_tag(b"<r>" + b"x" * 4 * LONGEST_TAG + b"</r>")
    assert not has_long_tag(b"<r/>")
    assert has_long_tag(b"<r>" + b"x" * 4 * LONGEST_TAG + tag_of(LONGEST_TAG + 1) + b"></a></r>")


def test_a_long_tag_keeps_its_name_only() -> None:
    short, long = tag_of(LONGEST_TAG), tag_of(LONGEST_TAG + 1)
    assert without_long_tags(b"<r>" + short + b"></a></r>") == b"<r>" + short + b"></a></r>"
    assert without_long_tags(b"<r>" + long + b"></a></r>") == b"<r><a ></a></r>"


def element(text: str | None = None, **attributes: str) -> Element:
    made = Element("title", attributes)
    made.text = text
    return made


@pytest.mark.parametrize("name", ["base", "{http://www.w3.org/XML/1998/namespace}base", "href", "lastmod"])
def test_attributes_that_move_the_base_or_stand_for_elements_are_unsupported(name: str) -> None:
    check_attributes(element(version="2.0"))
    with pytest.raises(Unsupported):
        check_attributes(Element("rss", {name: "x"}))


@pytest.mark.parametrize(("tag", "found"), [("item", True), ("{urn:x}Entry", True), ("items", False)])
def test_entries_are_found_however_deep(tag: str, found: bool) -> None:
    outer, inner = Element("image"), Element("x")
    inner.append(Element(tag))
    outer.append(inner)
    assert has_entries(outer) is found


@pytest.mark.parametrize(
    ("declared", "html"),
    [("text", False), ("plain", False), ("text/plain", False), ("html", True), ("TEXT/HTML", True)],
)
def test_the_type_of_a_text_says_whether_it_is_html(declared: str, html: bool) -> None:
    for any_kind in (xml.TITLE, xml.SUMMARY):
        assert is_html(element(type=declared), any_kind) is html


def test_without_a_type_the_kind_says_whether_a_text_is_html() -> None:
    assert {number for number in range(18) if is_html(element(other="x"), number)} == {
        xml.SUMMARY,
        xml.MEDIA_SUMMARY,
        xml.ENCODED,
    }
    assert [number for number in range(18) if is_html(element(), number) != is_html(element(other="x"), number)] == []


@pytest.mark.parametrize(
    "attributes",
    [{"type": "xhtml"}, {"mode": "escaped"}, {"Type": "html"}, {"{urn:x}type": "html"}, {"{urn:x}mode": "x"}],
)
def test_types_that_change_how_a_text_is_read_are_unsupported(attributes: dict[str, str]) -> None:
    with pytest.raises(Unsupported):
        is_html(Element("title", attributes), xml.TITLE)


@pytest.mark.parametrize(
    ("attributes", "permalink"),
    [
        ({}, True),
        ({"other": "x"}, True),
        ({"isPermaLink": "true"}, True),
        ({"ispermalink": "true"}, True),
        ({"isPermaLink": "false"}, False),
        ({"isPermaLink": "TRUE"}, False),
    ],
)
def test_an_id_is_a_link_unless_it_says_otherwise(attributes: dict[str, str], permalink: bool) -> None:
    assert is_permalink(Element("guid", attributes)) is permalink


@pytest.mark.parametrize("name", ["base", "{http://www.w3.org/XML/1998/namespace}base", "{urn:x}isPermaLink"])
def test_an_id_with_a_base_is_unsupported(name: str) -> None:
    with pytest.raises(Unsupported):
        is_permalink(Element("guid", {name: "true"}))


@pytest.mark.parametrize(("text", "read"), [(None, ""), (" a ", "a"), (" caf\u00c3\u00a9 ", "caf\u00e9")])
def test_the_text_of_an_element_is_stripped_and_repaired(text: str | None, read: str) -> None:
    assert text_of(element(text)) == read
