"""The fast reader: well-formed RSS 2.0, RSS 1.0 and Atom, in feedparser's own sense, at many times its speed.

It reads only what it is sure of. Whatever else turns up (`Odd`) sends the whole document to feedparser, which is the
judge: tests hold both to the same titles, links, ids, dates, tags and texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, ParseError, XMLParser

from services.parse.collected import Collected, Feed, as_html
from services.parse.dates import first_date
from services.parse.repair import element_link, repaired, resolved
from services.parse.xml_elements import (
    Odd,
    has_long_tag,
    holds_entries,
    is_html,
    is_permalink,
    items_of,
    keep_base,
    tags_of,
    text_of,
)
from services.parse.xml_plain import Shape, plain_item, shape_of
from services.parse.xml_tags import (
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
_NESTABLE = (IGNORE, MEDIA_TITLE, MEDIA_SUMMARY, CATEGORY, KEYWORDS)
_RSS1_DECLARED = re.compile(rb"purl\.org/rss/1\.0/[\"']")
_ROOT = re.compile(rb"<[A-Za-z]")
_NO_DEPTHS: Mapping[Element, int] = {}

DEEPEST = 20
MANY_TAGS = 450_000
"""More than a feed of the largest size that is fetched has, and still no burden as a tree."""
MANY_ATTRIBUTES = 30_000
"""More than there are in a tag that is long because it holds a picture."""


def read_fast(data: bytes, base: str) -> Feed:
    """Reads UTF-8. Odd for all that is for feedparser; nothing is partly read."""
    if _has_doctype(data):
        raise Odd
    if len(data) > MANY_TAGS and data.count(b"<") > MANY_TAGS:
        raise Odd
    if has_long_tag(data) and data.count(b"=") > MANY_ATTRIBUTES:
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


class _Document:
    __slots__ = ("base", "collected", "kinds", "shapes")

    def __init__(self, data: bytes, base: str) -> None:
        self.base = base
        self.kinds = Kinds(data)
        self.shapes: dict[tuple[str, ...], Shape | None] = {}
        self.collected = Collected()

    def read(self, root: Element) -> Feed:
        keep_base(root)
        head = self.kinds.data[:4096]
        if root.tag == "rss":
            if [child.tag for child in root] != ["channel"] or _RSS1_DECLARED.search(head):
                raise Odd
            version = root.get("version", "")
            version = _VERSIONS.get(version) or ("rss20" if version.startswith("2.") else "rss")
            return self._feed(version, root[0], "item")
        if root.tag == ATOM + "feed":
            return self._feed("atom10", root, ATOM + "entry")
        if root.tag == RDF + "RDF" and b"w3.org/2005/Atom" not in head:
            channels = [child for child in root if child.tag == RSS1 + "channel"]
            others = {child.tag for child in root} - {RSS1 + "channel", RSS1 + "item", RSS1 + "image"}
            if len(channels) == 1 and root[0] is channels[0] and not others:
                feed = self._feed("rss10", channels[0], RSS1 + "item")
                self._entries(child for child in root if child.tag == RSS1 + "item")
                return feed
        raise Odd

    def _feed(self, version: str, channel: Element, entry_tag: str) -> Feed:
        """The entries of one channel, and what it says of itself."""
        keep_base(channel)
        title, link = "", None
        entries = []
        for child in channel:
            tag = child.tag
            if tag == entry_tag:
                entries.append(child)
                continue
            local = tag.rpartition("}")[2].lower()
            if local in ("item", "entry") or (len(child) and holds_entries(child)):
                raise Odd
            kind = self.kinds[tag]
            if len(child) and kind != IMAGE and local != "textinput" and self._names(child):
                raise Odd
            if kind == TITLE and not title:
                is_html(items_of(child), TITLE)
                title = text_of(child)
            elif kind in (TITLE, MEDIA_TITLE):
                raise Odd
            elif kind == LINK:
                link = self._link(child, link)
            elif kind == ID and link is None:
                link = self._id(child)[1]
        self._entries(entries)
        return Feed(version, title, link or "", self.collected)

    def _names(self, element: Element) -> bool:
        """Whether it or what is below it says, with markup in it or for another, what feeds are called by."""
        return any(self.kinds[each.tag] in (TITLE, MEDIA_TITLE, LINK, ID) for each in element.iter())

    def _link(self, element: Element, link: str | None) -> str | None:
        """The link of a feed or an entry after this element of it."""
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

    def _entries(self, entries: Iterable[Element]) -> None:
        shapes, add = self.shapes, self.collected.add_plain
        for entry in entries:
            if entry.keys():
                keep_base(entry)
            names = tuple([child.tag for child in entry])
            if names in shapes:
                shape = shapes[names]
            else:
                shape = shapes[names] = shape_of([self.kinds[name] for name in names])
            if shape is not None and (not any(map(len, entry)) or self._is_plain(entry)):
                item = plain_item(entry, shape)
                if item is not None:
                    add(item)
                    continue
            self._collect(entry, _NO_DEPTHS, entry.get(RDF + "about") or "")

    def _collect(self, entry: Iterable[Element], depths: Mapping[Element, int], about: str) -> None:  # noqa: PLR0912, PLR0915
        """One entry, element by element in feedparser's order of events. As long as its rules are many."""
        title = summary = link = None
        title_is_html = title_settled = summary_is_html = has_content = False
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
                tags += tags_of(child)
            elif kind == TITLE:
                text = text_of(child)
                if not title_settled:
                    title, title_depth, title_is_html = text, 1, is_html(items_of(child), TITLE)
                title_settled = title_settled or text != ""
            elif kind == MEDIA_TITLE:
                depth = depths.get(child, 1)
                if not title_settled and depth <= title_depth:
                    title, title_depth, title_is_html = text_of(child), depth, is_html(items_of(child), TITLE)
            elif kind == LINK:
                link = self._link(child, link)
            elif kind == ID:
                article_id, permalink = self._id(child)
                link = permalink if link is None else link
            elif kind == PUBLISHED:
                published = text_of(child)
            elif kind == UPDATED:
                updated = text_of(child)
            elif kind == CREATED:
                created = text_of(child)
            elif kind in (SUMMARY, ATOM_SUMMARY, MEDIA_SUMMARY):
                depth = depths.get(child, 1)
                if summary is not None and not has_content:
                    has_content = True  # a second summary is a content
                    content = self._markup(child, CONTENT)
                elif depth <= summary_depth:
                    summary, summary_depth = self._markup(child, kind), depth
                    summary_is_html = is_html(items_of(child), kind)
                elif is_html(items_of(child), kind) != summary_is_html:
                    raise Odd  # feedparser keeps that text and takes this type
            elif kind in (ENCODED, CONTENT):
                text = self._markup(child, kind)
                has_content = True
                content = max(content, text, key=len)
                summary = text if summary is None else summary
            elif kind == KEYWORDS and not child.keys():
                tags += [word.strip() for word in text_of(child).split(",")]
            elif kind in (SOURCE, IMAGE):
                publisher = text_of(child) if kind == SOURCE else publisher
                title_settled = False
            elif kind != IGNORE:
                raise Odd
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
        )

    def _id(self, element: Element) -> tuple[str, str | None]:
        """The id, and once more if it is a link too."""
        text = text_of(element)
        if not is_permalink(items_of(element)):
            return text, None
        text = repaired(resolved(self.base, (element.text or "").strip())) if text else ""
        return text, text

    def _markup(self, element: Element, kind: int) -> str:
        """A summary or content as HTML."""
        text = text_of(element)
        return as_html(text, is_html=is_html(items_of(element), kind))

    def _is_plain(self, entry: Element) -> bool:
        """Whether all that has elements below it is such as an author: neither it nor they are read."""
        kinds = self.kinds
        for child in entry:
            if len(child):
                if kinds[child.tag] != IGNORE:
                    return False
                for below in child:
                    if kinds[below.tag] != IGNORE or len(below):
                        return False
        return True

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
        if len(element) and self.kinds[element.tag] != IGNORE:
            raise Odd  # markup within text: feedparser writes it out
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
