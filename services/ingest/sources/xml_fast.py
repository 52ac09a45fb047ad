"""The fast reader: well-formed RSS 2.0, RSS 1.0 and Atom, in feedparser's own sense, at many times its speed.

It reads only what it is sure of. Whatever else turns up (`Odd`) sends the whole document to feedparser, which is the
judge: tests hold both to the same titles, links, ids, dates, tags and texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError, XMLParser

from services.ingest.sources.collected import Collected, as_html
from services.ingest.sources.dates import first_date, parse_date
from services.ingest.sources.repair import element_link, is_plain_id, is_plain_url, is_token, repaired, resolved
from services.ingest.sources.xml_tags import (
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
)

_VERSIONS = {"0.91": "rss091u", "0.92": "rss092", "0.93": "rss093", "0.94": "rss094"}
_LINK_ATTRIBUTES = frozenset({"href", "rel", "type", "title", "hreflang", "length"})
_HTML_LINK = frozenset({"text/html", "html", "application/xhtml+xml", "xhtml"})
_TYPES = {"text": False, "plain": False, "text/plain": False, "html": True, "text/html": True}
_MOVES_BASE = frozenset({"base", "{http://www.w3.org/XML/1998/namespace}base", "href", "lastmod"})
_HTML_KINDS = (SUMMARY, MEDIA_SUMMARY, ENCODED)
_SHAPED = frozenset({TITLE, LINK, ID, PUBLISHED, UPDATED, SUMMARY, ATOM_SUMMARY, ENCODED, CONTENT})
_HTML_TYPE = [("type", "html")]
_TEXT_TYPE = [("type", "text")]
_NO_PERMALINK = [("isPermaLink", "false")]
_ONLY_TERM = ["term"]
_NESTABLE = (IGNORE, MEDIA_TITLE, MEDIA_SUMMARY, CATEGORY, KEYWORDS)
_RSS1_DECLARED = re.compile(rb"purl\.org/rss/1\.0/[\"']")
_ROOT = re.compile(rb"<[A-Za-z]")
_NO_DEPTHS: Mapping[Element, int] = {}

DEEPEST = 20
MANY_TAGS = 600_000
"""More than a feed of the largest size that is fetched has, and still no burden as a tree."""


class Odd(Exception):
    """Something that feedparser may understand otherwise than we would."""


@dataclass(frozen=True, slots=True)
class Feed:
    """What a reader found: the entries are in `collected`."""

    version: str
    title: str
    link: str
    collected: Collected


def read_fast(data: bytes, base: str) -> Feed:
    """Reads UTF-8. Odd for all that is for feedparser; nothing is partly read."""
    if _has_doctype(data):
        raise Odd
    if len(data) > MANY_TAGS and data.count(b"<") > MANY_TAGS:
        raise Odd
    parser = XMLParser(encoding="utf-8")  # noqa: S314 - no DTD comes this far, so no entity can expand
    try:
        parser.feed(data)
        root = parser.close()
    except ParseError:
        raise Odd from None
    return _Document(data, base).read(root)


def _has_doctype(data: bytes) -> bool:
    root = _ROOT.search(data)
    prolog = data[: root.start()] if root else data
    # What looks like the root may stand in a comment or a processing instruction before the real one.
    hidden = b"<!" in prolog or prolog.count(b"<?") > prolog.startswith(b"<?xml")
    return hidden and b"<!DOCTYPE" in data


class _Shape(NamedTuple):
    """Where in an entry each thing stands, -1 for nowhere."""

    title: int
    link: int
    date: int
    id: int
    summary: int
    content: int
    summary_kind: int
    content_kind: int
    tags: tuple[int, ...]


_NO_SHAPE = _Shape(-1, -1, -1, -1, -1, -1, 0, 0, ())


def _shape(kinds: list[int]) -> _Shape:
    """The shape of entries whose elements are of these kinds; _NO_SHAPE if it takes more than their places to read."""
    places: dict[int, int] = {}
    tags = []
    for place, kind in enumerate(kinds):
        if kind == CATEGORY:
            tags.append(place)
        elif kind in _SHAPED and kind not in places:
            places[kind] = place
        elif kind != IGNORE:
            return _NO_SHAPE
    present = places.keys()
    summaries, contents = present & {SUMMARY, ATOM_SUMMARY}, present & {ENCODED, CONTENT}
    date = places.get(PUBLISHED, places.get(UPDATED))
    if date is None or not {TITLE, LINK} <= present or len(summaries) > 1 or len(contents) > 1:
        return _NO_SHAPE
    summary, content = summaries.pop() if summaries else -1, contents.pop() if contents else -1
    at_places = (
        places[TITLE],
        places[LINK],
        date,
        places.get(ID, -1),
        places.get(summary, -1),
        places.get(content, -1),
    )
    return _Shape(*at_places, summary, content, tuple(tags))


class _Document:
    __slots__ = ("base", "collected", "is_rdf", "kinds", "shapes")

    def __init__(self, data: bytes, base: str) -> None:
        self.base = base
        self.kinds = Kinds(data)
        self.shapes: dict[tuple[str, ...], _Shape] = {}
        self.is_rdf = False
        self.collected = Collected()

    def read(self, root: Element) -> Feed:
        _keeps_base(root)
        head = self.kinds.data[:4096]
        if root.tag == "rss":
            if [child.tag for child in root] != ["channel"] or _RSS1_DECLARED.search(head):
                raise Odd
            version = root.get("version", "")
            version = _VERSIONS.get(version) or ("rss20" if version.startswith("2.") else "rss")
            return self._feed(version, root[0], "item")
        if root.tag == ATOM + "feed":
            return self._feed("atom10", root, ATOM + "entry")
        self.is_rdf = root.tag == RDF + "RDF"
        if self.is_rdf and b"w3.org/2005/Atom" not in head:
            channels = [child for child in root if child.tag == RSS1 + "channel"]
            others = {child.tag for child in root} - {RSS1 + "channel", RSS1 + "item", RSS1 + "image"}
            if len(channels) == 1 and root[0] is channels[0] and not others:
                feed = self._feed("rss10", channels[0], RSS1 + "item")
                for item in root:
                    if item.tag == RSS1 + "item":
                        self._entry(item)
                return feed
        raise Odd

    def _feed(self, version: str, channel: Element, entry_tag: str) -> Feed:
        """The entries of one channel, and what it says of itself."""
        _keeps_base(channel)
        title = link = ""
        for child in channel:
            tag = child.tag
            if tag == entry_tag:
                self._entry(child)
                continue
            local = tag.rpartition("}")[2].lower()
            if local in ("item", "entry") or (len(child) and _holds_entries(child)):
                raise Odd
            kind = self.kinds[tag]
            if kind == TITLE and not title:
                if len(child):
                    raise Odd
                _is_html(_items(child), TITLE)
                title = _text(child)
            elif kind == LINK:
                link = self._link(child, link) or link
        return Feed(version, title, link, self.collected)

    def _link(self, element: Element, link: str | None) -> str | None:
        """The link of an entry after this element of it."""
        attributes = dict(element.items())
        if not attributes:
            return element_link(self.base, element.text)
        if not attributes.keys() <= _LINK_ATTRIBUTES:
            raise Odd
        href = attributes.get("href")
        if href is None:
            return element_link(self.base, element.text)
        if attributes.get("rel", "alternate").lower() != "alternate":
            return link
        return resolved(self.base, href) if attributes.get("type", "text/html").lower() in _HTML_LINK else link

    def _entry(self, entry: Element) -> None:
        if entry.keys():
            _keeps_base(entry)
        names = tuple([child.tag for child in entry])
        shape = self.shapes.get(names)
        if shape is None:
            shape = self.shapes[names] = _shape([self.kinds[name] for name in names])
        nested = any(map(len, entry))
        if shape is _NO_SHAPE or (nested and not self._is_plain(entry)) or not self._take(entry, shape):
            self._collect(entry, _NO_DEPTHS, (entry.get(RDF + "about") or "") if self.is_rdf else "")

    def _take(self, entry: Element, shape: _Shape) -> bool:  # noqa: PLR0911, PLR0912
        """Takes an entry as nearly all are: each thing once, nothing to mend, cut, resolve or guess.

        Whether it did. What it takes is what `_collect` would have made of it, in half the time.
        """
        element = entry[shape.title]
        title = _text(element)
        if "<" in title or "&" in title or "  " in title or not title.isprintable():
            return False
        if element.keys() and _items(element) != _TEXT_TYPE:
            return False
        element = entry[shape.link]
        link = element.text
        if element.keys():
            link = element.get("href")
            if element.get("rel") != "alternate" or element.get("type") != "text/html" or len(element.keys()) != 3:
                return False
        if not link or not is_plain_url(link):
            return False
        article_id = None
        if shape.id >= 0:
            element = entry[shape.id]
            article_id = element.text
            if not article_id:
                return False
            if element.keys():
                if _items(element) != _NO_PERMALINK or not is_token(article_id):
                    return False
            elif not is_plain_url(article_id) and not is_plain_id(article_id):
                return False
        elif self.is_rdf:
            article_id = entry.get(RDF + "about")
        published = parse_date(entry[shape.date].text or "")
        tags = []
        for at in shape.tags:
            element = entry[at]
            if not element.keys():
                tags.append(_text(element))
            elif not element.text and element.keys() == _ONLY_TERM:
                tags.append(element.get("term", ""))
            else:
                return False
        summary = content = None
        if shape.content >= 0:
            content = self._markup(entry[shape.content], shape.content_kind)
        if shape.summary >= 0:
            summary = self._markup(entry[shape.summary], shape.summary_kind)
        return published is not None and self.collected.take(
            title, link, article_id, published, content or "" if summary is None else summary, content or "", tags
        )

    def _collect(self, entry: Iterable[Element], depths: Mapping[Element, int], about: str) -> None:  # noqa: PLR0912, PLR0915
        """One entry, element by element in feedparser's order of events. As long as its rules are many."""
        title = summary = link = None
        title_is_html = title_settled = has_content = False
        title_depth = summary_depth = DEEPEST
        article_id = about
        published = updated = created = content = publisher = ""
        permalink: str | None = None
        tags: list[str] = []
        for child in entry:
            kind = self.kinds[child.tag]
            if len(child) and child not in depths:
                if kind != IGNORE:
                    raise Odd
                if not self._is_harmless(child):
                    self._collect_nested(entry, about)
                    return
            if kind == CATEGORY:
                tags += _tags([child])
            elif kind == TITLE:
                text = _text(child)
                if not title_settled:
                    title, title_depth, title_is_html = text, 1, _is_html(_items(child), TITLE)
                title_settled = title_settled or text != ""
            elif kind == MEDIA_TITLE:
                depth = depths.get(child, 1)
                if not title_settled and depth <= title_depth:
                    title, title_depth, title_is_html = _text(child), depth, _is_html(_items(child), TITLE)
            elif kind == LINK:
                link = self._link(child, link)
            elif kind == ID:
                article_id, permalink = self._id(child)
                link = permalink if link is None else link
            elif kind == PUBLISHED:
                published = _text(child)
            elif kind == UPDATED:
                updated = _text(child)
            elif kind == CREATED:
                created = _text(child)
            elif kind in (SUMMARY, ATOM_SUMMARY, MEDIA_SUMMARY):
                depth = depths.get(child, 1)
                if summary is not None and not has_content:
                    has_content = True  # a second summary is a content
                    content = self._markup(child, CONTENT)
                elif depth <= summary_depth:
                    summary, summary_depth = self._markup(child, kind), depth
            elif kind in (ENCODED, CONTENT):
                text = self._markup(child, kind)
                has_content = True
                content = max(content, text, key=len)
                summary = text if summary is None else summary
            elif kind == KEYWORDS and not child.keys():
                tags += [word.strip() for word in _text(child).split(",")]
            elif kind in (SOURCE, IMAGE):
                publisher = _text(child) if kind == SOURCE else publisher
                title_settled = False
            elif kind != IGNORE:
                raise Odd
        self.collected.add(
            title=title or "",
            title_is_html=title_is_html,
            link=link or permalink or "",
            article_id=article_id,
            published=first_date(published, updated, created),
            dated=bool(published or updated or created),
            summary=summary or "",
            content=content,
            tags=tags,
            publisher=publisher,
        )

    def _id(self, element: Element) -> tuple[str, str | None]:
        """The id, and once more if it is a link too."""
        text = _text(element)
        attributes = _items(element)
        if attributes and (attributes == _NO_PERMALINK or not _is_permalink(attributes)):
            return text, None
        text = repaired(resolved(self.base, (element.text or "").strip())) if text else ""
        return text, text

    def _markup(self, element: Element, kind: int) -> str:
        """A summary or content as HTML."""
        text = _text(element)
        attributes = _items(element)
        if attributes == _HTML_TYPE or (not attributes and kind in _HTML_KINDS):
            return text
        return as_html(text, is_html=_is_html(attributes, kind))

    def _is_plain(self, entry: Element) -> bool:
        """Whether what has elements below it is nothing that we read, nor are those."""
        return all(not len(child) or (self.kinds[child.tag] == IGNORE and self._is_harmless(child)) for child in entry)

    def _collect_nested(self, entry: Iterable[Element], about: str) -> None:
        """Media RSS says the same things in groups within groups: where they stand decides which of them counts."""
        depths: dict[Element, int] = {}
        for child in entry:
            self._flatten(child, 1, depths)
        self._collect(depths, depths, about)

    def _flatten(self, element: Element, depth: int, depths: dict[Element, int]) -> None:
        if depth > DEEPEST:
            raise Odd
        depths[element] = depth
        for child in element:
            kind = self.kinds[child.tag]
            if kind not in _NESTABLE or (kind == CATEGORY and "mrss" not in child.tag):
                raise Odd
            self._flatten(child, depth + 1, depths)

    def _is_harmless(self, element: Element, depth: int = 1) -> bool:
        """Whether nothing below it means anything to us."""
        if depth > DEEPEST:
            raise Odd
        return not any(
            self.kinds[child.tag] != IGNORE or (len(child) and not self._is_harmless(child, depth + 1))
            for child in element
        )


def _items(element: Element) -> list[tuple[str, str]]:
    # Not `attrib`: that would make a dictionary for each element that has none.
    return element.items()  # type: ignore[return-value] # typeshed has a view, the C implementation a list


def _text(element: Element) -> str:
    text = element.text or ""
    return text.strip() if text.isascii() else repaired(text)


def _tags(elements: list[Element]) -> list[str]:
    tags = []
    for element in elements:
        if element.keys():
            tags += [value for name, value in element.items() if name.lower() == "term"]
        text = element.text
        if text:
            tags.append(text.strip() if text.isascii() else repaired(text))
    return tags


def _keeps_base(element: Element) -> None:
    if not _MOVES_BASE.isdisjoint(element.keys()):
        raise Odd


def _holds_entries(element: Element) -> bool:
    return any(below.tag.rpartition("}")[2].lower() in ("item", "entry") for below in element.iter())


def _is_html(attributes: list[tuple[str, str]], kind: int) -> bool:
    """What the `type` of a text says, or else its kind; Odd for the types that change how it is read."""
    declared = kind in _HTML_KINDS
    for name, value in attributes:
        local = name.rpartition("}")[2].lower()
        if local == "mode" or (local == "type" and (name != "type" or value.lower() not in _TYPES)):
            raise Odd
        if local == "type":
            declared = _TYPES[value.lower()]
    return declared


def _is_permalink(attributes: list[tuple[str, str]]) -> bool:
    for name, value in attributes:
        local = name.rpartition("}")[2].lower()
        if local == "base" or (local == "ispermalink" and "}" in name):
            raise Odd
        if local == "ispermalink":
            return value == "true"
    return True
