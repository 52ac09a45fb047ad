"""feedparser, for every document that the fast reader will not swear to: malformed, old, or written in its own way.

Its own two parsers with a few limits put in, since they keep quadratic time in store for hostile documents. It is
handed bytes, never a URL; HTML is neither cleaned nor resolved here, as only what is shown needs it.
"""

from __future__ import annotations

import codecs
import io
import re
import xml.sax
from collections.abc import Mapping
from typing import Any

from feedparser import api
from feedparser.encodings import RE_XML_PI_ENCODING, convert_to_utf8, parse_content_type
from feedparser.exceptions import CharacterEncodingOverride, CharacterEncodingUnknown
from feedparser.sanitizer import RE_SAFE_ENTITY_PATTERN, replace_doctype

from services.parse.collected import MAX_ITEMS, MAX_TAGS, Collected, Feed, as_html
from services.parse.dates import from_time_tuple
from services.parse.unreadable import Unreadable
from services.parse.xml_elements import without_long_tags

MAX_BYTES = 3_000_000
MAX_MARKS = 100_000
"""How many "<" are read: some two seconds' work, and more than any feed of this kind is known to have."""
MAX_DECLARATION = 500
MAX_PROLOG = 20_000
MAX_BASE = 1_000
LONGEST_ENTITY = 100
"""With its name."""
MOST_REFERENCES = 100_000
"""To a document's own entities: more would make of three megabytes a hundred."""
MAX_NAMESPACES = 100
"""feedparser looks through all of them for each element."""

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_FIRST_ELEMENT = re.compile(rb"<[A-Za-z]")
_WHITE_SPACE = re.compile(rb"\s+")
_ENTITY = re.compile(rb"<!ENTITY([^>]*)>")
_LOOKS_LIKE_FEED = re.compile(
    rb"<(?:[\w.-]{1,20}:|!doctype\s{1,9})?(?:rss|rdf|feed|channel)\b"
    rb"|[\"'](?:http://www\.w3\.org/2005/atom|http://purl\.org/rss/1\.0/|http://my\.netscape\.com/rdf/simple/0\.9/)[\"']",
    re.IGNORECASE,
)
"""A root that feedparser knows, or a namespace that is enough for it whatever the root is called."""
_PAIR = re.compile(
    rb"&#(5[56][0-9]{3}|[xX][dD][89aAbB][0-9a-fA-F]{2});&#(5[67][0-9]{3}|[xX][dD][c-fC-F][0-9a-fA-F]{2});"
)
"""One character in UTF-16, written as two: `&#55357;&#56832;`. Not XML, and what many a publisher makes of an emoji."""
_NO_CHARSETS = frozenset({"punycode", "idna", "unicode_escape", "raw-unicode-escape", "unicode-escape", "undefined"})
"""Codecs that Python has for other purposes; the first two take quadratic time."""

_DATES = ("published_parsed", "updated_parsed", "created_parsed")


class _Enough(Exception):
    pass


class _Limits:
    """Mixed into feedparser's parsers: what is not read here is not worked out, what has no end gets one."""

    entries: list[Any]
    baseuri: str
    basestack: list[str]

    def _add_tag(self, term: str | None, scheme: str | None, label: str | None) -> None:
        if len(self._get_context().get("tags", ())) < MAX_TAGS:  # type: ignore[attr-defined]
            super()._add_tag(term, scheme, label)  # type: ignore[misc]

    def _sync_author_detail(self, key: str = "author") -> None:
        """Nothing: authors are not read, and the search for an address in a long name is quadratic."""

    def track_namespace(self, prefix: str | None, uri: str) -> None:
        if len(self.namespaces_in_use) < MAX_NAMESPACES:  # type: ignore[attr-defined]
            super().track_namespace(prefix, uri)  # type: ignore[misc]

    def unknown_starttag(self, tag: str, attrs: list[tuple[str, str]]) -> None:
        base = self.baseuri
        try:
            super().unknown_starttag(tag, attrs)  # type: ignore[misc]
        finally:
            if len(self.baseuri) > MAX_BASE:  # of one base within another, all of them relative
                self.baseuri = self.basestack[-1] = base

    def _start_item(self, attrs_d: dict[str, str]) -> None:
        if len(self.entries) >= MAX_ITEMS:
            raise _Enough
        super()._start_item(attrs_d)  # type: ignore[misc]

    _start_entry = _start_item

    def _end_guid(self) -> None:
        super()._end_guid()  # type: ignore[misc]
        if self.guidislink and self.inentry:  # type: ignore[attr-defined]
            self.entries[-1]["permalink"] = dict.get(self.entries[-1], "id", "")

    _end_id = _end_guid


class _Strict(_Limits, api.StrictFeedParser):  # type: ignore[misc]
    pass


class _Loose(_Limits, api.LooseFeedParser):  # type: ignore[misc]
    """Reads on behind what feedparser stumbles over: it is one element's, and all the entries behind it are not."""

    stumbles = 0

    def unknown_starttag(self, tag: str, attrs: list[tuple[str, str]]) -> None:
        try:
            super().unknown_starttag(tag, attrs)
        except _BREAKS:
            self.stumbles += 1

    def unknown_endtag(self, tag: str) -> None:
        try:
            super().unknown_endtag(tag)
        except _BREAKS:
            self.stumbles += 1

    def handle_charref(self, ref: str) -> None:
        try:
            super().handle_charref(ref)
        except (ValueError, OverflowError):  # half a pair, or beyond Unicode
            self.elementstack[-1][2].append("\ufffd")


def read_as_feedparser(body: bytes, base: str, content_type: str) -> Feed:
    """Reads what feedparser can make of it. Unreadable if that is no feed in any format that it knows."""
    collected = Collected()
    found: dict[str, Any] = {}
    body, content_type = _with_known_charsets(body, content_type)
    data = convert_to_utf8({"content-type": content_type, "content-location": base}, body, found)
    if isinstance(found.get("bozo_exception"), CharacterEncodingOverride | CharacterEncodingUnknown):
        collected.warnings["encoding_guessed"] += 1
    data = _PAIR.sub(_joined, _bounded(data, collected))
    if not _LOOKS_LIKE_FEED.search(data):
        raise Unreadable("not_a_feed", "neither RSS, Atom nor JSON Feed")
    version, data, entities = replace_doctype(data)
    parser: Any = _Strict(base, None, "utf-8")
    well_formed = bool(found.get("encoding")) and _run_strict(parser, data)
    if not well_formed:
        collected.warnings["malformed"] += 1
        parser = _Loose(base, None, "utf-8", entities)
        _run_loose(parser, data, collected)
    version = version or parser.version
    if not version:
        raise Unreadable("not_a_feed", "neither RSS, Atom nor JSON Feed")
    for entry in parser.entries:
        _collect(entry, collected)
    head = parser.feeddata
    return Feed(version, str(dict.get(head, "title", "")), str(dict.get(head, "link", "")), collected)


def _with_known_charsets(body: bytes, content_type: str) -> tuple[bytes, str]:
    """Without a declaration or header that asks for a charset which is none, and with an end to a long first line.

    feedparser looks for the declaration all through that line, which need not end before the document does.
    """
    media_type, charset = parse_content_type(content_type)
    start = body[:MAX_DECLARATION]
    plain = start.removeprefix(codecs.BOM_UTF8).lstrip()
    if charset and not _is_charset(charset, plain):
        content_type = media_type
    if b"<?" not in start[:5]:
        return body, content_type
    line, ended, _ = start.partition(b"\n")
    end = line.find(b"?>") + 2 if b"?>" in line else line.rfind(b"<") or len(line)
    declared = RE_XML_PI_ENCODING.match(line[:end].removeprefix(codecs.BOM_UTF8))
    if declared and not _is_charset(declared[1].decode("ascii", "replace"), plain):
        return body[end:], content_type
    if body.startswith(b"<!DOCTYPE", end):
        # feedparser knows those at the start of a line only, and leaves any other to the XML parser as it is.
        prolog = body[end : end + MAX_PROLOG].replace(b"<!ENTITY", b"\n<!ENTITY")
        return body[:end] + b"\n" + prolog + body[end + MAX_PROLOG :], content_type
    return (body if ended else line[:end] + b"\n" + body[end:]), content_type


def _is_charset(name: str, start: bytes) -> bool:
    """Whether a body that begins so may be in it: what reads as ASCII is in no UTF-16, whatever it says of itself."""
    try:
        known = name.isascii() and codecs.lookup(name).name not in _NO_CHARSETS
        return known and (not start.startswith(b"<") or b"<".decode(name, "ignore") == "<")
    except (LookupError, ValueError):
        return False


def _joined(pair: re.Match[bytes]) -> bytes:
    high, low = (int(each[1:], 16) if each[:1] in b"xX" else int(each) for each in pair.groups())
    if not (0xD800 <= high < 0xDC00 <= low < 0xE000):
        return pair[0]
    return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00).encode()


def _bounded(data: bytes, collected: Collected) -> bytes:
    """Cut where it becomes too much work, and without what only hostile documents have."""
    end = min(len(data), MAX_BYTES)
    if data.count(b"<", 0, end) > MAX_MARKS:
        position = -1
        for _ in range(MAX_MARKS):
            position = data.find(b"<", position + 1)
        end = position
    if end < len(data):
        collected.warnings["document_cut"] += 1
        data = data[:end]
    data = without_long_tags(data)
    first = _FIRST_ELEMENT.search(data)
    start = first.start() if first else len(data)
    # feedparser searches the prolog with expressions that are quadratic in its white space.
    prolog = _WHITE_SPACE.sub(lambda match: b"\n" if b"\n" in match[0] else b" ", data[:start][:MAX_PROLOG])
    if data.count(b"&") > MOST_REFERENCES:
        return _ENTITY.sub(b"", prolog) + data[start:]
    return _ENTITY.sub(_if_harmless, prolog) + data[start:]


def _if_harmless(entity: re.Match[bytes]) -> bytes:
    """What stands for a short text without others in it. feedparser sees to those at the start of a line alone."""
    harmless = len(entity[1]) < LONGEST_ENTITY and RE_SAFE_ENTITY_PATTERN.fullmatch(entity[1])
    return entity[0] if harmless else b""


def _run_strict(parser: Any, data: bytes) -> bool:
    """Whether it is well-formed XML."""
    parser.resolve_relative_uris = parser.sanitize_html = False
    reader = xml.sax.make_parser()  # noqa: S317 - external entities are off, and nested ones have been removed
    reader.setFeature(xml.sax.handler.feature_namespaces, True)
    reader.setFeature(xml.sax.handler.feature_external_ges, False)
    reader.setContentHandler(parser)
    reader.setErrorHandler(parser)
    source = xml.sax.xmlreader.InputSource()
    source.setByteStream(io.BytesIO(data))
    try:
        reader.parse(source)
    except _Enough:
        return True
    except (xml.sax.SAXException, *_BREAKS):
        return False
    return not parser.bozo


_BREAKS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, RuntimeError)
"""What feedparser raises on some garbage that it does not foresee; what it had read until then stands."""


def _run_loose(parser: Any, data: bytes, collected: Collected) -> None:
    parser.resolve_relative_uris = parser.sanitize_html = False
    try:
        parser.feed(data.decode("utf-8", "replace"))
    except _Enough:
        pass
    except _BREAKS:
        collected.warnings["broken_off"] += 1
    if parser.stumbles:
        collected.warnings["elements_ignored"] += parser.stumbles


def _collect(found: dict[str, Any], collected: Collected) -> None:
    # A plain dictionary: feedparser's own answers for keys that are not there.
    entry = dict(found.items())
    moments = [from_time_tuple(parts) for name in _DATES if isinstance(parts := entry.get(name), tuple)]
    contents = _details(entry, "content")
    # Without a summary of its own, an entry has its content for one.
    detail = _detail(entry, "summary_detail") or (contents[0] if contents else {"type": "text/html"})
    collected.add(
        title=_text(entry, "title"),
        title_is_html=_detail(entry, "title_detail").get("type") in _HTML_TYPES,
        link=_text(entry, "link") or _text(entry, "permalink"),
        article_id=_text(entry, "id"),
        published=next((moment for moment in moments if moment), None),
        dates=[_text(entry, name.removesuffix("_parsed")) for name in _DATES],
        summary=_markup(_text(entry, "summary"), detail),
        content=max((_markup(_text(each, "value"), each) for each in contents), key=len, default=""),
        tags=[term for tag in _details(entry, "tags") if (term := _text(tag, "term"))],
        publisher=_text(_detail(entry, "source"), "title"),
    )


# An element that is named as a key of feedparser's result overwrites that key with whatever it holds: `<links>`.


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _detail(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def _details(found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = found.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _markup(text: str, detail: Mapping[str, Any]) -> str:
    return as_html(text, is_html=detail.get("type") in _HTML_TYPES)
