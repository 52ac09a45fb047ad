"""The feeds that a web page links to: `<link rel="alternate" type="application/rss+xml" href="…">`. Fetches nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from services.parse.text import headline_text, unescape
from services.parse.urls import without_feed_scheme

_FEED_TYPES = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml", "application/json"}
)
_TAG = re.compile(r"<(link|base)\b([^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-zA-Z-]{1,40})\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_MAX_CHARACTERS = 1_000_000
_MAX_LINKS = 50


@dataclass(frozen=True, slots=True)
class FeedLink:
    """A feed of a web page. `title` may be empty."""

    url: str
    title: str
    media_type: str


def discover(body: bytes, base_url: str) -> list[FeedLink]:
    """The feeds that an HTML page links to, in its order, each once."""
    base = base_url
    found: dict[str, FeedLink] = {}
    for tag in _TAG.finditer(body[:_MAX_CHARACTERS].decode("utf-8", "replace")):
        attributes = {
            match[1].lower(): unescape(match[2] or match[3] or match[4] or "").strip()
            for match in _ATTRIBUTE.finditer(tag[2])
        }
        href = attributes.get("href")
        if not href:
            continue  # it would be the page itself
        try:
            url = urljoin(base, without_feed_scheme(href))
            usable = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
        except ValueError:
            continue
        if tag[1].lower() == "base":
            base = url if usable else base
            continue
        media_type = attributes.get("type", "").partition(";")[0].strip().lower()
        relations = attributes.get("rel", "").lower().split()
        is_feed = "feed" in relations or ("alternate" in relations and media_type in _FEED_TYPES)
        if usable and is_feed and len(found) < _MAX_LINKS:
            title = headline_text(attributes.get("title", ""), is_html=False)
            found.setdefault(url, FeedLink(url, title, media_type))
    return list(found.values())
