"""The fast parser: well-formed RSS 2.0, RSS 1.0 and Atom in UTF-8, read many times faster than by feedparser.

Reads documents as feedparser reads them; tests compare both. Raises Unsupported for whatever is odd, so that feedparser
reads the whole document: old versions, a DOCTYPE, `xml:base`, XHTML within a text, a second title or a third text.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError, XMLParser

from services.parse.collected import Collected, as_html
from services.parse.dates import first_date
from services.parse.text import repaired
from services.parse.urls import element_link, is_plain_id, is_plain_url, resolved

ATOM = "{http://www.w3.org/2005/Atom}"
RSS1 = "{http://purl.org/rss/1.0/}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_XML = "{http://www.w3.org/XML/1998/namespace}"
_VERSIONS = {"0.91": "rss091u", "0.92": "rss092", "0.93": "rss093", "0.94": "rss094"}
_LINK_ATTRIBUTES = frozenset({"href", "rel", "type", "title", "hreflang", "length"})
_HTML_LINK = frozenset({"text/html", "html", "application/xhtml+xml", "xhtml"})
_TYPES = {"text": False, "plain": False, "text/plain": False, "html": True, "text/html": True}
_BASES = frozenset({"base", _XML + "base", "href", "lastmod"})
_ROOT = re.compile(rb"<[A-Za-z]")


def _elements(**names: str) -> dict[str, str]:
    """The kind of each element, by its name in lower case; given are the names of each kind."""
    return {name: kind for kind, listed in names.items() for name in listed.split()}


_BASE = _elements(
    title="title",
    link="link",
    id="guid id",
    published="published pubdate issued",
    updated="updated modified lastbuilddate",
    created="created",
    category="category",
    summary="description summary",
    content="content",
    source="source",
    language="language",
    odd="date tags links item entry license guidislink",
)
_DUBLIN_CORE = _elements(
    title="title",
    published="issued",
    updated="date modified",
    created="created",
    category="subject",
    summary="description",
    language="language",
)
_MEDIA = _elements(media_title="title", media_summary="description", category="category", keywords="keywords")
_ITUNES = _elements(summary="summary", keywords="keywords", odd="category link")
_KINDS_BY_NAMESPACE = {
    "": _BASE,
    ATOM[1:-1].lower(): _BASE,
    RSS1[1:-1]: _BASE,
    "http://purl.org/dc/elements/1.1/": _DUBLIN_CORE,
    "http://purl.org/dc/terms/": _DUBLIN_CORE,
    "http://purl.org/rss/1.0/modules/content/": _elements(content="encoded"),
    "http://search.yahoo.com/mrss/": _MEDIA,
    "http://search.yahoo.com/mrss": _MEDIA,
    "http://www.itunes.com/dtds/podcast-1.0.dtd": _ITUNES,
    "http://itunes.apple.com/dtds/podcast-1.0.dtd": _ITUNES,
}
"""The kinds of elements, by their namespace and name in lower case. Other elements are ignored."""
_XHTML = "{http://www.w3.org/1999/xhtml}"
_OF_GROUPS = frozenset({"media_title", "media_summary", "category", "keywords"})
"""What counts within an element that is ignored itself, such as media:group."""
_HTML_NAMES = ("description", "encoded")
"""The elements whose text is HTML unless they name another type."""

MANY_TAGS = 450_000
"""More tags than a real feed of the largest allowed size has. The tree of so many elements is still of moderate
size."""
MANY_ATTRIBUTES = 30_000
"""More attributes than a document has whose tags are long because they contain pictures."""
LONGEST_TAG = 65_536
"""In bytes. Attributes take a hundred times their size in memory; a longer tag is an attack, or contains a picture."""

_TAG_NAME = re.compile(rb"<[A-Za-z][\w:.-]*")
_TAG = re.compile(rb"""<[A-Za-z](?:[^'"<>]++|"[^"]*+"(?=[>/\s]|\w+=)|'[^']*+'(?=[>/\s]|\w+=))*+[^<>]*+""")
"""A tag, up to the end that feedparser sees."""
_FAR_FROM_THE_NEXT = re.compile(rb"<(?=[A-Za-z])[^<]{%d,}" % LONGEST_TAG)


class Unsupported(Exception):
    """The fast parser does not know how to read the document, so feedparser has to read it."""


def read_fast(data: bytes, base: str) -> Collected:
    """Reads UTF-8. Raises Unsupported for a document that feedparser has to read."""
    if _has_doctype(data) or (len(data) > MANY_TAGS and data.count(b"<") > MANY_TAGS):
        raise Unsupported
    if data.count(b"=") > MANY_ATTRIBUTES and has_long_tag(data):
        raise Unsupported
    parser = XMLParser(encoding="utf-8")  # noqa: S314 - without a DTD no entity can expand
    try:
        parser.feed(data)
        root = parser.close()
    except ParseError:
        raise Unsupported from None
    return _Reader(base).read(root)


def has_long_tag(data: bytes) -> bool:
    """Whether well-formed XML has a tag longer than LONGEST_TAG."""
    tags = (_TAG.match(data, each.start()) for each in _FAR_FROM_THE_NEXT.finditer(data))
    return any(tag is not None and len(tag[0]) > LONGEST_TAG for tag in tags)


def without_long_tags(data: bytes) -> bytes:
    """The document, without the attributes of tags that are too long."""
    return _TAG.sub(_name_if_long, data)


def _name_if_long(tag: re.Match[bytes]) -> bytes:
    name = _TAG_NAME.match(tag[0]) if len(tag[0]) > LONGEST_TAG else None
    return name[0] + b" " if name else tag[0]


def _has_doctype(data: bytes) -> bool:
    root = _ROOT.search(data)
    prolog = data[: root.start()] if root else data
    # The first `<` with a letter may be inside a comment or a processing instruction before the root.
    hidden = b"<!" in prolog or prolog.count(b"<?") > prolog.startswith(b"<?xml")
    return hidden and b"<!DOCTYPE" in data


class _Kinds(dict[str, str]):
    """The kinds of the tags in one document, each worked out when it first occurs. Empty for what is ignored."""

    def __missing__(self, tag: str) -> str:
        namespace, _, local = tag.rpartition("}")
        known = _KINDS_BY_NAMESPACE.get(namespace[1:].lower())
        if known is None:
            kind = "odd" if tag.startswith(_XHTML) or local.lower() in _BASE else ""
        else:
            kind = known.get(local.lower(), "")
        self[tag] = kind
        return kind


class _Reader:
    """Parses one feed document."""

    __slots__ = ("base", "collected", "kinds", "scope")

    def __init__(self, base: str) -> None:
        self.base = base
        self.kinds = _Kinds()
        self.collected = Collected()
        self.scope = ""

    def read(self, root: Element) -> Collected:
        _check_base(root)
        self.scope = _declared_language(root) or ""
        tags = [child.tag for child in root]
        if root.tag == "rss" and tags == ["channel"]:
            version = root.get("version", "")
            self.collected.version = _VERSIONS.get(version) or ("rss20" if version.startswith("2.") else "rss")
            self._channel(root[0], "item")
        elif root.tag == ATOM + "feed":
            self.collected.version = "atom10"
            self._channel(root, ATOM + "entry")
        elif root.tag == _RDF + "RDF" and tags[:1] == [RSS1 + "channel"]:
            self.collected.version = "rss10"
            self._channel(root[0], RSS1 + "item")
            for entry in root.findall(RSS1 + "item"):
                self._entry(entry)
        else:
            raise Unsupported
        return self.collected

    def _channel(self, channel: Element, entry_tag: str) -> None:
        """The title, link and language of a channel, and its entries."""
        _check_base(channel)
        title, link, language = "", None, ""
        self.scope = _declared_language(channel) or self.scope
        entries = []
        for child in channel:
            tag = child.tag
            if tag == entry_tag:
                entries.append(child)
                continue
            if tag.rpartition("}")[2].lower() in ("item", "entry"):
                raise Unsupported
            kind = self.kinds[tag]
            if kind == "title":
                title = title or self._text(child)
            elif kind == "link":
                link = self._link(child, link)
            elif kind == "id" and link is None:
                link = self._id(child, self._text(child))[1]
            elif kind == "language":
                language = self._text(child)
        self.collected.language = language
        for entry in entries:
            self._entry(entry)
        self.collected.title, self.collected.link = title, link or ""

    def _entry(self, entry: Element) -> None:  # noqa: PLR0912, PLR0915
        """Adds one entry. One function, since at 60,000 entries a second function calls take most of the time."""
        scope = self.scope
        if entry.keys():
            _check_base(entry)
            declared = _declared_language(entry)
            scope = scope if declared is None else declared
        title = summary = link = permalink = None
        title_is_html = has_content = False
        article_id = entry.get(_RDF + "about") or ""
        published = updated = created = content = publisher = publisher_url = language = ""
        tags: list[str] = []
        kinds = self.kinds
        for child in self._flat(entry) if any(map(len, entry)) else entry:
            kind = kinds[child.tag]
            if not kind:
                continue
            text = child.text or ""
            if kind == "link":
                link = text if is_plain_url(text) and not child.keys() else self._link(child, link)
                continue
            text = text.strip() if text.isascii() else repaired(text)
            if kind == "title":
                if title is not None:
                    raise Unsupported
                title, title_is_html = text, bool(child.keys()) and _is_html(child)
                if child.keys() and (declared := _declared_language(child)) is not None:
                    scope = declared
            elif kind == "category":
                if child.keys():
                    tags += [value for name, value in child.items() if name.lower() == "term"]
                if text:
                    tags.append(text)
            elif kind == "published":
                published = text
            elif kind == "updated":
                updated = text
            elif kind == "id":
                article_id, permalink = self._id(child, text)
                link = permalink if link is None else link
            elif kind in ("summary", "media_summary", "content"):
                if child.keys() or "<" in text or "&" in text:
                    text = as_html(text, is_html=_is_html(child))
                if kind != "content" and summary is None:
                    summary = text
                elif has_content:
                    raise Unsupported  # a third text
                else:
                    has_content, content = True, text  # a second summary is a content
            elif kind == "created":
                created = text
            elif kind == "media_title":
                if not title:
                    if title is not None:
                        raise Unsupported
                    title, title_is_html = text, bool(child.keys()) and _is_html(child)
            elif kind == "language":
                language = text
            elif kind == "keywords" and not child.keys():
                tags += [word.strip() for word in text.split(",")]
            elif kind == "source":
                publisher, publisher_url = text, child.get("url", "")
            else:
                raise Unsupported
        self.collected.add(
            title=title or "",
            title_is_html=title_is_html,
            link=link or permalink or "",
            article_id=article_id,
            published=first_date(published, updated, created),
            dates=(published, updated, created),
            summary=content if summary is None else summary,
            content=content,
            tags=tags,
            publisher=publisher,
            publisher_url=publisher_url,
            language=language or scope,
        )

    def _flat(self, entry: Element) -> list[Element]:
        """The elements of an entry, with those of Media RSS in groups."""
        found = []
        for child in entry:
            if not len(child):
                found.append(child)
                continue
            if self.kinds[child.tag]:
                raise Unsupported  # markup within a text: feedparser returns it as text
            of_group = [each for each in child.iter() if self.kinds[each.tag]]
            if any(len(each) or self.kinds[each.tag] not in _OF_GROUPS for each in of_group):
                raise Unsupported
            found += of_group
        return found

    def _text(self, element: Element) -> str:
        if len(element):
            raise Unsupported
        return repaired(element.text or "")

    def _link(self, element: Element, link: str | None) -> str | None:
        """The link of a feed or an entry after this element; `link` is the link before."""
        names = element.keys()
        if names and not _LINK_ATTRIBUTES.issuperset(names):
            raise Unsupported
        href = element.get("href") if names else None
        if href is None:
            return element_link(self.base, element.text)
        if element.get("rel", "alternate").lower() != "alternate":
            return link
        return resolved(self.base, href) if element.get("type", "text/html").lower() in _HTML_LINK else link

    def _id(self, element: Element, text: str) -> tuple[str, str | None]:
        """The id, and the link if the id is a permalink."""
        for name, value in element.items():
            if name.lower() != "ispermalink":
                raise Unsupported
            if value != "true":
                return text, None
        if text and not is_plain_url(text) and not is_plain_id(text):
            text = repaired(resolved(self.base, (element.text or "").strip()))
        return text, text


def _check_base(element: Element) -> None:
    """Raises Unsupported if the element changes the base URL, or has attributes that feedparser reads as elements."""
    if not _BASES.isdisjoint(element.keys()):
        raise Unsupported


def _declared_language(element: Element) -> str | None:
    """The tag that the element itself declares: empty for an explicit absence, None without a declaration."""
    declared = element.get(_XML + "lang")
    return element.get("lang") if declared is None else declared


def _is_html(element: Element) -> bool:
    """Whether the element's text is HTML, by its type or else by its name. Raises Unsupported for any other type."""
    declared = None
    if names := element.keys():
        if any(name.lower().endswith(("type", "mode")) and name != "type" for name in names):
            raise Unsupported
        declared = element.get("type")
    if declared is None:
        return element.tag.lower().endswith(_HTML_NAMES)
    if declared.lower() not in _TYPES:
        raise Unsupported
    return _TYPES[declared.lower()]
