"""The fast parser: well-formed RSS 2.0, RSS 1.0 and Atom, read as feedparser reads them, many times faster.

Anything that feedparser might read differently raises Unsupported: feedparser then reads the whole document. Tests
compare the titles, links, ids, dates, tags and texts of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, ParseError, XMLParser

from services.parse.collected import Collected, as_html
from services.parse.dates import first_date
from services.parse.text import repaired
from services.parse.urls import element_link, is_plain_id, is_plain_url, resolved
from services.parse.xml_elements import (
    ATOM,
    ATOM_SUMMARY,
    CATEGORY,
    CONTENT,
    CREATED,
    ENCODED,
    ID,
    IGNORE,
    IMAGE,
    KEYWORDS,
    LANGUAGE,
    LINK,
    MEDIA_SUMMARY,
    MEDIA_TITLE,
    PUBLISHED,
    RDF,
    RSS1,
    SOURCE,
    SUMMARY,
    TITLE,
    UPDATED,
    Kinds,
    Unsupported,
    check_attributes,
    declared_language,
    has_entries,
    has_long_tag,
    is_html,
    is_permalink,
    text_of,
)

_VERSIONS = {"0.91": "rss091u", "0.92": "rss092", "0.93": "rss093", "0.94": "rss094"}
_LINK_ATTRIBUTES = frozenset({"href", "rel", "type", "title", "hreflang", "length"})
_HTML_LINK = frozenset({"text/html", "html", "application/xhtml+xml", "xhtml"})
_NESTABLE = (IGNORE, MEDIA_TITLE, MEDIA_SUMMARY, CATEGORY, KEYWORDS)
_SUMMARIES = frozenset({SUMMARY, ATOM_SUMMARY, MEDIA_SUMMARY})
_CONTENTS = frozenset({ENCODED, CONTENT})
_RSS1_DECLARED = re.compile(rb"purl\.org/rss/1\.0/[\"']")
_ROOT = re.compile(rb"<[A-Za-z]")
_ABOUT = RDF + "about"
_NO_DEPTHS: Mapping[Element, int] = {}

DEEPEST = 20
MANY_TAGS = 450_000
"""More tags than a real feed of the largest allowed size has. The tree of so many elements is still of moderate
size."""
MANY_ATTRIBUTES = 30_000
"""More attributes than a document has whose tags are long because they contain pictures."""


def read_fast(data: bytes, base: str) -> Collected:
    """Reads UTF-8. Raises Unsupported for a document that feedparser has to read."""
    if _has_doctype(data):
        raise Unsupported
    if len(data) > MANY_TAGS and data.count(b"<") > MANY_TAGS:
        raise Unsupported
    if has_long_tag(data) and data.count(b"=") > MANY_ATTRIBUTES:
        raise Unsupported
    parser = XMLParser(encoding="utf-8")  # noqa: S314 - without a DTD no entity can expand
    try:
        parser.feed(data)
        root = parser.close()
    except ParseError:
        raise Unsupported from None
    return _Reader(data, base).read(root)


def _has_doctype(data: bytes) -> bool:
    root = _ROOT.search(data)
    prolog = data[: root.start()] if root else data
    # The first `<` with a letter may be inside a comment or a processing instruction before the root.
    hidden = b"<!" in prolog or prolog.count(b"<?") > prolog.startswith(b"<?xml")
    return hidden and b"<!DOCTYPE" in data


class _Reader:
    """Parses one feed document."""

    __slots__ = ("base", "collected", "kinds", "scope")

    def __init__(self, data: bytes, base: str) -> None:
        self.base = base
        self.kinds = Kinds(data)
        self.collected = Collected()
        self.scope = ""

    def read(self, root: Element) -> Collected:
        check_attributes(root)
        self.scope = declared_language(root) or ""
        head = self.kinds.data[:4096]
        if root.tag == "rss" and [child.tag for child in root] == ["channel"] and not _RSS1_DECLARED.search(head):
            version = root.get("version", "")
            self.collected.version = _VERSIONS.get(version) or ("rss20" if version.startswith("2.") else "rss")
            self._channel(root[0], "item")
        elif root.tag == ATOM + "feed":
            self.collected.version = "atom10"
            self._channel(root, ATOM + "entry")
        elif root.tag == RDF + "RDF" and b"w3.org/2005/Atom" not in head:
            tags = [child.tag for child in root]
            if tags[:1] != [RSS1 + "channel"] or not {RSS1 + "item", RSS1 + "image"}.issuperset(tags[1:]):
                raise Unsupported
            self.collected.version = "rss10"
            self._channel(root[0], RSS1 + "item")
            for entry in root.findall(RSS1 + "item"):
                self._entry(entry)
        else:
            raise Unsupported
        return self.collected

    def _channel(self, channel: Element, entry_tag: str) -> None:
        """The title, link and language of a channel, and its entries."""
        check_attributes(channel)
        title, link, language = "", None, ""
        if (declared := declared_language(channel)) is not None and channel.tag != RSS1 + "channel":
            self.scope = declared
        entries = []
        for child in channel:
            tag = child.tag
            if tag == entry_tag:
                entries.append(child)
                continue
            local = tag.rpartition("}")[2].lower()
            if local in ("item", "entry") or (len(child) and has_entries(child)):
                raise Unsupported
            kind = self.kinds[tag]
            if len(child) and kind != IMAGE and local != "textinput" and self._has_title_or_link(child):
                raise Unsupported
            if kind == TITLE and not title:
                is_html(child, TITLE)
                title = text_of(child)
            elif kind in (TITLE, MEDIA_TITLE):
                raise Unsupported
            elif kind == LINK:
                link = self._link(child, link)
            elif kind == ID and link is None:
                link = self._id(child, text_of(child))[1]
            elif kind == LANGUAGE:
                language = text_of(child)
        self.collected.language = language
        for entry in entries:
            self._entry(entry)
        self.collected.title, self.collected.link = title, link or ""

    def _has_title_or_link(self, element: Element) -> bool:
        return any(self.kinds[each.tag] in (TITLE, MEDIA_TITLE, LINK, ID) for each in element.iter())

    def _entry(self, entry: Element) -> None:
        scope = self.scope
        if entry.keys():
            check_attributes(entry)
            declared = declared_language(entry)
            scope = scope if declared is None else declared
        self._collect(entry, _NO_DEPTHS, entry.get(_ABOUT) or "", scope)

    def _collect(self, entry: Iterable[Element], depths: Mapping[Element, int], about: str, scope: str) -> None:  # noqa: PLR0912, PLR0915
        """Adds one entry; `scope` is the language that xml:lang declares for it.

        The elements are read in feedparser's order of events. One function, since at 60,000 entries a second function
        calls take most of the time.
        """
        title = summary = link = None
        title_is_html = title_is_final = summary_is_html = has_content = False
        title_depth = summary_depth = DEEPEST
        article_id = about
        published = updated = created = content = publisher = publisher_url = language = ""
        permalink: str | None = None
        tags: list[str] = []
        kinds = self.kinds
        for child in entry:
            kind = kinds[child.tag]
            if len(child) and child not in depths:
                if kind != IGNORE:
                    raise Unsupported
                if not self._means_nothing(child):
                    self._collect_nested(entry, about, scope)
                    return
            if kind == IGNORE:
                continue
            if kind == LINK:
                link = self._link(child, link)
                continue
            text = child.text or ""
            text = text.strip() if text.isascii() else repaired(text)
            if kind == TITLE:
                if not title_is_final:
                    title, title_depth, title_is_html = text, 1, is_html(child, TITLE)
                    if child.keys() and (declared := declared_language(child)) is not None:
                        scope = declared
                title_is_final = title_is_final or text != ""
            elif kind == CATEGORY:
                if child.keys():
                    tags += [value for name, value in child.items() if name.lower() == "term"]
                if text:
                    tags.append(text)
            elif kind == PUBLISHED:
                published = text
            elif kind == UPDATED:
                updated = text
            elif kind == ID:
                article_id, permalink = self._id(child, text)
                link = permalink if link is None else link
            elif kind in _SUMMARIES:
                depth = depths.get(child, 1)
                declared_html = is_html(child, kind)
                if summary is not None and not has_content:
                    has_content = True  # a second summary is a content
                    content = as_html(text, is_html=is_html(child, CONTENT))
                elif depth <= summary_depth:
                    summary, summary_depth = as_html(text, is_html=declared_html), depth
                    summary_is_html = declared_html
                elif declared_html != summary_is_html:
                    raise Unsupported  # feedparser would keep the text, but use this type
            elif kind in _CONTENTS:
                text = as_html(text, is_html=is_html(child, kind))
                has_content = True
                content = max(content, text, key=len)
                summary = text if summary is None else summary
            elif kind == CREATED:
                created = text
            elif kind == MEDIA_TITLE:
                depth = depths.get(child, 1)
                if not title_is_final and depth <= title_depth:
                    title, title_depth, title_is_html = text, depth, is_html(child, TITLE)
            elif kind == LANGUAGE:
                language = text
            elif kind == KEYWORDS and not child.keys():
                tags += [word.strip() for word in text.split(",")]
            elif kind in (SOURCE, IMAGE):
                if kind == SOURCE:
                    publisher, publisher_url = text, child.get("url", "")
                title_is_final = False
            else:
                raise Unsupported
        self.collected.add(
            title=title or "",
            title_is_html=title_is_html,
            link=link or permalink or "",
            article_id=article_id,
            published=first_date(published, updated, created),
            dates=(published, updated, created),
            summary=summary or "",
            content=content,
            tags=tags,
            publisher=publisher,
            publisher_url=publisher_url,
            language=language or scope,
        )

    def _link(self, element: Element, link: str | None) -> str | None:
        """The link of a feed or an entry after this element; `link` is the link before."""
        if not element.keys():
            return element_link(self.base, element.text)
        attributes = dict(element.items())
        if not attributes.keys() <= _LINK_ATTRIBUTES:
            raise Unsupported
        href = attributes.get("href")
        if href is None:
            return element_link(self.base, element.text)
        if attributes.get("rel", "alternate").lower() != "alternate":
            return link
        return resolved(self.base, href) if attributes.get("type", "text/html").lower() in _HTML_LINK else link

    def _id(self, element: Element, text: str) -> tuple[str, str | None]:
        """The id, and the link if the id is a permalink."""
        if not is_permalink(element):
            return text, None
        if text and not is_plain_url(text) and not is_plain_id(text):
            text = repaired(resolved(self.base, (element.text or "").strip()))
        return text, text

    def _collect_nested(self, entry: Iterable[Element], about: str, scope: str) -> None:
        """Adds an entry with nested elements: Media RSS repeats elements in groups, and their depth decides which
        counts."""
        depths: dict[Element, int] = {}
        for child in entry:
            self._flatten(child, 1, depths)
        self._collect(depths, depths, about, scope)

    def _flatten(self, element: Element, depth: int, depths: dict[Element, int]) -> None:
        if depth > DEEPEST:
            raise Unsupported
        depths[element] = depth
        if len(element) and self.kinds[element.tag] != IGNORE:
            raise Unsupported  # markup within text: feedparser returns it as text
        for child in element:
            kind = self.kinds[child.tag]
            if kind not in _NESTABLE or (kind == CATEGORY and "mrss" not in child.tag):
                raise Unsupported
            self._flatten(child, depth + 1, depths)

    def _means_nothing(self, element: Element, depth: int = 1) -> bool:
        """Whether all descendants are elements to ignore."""
        if depth > DEEPEST:
            raise Unsupported
        for child in element:
            if self.kinds[child.tag] != IGNORE or (len(child) and not self._means_nothing(child, depth + 1)):
                return False
        return True
