"""The WebSub hub that a feed names, and the topic under which that hub knows the feed: from links in the feed document
before its first entry, from the fields of JSON Feed, or from HTTP Link headers. Pure.

Of several hubs the first counts. Without a link to itself the feed has no topic, and its hub is of no use.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from models.raw_item import Hub
from models.values import is_web_url
from services.parse.urls import resolved

MOST_LINKS = 50
LONGEST_URL = 2_000
_LINK = re.compile(rb"<(?:[\w.-]{1,20}:)?link\s([^<>]{1,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-z]{1,20})\s{0,9}=\s{0,9}(?:"([^"<]{0,3000})"|'([^'<]{0,3000})')""", re.IGNORECASE)
_HEADER_LINK = re.compile(
    r"<([^<>]{1,2000})>((?:\s{0,9};\s{0,9}[a-z*]{1,20}\s{0,9}=\s{0,9}(?:\"[^\"]{0,500}\"|[^\s\",;]{1,500}))+)",
    re.IGNORECASE,
)
_REL = re.compile(r";\s{0,9}rel\s{0,9}=\s{0,9}(?:\"([^\"]{0,500})\"|([^\s\",;]{1,500}))", re.IGNORECASE)


def hub_in_document(head: bytes, base: str) -> Hub | None:
    """`head` is the feed document before its first entry, `base` its URL."""
    if b"hub" not in head:
        return None
    links = (_attributes(found[1]) for _, found in zip(range(MOST_LINKS), _LINK.finditer(head), strict=False))
    return hub_in_links(((each.get("rel", ""), each.get("href", "")) for each in links), base)


def hub_in_headers(link: str | None, base: str) -> Hub | None:
    """`link` is the header Link, several of them joined by commas."""
    if link is None or "hub" not in link:
        return None
    found = (each for _, each in zip(range(MOST_LINKS), _HEADER_LINK.finditer(link), strict=False))
    return hub_in_links(((_rel(each[2]), each[1]) for each in found), base)


def _attributes(text: bytes) -> dict[str, str]:
    found = _ATTRIBUTE.finditer(text.decode("utf-8", "replace"))
    return {each[1].lower(): html.unescape(each[2] if each[2] is not None else each[3]) for each in found}


def _rel(parameters: str) -> str:
    found = _REL.search(parameters)
    return (found[1] or found[2] or "") if found else ""


def hub_in_links(links: Iterable[tuple[str, str]], base: str) -> Hub | None:
    """`links` are pairs of the relation and the URL."""
    first: dict[str, str] = {}
    for rel, url in _web_links(links, base):
        first.setdefault(rel, url)
    return Hub(first["hub"], first["self"]) if {"hub", "self"} <= first.keys() else None


def _web_links(links: Iterable[tuple[str, str]], base: str) -> Iterator[tuple[str, str]]:
    for rel, href in links:
        url = resolved(base, href.strip()) if href.strip() else ""
        if is_web_url(url) and len(url) <= LONGEST_URL:
            yield from ((each, url) for each in rel.lower().split() if each in ("hub", "self"))
