"""Parses with feedparser the feed documents that the fast parser does not support: malformed, old or unusual ones.

Runs feedparser's own two parsers, with limits, since they need quadratic time for hostile documents. They get bytes,
never a URL. HTML is not sanitized, and its links are not resolved.
"""

from __future__ import annotations

import io
import re
import xml.sax
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from feedparser import api
from feedparser.encodings import RE_XML_DECLARATION
from feedparser.sanitizer import RE_SAFE_ENTITY_PATTERN, replace_doctype

from services.parse.collected import MAX_TAGS, Collected, Unreadable, as_html
from services.parse.dates import from_time_tuple
from services.parse.xml_fast import without_long_tags

MAX_BYTES = 3_000_000
MAX_MARKS = 100_000
"""How many "<" are read. Reading so many takes about two seconds; no known feed of this kind has more."""
MAX_PROLOG = 20_000
MAX_BASE = 1_000
LONGEST_ENTITY = 40
"""Including its name: longer ones could expand three megabytes to a hundred."""
MAX_NAMESPACES = 100
"""feedparser searches all namespaces for each element."""

_DECLARATION = "<?xml version='1.0' encoding='utf-8'?>"
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_FIRST_ELEMENT = re.compile(rb"<[A-Za-z]")
_WHITE_SPACE = re.compile(rb"\s+")
_ENTITY = re.compile(rb"<!ENTITY([^>]*)>")
_PAIR = re.compile(
    rb"&#(5[56][0-9]{3}|[xX][dD][89aAbB][0-9a-fA-F]{2});&#(5[67][0-9]{3}|[xX][dD][c-fC-F][0-9a-fA-F]{2});"
)
"""One character as its two halves in UTF-16: `&#55357;&#56832;`. Not valid XML, but many publishers write emoji so."""

_DATES = ("published_parsed", "updated_parsed", "created_parsed")


class _Limits:
    """Mixed into feedparser's parsers: leaves out work whose results are not read, and limits the rest."""

    resolve_relative_uris = sanitize_html = False
    entries: list[Any]
    baseuri: str
    basestack: list[str]

    def _add_tag(self, term: str | None, scheme: str | None, label: str | None) -> None:
        if len(self._get_context().get("tags", ())) < MAX_TAGS:  # type: ignore[attr-defined]
            super()._add_tag(term, scheme, label)  # type: ignore[misc]

    def _sync_author_detail(self, key: str = "author") -> None:
        """Does nothing: authors are not read, and the search for an address in a long name is quadratic."""

    def track_namespace(self, prefix: str | None, uri: str) -> None:
        if len(self.namespaces_in_use) < MAX_NAMESPACES:  # type: ignore[attr-defined]
            super().track_namespace(prefix, uri)  # type: ignore[misc]

    def unknown_starttag(self, tag: str, attrs: list[tuple[str, str]]) -> None:
        base = self.baseuri
        try:
            super().unknown_starttag(tag, attrs)  # type: ignore[misc]
        finally:
            if len(self.baseuri) > MAX_BASE:  # relative bases within each other make it longer and longer
                self.baseuri = self.basestack[-1] = base

    def _end_guid(self) -> None:
        super()._end_guid()  # type: ignore[misc]
        if self.guidislink and self.inentry:  # type: ignore[attr-defined]
            self.entries[-1]["permalink"] = dict.get(self.entries[-1], "id")

    _end_id = _end_guid


class _Strict(_Limits, api.StrictFeedParser):  # type: ignore[misc]
    """feedparser's strict parser with limits."""


class _Loose(_Limits, api.LooseFeedParser):  # type: ignore[misc]
    """feedparser's loose parser with limits.

    Ignores an element for which feedparser raises an error: the entries after it are still read.
    """

    ignored = 0

    def unknown_starttag(self, tag: str, attrs: list[tuple[str, str]]) -> None:
        try:
            super().unknown_starttag(tag, attrs)
        except _BREAKS:
            self.ignored += 1

    def unknown_endtag(self, tag: str) -> None:
        try:
            super().unknown_endtag(tag)
        except _BREAKS:
            self.ignored += 1

    def handle_charref(self, ref: str) -> None:
        try:
            super().handle_charref(ref)
        except (ValueError, OverflowError):  # half a surrogate pair, or beyond Unicode
            self.elementstack[-1][2].append("\ufffd")


def read_with_feedparser(body: bytes, base: str, charsets: Sequence[str] = ()) -> Collected:
    """`charsets` are those that are declared, the first one first. Raises Unreadable for a document in a format that
    feedparser does not know."""
    collected = Collected()
    data = _PAIR.sub(_joined, _bounded(_decoded(body, charsets, collected), collected))
    version, data, entities = replace_doctype(data)
    parser: Any = _Strict(base, None, "utf-8")
    if not _run_strict(parser, data):
        collected.warnings["malformed"] += 1
        parser = _Loose(base, None, "utf-8", entities)
        _run_loose(parser, data, collected)
    version = version or parser.version
    if not version:
        raise Unreadable("not_a_feed", "neither RSS, Atom nor JSON Feed")
    head = parser.feeddata
    collected.language = str(dict.get(head, "language", ""))
    for entry in parser.entries:
        _collect(entry, collected)
    collected.version = version
    collected.title, collected.link = str(dict.get(head, "title", "")), str(dict.get(head, "link", ""))
    return collected


def _decoded(body: bytes, charsets: Sequence[str], collected: Collected) -> bytes:
    """The document in UTF-8, with a declaration that says so."""
    for name in (*charsets, "utf-8", "windows-1252", "iso-8859-2"):
        with suppress(UnicodeError):
            text = body.decode(name)
            break
    if name != (*charsets, "utf-8")[0]:
        collected.warnings["encoding_guessed"] += 1
    declared, found = RE_XML_DECLARATION.subn(_DECLARATION, text)
    return (declared if found else f"{_DECLARATION}\n{text}").encode("utf-8", "replace")


def _joined(pair: re.Match[bytes]) -> bytes:
    high, low = (int(each[1:], 16) if each[:1] in b"xX" else int(each) for each in pair.groups())
    if not (0xD800 <= high < 0xDC00 <= low < 0xE000):
        return pair[0]
    return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00).encode()


def _bounded(data: bytes, collected: Collected) -> bytes:
    """The document, cut off where parsing would take too long, without constructs that only hostile documents have."""
    kept = data[:MAX_BYTES]
    if kept.count(b"<") > MAX_MARKS:
        kept = b"<".join(kept.split(b"<", MAX_MARKS)[:MAX_MARKS])
    if len(kept) < len(data):
        collected.warnings["document_cut"] += 1
    data = without_long_tags(kept)
    first = _FIRST_ELEMENT.search(data)
    start = first.start() if first else len(data)
    # feedparser searches the prolog with expressions that take quadratic time in its white space.
    prolog = _WHITE_SPACE.sub(lambda match: b"\n" if b"\n" in match[0] else b" ", data[:start][:MAX_PROLOG])
    return _ENTITY.sub(_if_harmless, prolog) + data[start:]


def _if_harmless(entity: re.Match[bytes]) -> bytes:
    """Keeps an entity only if it is a short text without other entities. feedparser itself checks only entities at the
    start of a line."""
    harmless = len(entity[1]) < LONGEST_ENTITY and RE_SAFE_ENTITY_PATTERN.fullmatch(entity[1])
    return entity[0] if harmless else b""


def _run_strict(parser: Any, data: bytes) -> bool:
    """Whether the document is well-formed XML."""
    reader = xml.sax.make_parser()  # noqa: S317 - external entities are off, and nested ones have been removed
    reader.setFeature(xml.sax.handler.feature_namespaces, True)
    reader.setFeature(xml.sax.handler.feature_external_ges, False)
    reader.setContentHandler(parser)
    reader.setErrorHandler(parser)
    try:
        reader.parse(io.BytesIO(data))
    except (xml.sax.SAXException, *_BREAKS):
        return False
    return not parser.bozo


_BREAKS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, RuntimeError)
"""The errors that feedparser raises for some malformed documents. The entries before the error are kept."""


def _run_loose(parser: Any, data: bytes, collected: Collected) -> None:
    try:
        parser.feed(data.decode("utf-8", "replace"))
    except _BREAKS:
        collected.warnings["broken_off"] += 1
    if parser.ignored:
        collected.warnings["elements_ignored"] += parser.ignored


def _collect(found: dict[str, Any], collected: Collected) -> None:
    # A plain dictionary, since feedparser's own returns values for missing keys.
    entry = dict(found.items())
    moments = [from_time_tuple(parts) for name in _DATES if isinstance(parts := entry.get(name), tuple)]
    contents = _details(entry, "content")
    # An entry without a summary has its content as its summary.
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
        publisher_url=_text(_detail(entry, "source"), "href"),
        language=_text(entry, "language") or _text(_detail(entry, "title_detail"), "language"),
    )


# An element with the name of a key of feedparser's result, such as `<links>`, overwrites the value of that key, so the
# types are checked.


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
