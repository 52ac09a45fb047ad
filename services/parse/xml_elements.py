"""The elements of a feed as feedparser reads them: the kind of each tag, and its text, type and attributes.

feedparser uses a prefix of its own for each namespace that it knows. Elements for which it has no handler change
none of the values that are read here. A tag that feedparser handles and that is not in these tables is UNSUPPORTED.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from services.parse.text import repaired

ATOM = "{http://www.w3.org/2005/Atom}"
RSS1 = "{http://purl.org/rss/1.0/}"
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"


# Kinds of elements. Integers, since looking up a member of an enum takes longer than all other work on an element.
IGNORE = 0
TITLE = 1
LINK = 2
ID = 3
PUBLISHED = 4
UPDATED = 5
CATEGORY = 6
SUMMARY = 7
ATOM_SUMMARY = 8
CONTENT = 9
ENCODED = 10
SOURCE = 11
CREATED = 12
KEYWORDS = 13
MEDIA_TITLE = 14
MEDIA_SUMMARY = 15
IMAGE = 16
UNSUPPORTED = 17
LANGUAGE = 18

_BASE = {
    "title": TITLE,
    "link": LINK,
    "guid": ID,
    "id": ID,
    "published": PUBLISHED,
    "pubdate": PUBLISHED,
    "issued": PUBLISHED,
    "updated": UPDATED,
    "modified": UPDATED,
    "lastbuilddate": UPDATED,
    "created": CREATED,
    "category": CATEGORY,
    "description": SUMMARY,
    "summary": ATOM_SUMMARY,
    "content": CONTENT,
    "source": SOURCE,
    "image": IMAGE,
    "language": LANGUAGE,
}
_PREFIXED = {
    "dc_title": TITLE,
    "dc_date": UPDATED,
    "dc_subject": CATEGORY,
    "dc_description": SUMMARY,
    "dc_language": LANGUAGE,
    "dcterms_issued": PUBLISHED,
    "dcterms_modified": UPDATED,
    "dcterms_created": CREATED,
    "content_encoded": ENCODED,
    "media_title": MEDIA_TITLE,
    "media_description": MEDIA_SUMMARY,
    "media_category": CATEGORY,
    "media_keywords": KEYWORDS,
    "itunes_summary": ATOM_SUMMARY,
    "itunes_keywords": KEYWORDS,
}
_HARMLESS_NAMES = (
    "author contributor name email uri url homepage enclosure comments rights copyright subtitle generator "
    "managingeditor webmaster expirationdate width height cloud"
)
_HARMLESS = frozenset(_HARMLESS_NAMES.split())
_HARMLESS_PREFIXES = (
    "dc_",
    "itunes_",
    "media_",
    "georss_",
    "gml_",
    "geo_",
    "psc_",
    "admin_",
    "cc_",
    "creativecommons_",
)
_NOT_HARMLESS = frozenset({"itunes_category", "itunes_link"})
_RESULT_KEY_NAMES = (
    "links guidislink tags date published_parsed updated_parsed created_parsed title_detail summary_detail"
)
_RESULT_KEYS = frozenset(_RESULT_KEY_NAMES.split())
"""Keys of feedparser's result: an element of that name would overwrite them."""

MAX_OTHER_NAMESPACES = 20
MAX_REMEMBERED = 10_000


class Kinds(dict[str, int]):
    """The kinds of the tags in one document, each worked out when it first occurs."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data
        self._prefixes: dict[str, str | None] = {}

    def __missing__(self, tag: str) -> int:
        kind = self._kind(tag)
        if len(self) < MAX_REMEMBERED:
            self[tag] = kind
        return kind

    def _kind(self, tag: str) -> int:
        from feedparser.mixin import _FeedParserMixin as Mixin

        namespace, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
        local = local.lower()
        prefix: str | None = ""
        if namespace:
            prefix = _feedparser_prefixes().get(namespace.lower())
            if prefix is None:
                prefix = self._own_prefix(namespace)
            if prefix is None:
                return UNSUPPORTED
        name = f"{prefix.lower()}_{local}" if prefix else local
        kind = _PREFIXED.get(name) if prefix else _BASE.get(local)
        if kind is not None:
            return kind
        if name in _RESULT_KEYS or name in _NOT_HARMLESS:
            return UNSUPPORTED
        handled = hasattr(Mixin, f"_start_{name}") or hasattr(Mixin, f"_end_{name}")
        harmless = name.startswith(_HARMLESS_PREFIXES) if prefix else local in _HARMLESS
        return UNSUPPORTED if handled and not harmless else IGNORE

    def _own_prefix(self, namespace: str) -> str | None:
        """The document's prefix for a namespace that feedparser does not know: feedparser then uses this prefix. None
        if the prefix is not certain."""
        if namespace not in self._prefixes:
            if len(self._prefixes) >= MAX_OTHER_NAMESPACES:
                return None
            declared = re.findall(
                rb"xmlns(?::([^\s=\"']{1,40}))?\s{0,9}=\s{0,9}[\"']" + re.escape(namespace.encode()) + rb"[\"']",
                self.data,
            )
            prefixes = set(declared)
            only = prefixes.pop().decode() if len(prefixes) == 1 else ""
            known = "backend.userland.com" in namespace.lower() or only.lower() in _feedparser_prefixes().values()
            self._prefixes[namespace] = only if only and not known else None
        return self._prefixes[namespace]


_PREFIXES: dict[str, str] = {}


def _feedparser_prefixes() -> dict[str, str]:
    if not _PREFIXES:
        from feedparser.mixin import _FeedParserMixin as Mixin

        _PREFIXES.update((uri.lower(), prefix) for uri, prefix in Mixin.namespaces.items())
    return _PREFIXES


LONGEST_TAG = 65_536
"""In bytes. Attributes take a hundred times their size in memory; a longer tag is an attack, or contains a picture."""

_TAG_NAME = re.compile(rb"<[A-Za-z][\w:.-]*")
_TAG = re.compile(rb"""<[A-Za-z](?:[^'"<>]++|"[^"]*+"(?=[>/\s]|\w+=)|'[^']*+'(?=[>/\s]|\w+=))*+[^<>]*+""")
"""A tag, up to the end that feedparser sees."""
_FAR_FROM_THE_NEXT = re.compile(rb"<(?=[A-Za-z])[^<]{%d,}" % LONGEST_TAG)

_HTML_KINDS = (SUMMARY, MEDIA_SUMMARY, ENCODED)
_TYPES = {"text": False, "plain": False, "text/plain": False, "html": True, "text/html": True}
_REFUSED_ATTRIBUTES = frozenset({"base", "{http://www.w3.org/XML/1998/namespace}base", "href", "lastmod"})


class Unsupported(Exception):
    """The fast parser might read the document differently from feedparser, so feedparser has to read it."""


def has_long_tag(data: bytes) -> bool:
    """Whether well-formed XML has a tag longer than LONGEST_TAG. For nearly all documents, a few searches are
    enough."""
    half = LONGEST_TAG // 2
    if all(data.find(b"<", start, start + half) >= 0 for start in range(0, len(data) - half + 1, half)):
        return False
    return any(_length(data, each.start()) > LONGEST_TAG for each in _FAR_FROM_THE_NEXT.finditer(data))


def without_long_tags(data: bytes) -> bytes:
    """The document, without the attributes of tags that are too long."""
    return _TAG.sub(_name_if_long, data)


def _length(data: bytes, start: int) -> int:
    tag = _TAG.match(data, start)
    return len(tag[0]) if tag else 0


def _name_if_long(tag: re.Match[bytes]) -> bytes:
    name = _TAG_NAME.match(tag[0]) if len(tag[0]) > LONGEST_TAG else None
    return name[0] + b" " if name else tag[0]


def text_of(element: Element) -> str:
    text = element.text or ""
    return text.strip() if text.isascii() else repaired(text)


def check_attributes(element: Element) -> None:
    """Raises Unsupported if the element changes the base URL, or has attributes that feedparser reads as elements."""
    if not _REFUSED_ATTRIBUTES.isdisjoint(element.keys()):
        raise Unsupported


def declared_language(element: Element) -> str | None:
    """The tag that the element itself declares, as feedparser reads it: empty for an explicit absence, None without a
    declaration."""
    declared = element.get(_XML_LANG)
    return element.get("lang") if declared is None else declared


def has_entries(element: Element) -> bool:
    return any(below.tag.rpartition("}")[2].lower() in ("item", "entry") for below in element.iter())


def is_html(element: Element, kind: int) -> bool:
    """Whether the element's text is HTML, by its type or else by its kind. Raises Unsupported for types that change how
    the text is read."""
    declared = kind in _HTML_KINDS
    if not element.keys():
        return declared
    for name, value in element.items():
        local = name.rpartition("}")[2].lower()
        if local == "mode" or (local == "type" and (name != "type" or value.lower() not in _TYPES)):
            raise Unsupported
        if local == "type":
            declared = _TYPES[value.lower()]
    return declared


def is_permalink(element: Element) -> bool:
    for name, value in element.items():
        local = name.rpartition("}")[2].lower()
        if local == "base" or (local == "ispermalink" and "}" in name):
            raise Unsupported
        if local == "ispermalink":
            return value == "true"
    return True
