"""What each element of an entry means to feedparser, so that the fast reader knows what it may read, ignore or refuse.

feedparser keys on a prefix of its own for each namespace that it knows; elements for which it has no handler change
nothing that we read. Anything that it handles and that is not in this table is for feedparser itself.
"""

from __future__ import annotations

import re

ATOM = "{http://www.w3.org/2005/Atom}"
RSS1 = "{http://purl.org/rss/1.0/}"
RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_CONTENT = "{http://purl.org/rss/1.0/modules/content/}"


# Kinds. Plain integers: to look up an enum's members costs more than all else that is done with an element.
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
ODD = 17

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
}
_PREFIXED = {
    "dc_title": TITLE,
    "dc_date": UPDATED,
    "dc_subject": CATEGORY,
    "dc_description": SUMMARY,
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
    "author contributor name email uri url homepage enclosure comments language rights copyright subtitle generator "
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
_MEANT_NAMES = "links guidislink tags date published_parsed updated_parsed created_parsed title_detail summary_detail"
_MEANT = frozenset(_MEANT_NAMES.split())
"""Keys of feedparser's own result: an element of that name would write over them."""

MAX_STRANGE_NAMESPACES = 20
MAX_REMEMBERED = 10_000


class Kinds(dict[str, int]):
    """The kinds of one document's tags, found out as they turn up."""

    def __init__(self, data: bytes) -> None:
        super().__init__(KNOWN)
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
                return ODD
        name = f"{prefix.lower()}_{local}" if prefix else local
        kind = _PREFIXED.get(name) if prefix else _BASE.get(local)
        if kind is not None:
            return kind
        if name in _MEANT or name in _NOT_HARMLESS:
            return ODD
        handled = hasattr(Mixin, f"_start_{name}") or hasattr(Mixin, f"_end_{name}")
        harmless = name.startswith(_HARMLESS_PREFIXES) if prefix else local in _HARMLESS
        return ODD if handled and not harmless else IGNORE

    def _own_prefix(self, namespace: str) -> str | None:
        """The prefix of a namespace that feedparser does not know, for it goes by the prefix then. None if unsure."""
        if namespace not in self._prefixes:
            if len(self._prefixes) >= MAX_STRANGE_NAMESPACES:
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


KNOWN: dict[str, int] = {
    **{name: _BASE[name] for name in ("title", "link", "guid", "category", "description")},
    "pubDate": PUBLISHED,
    "author": IGNORE,
    **dict.fromkeys(("comments", "enclosure", "language", "copyright", "generator", "ttl", "managingEditor"), IGNORE),
    "lastBuildDate": UPDATED,
    **{ATOM + name: _BASE[name] for name in _BASE if name not in ("guid", "pubdate", "lastbuilddate", "description")},
    ATOM + "author": IGNORE,
    ATOM + "name": IGNORE,
    RSS1 + "items": IGNORE,
    **{RSS1 + name: _BASE[name] for name in ("title", "link", "description")},
    _DC + "creator": IGNORE,
    _DC + "date": UPDATED,
    _DC + "subject": CATEGORY,
    _CONTENT + "encoded": ENCODED,
}
