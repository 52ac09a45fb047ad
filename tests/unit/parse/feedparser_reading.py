"""How feedparser itself reads a document, in the form of our items, so that the two can be compared."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import feedparser

from models.raw_item import ParsedDocument
from services.parse.collected import _of_another_host, as_html
from services.parse.language import primary_subtag
from services.parse.text import headline_text, one_line

FEEDS = Path(__file__).parents[2] / "data" / "feeds"
BASE = "http://feeds.example/news/feed.xml"
_WEB = re.compile("https?://[^/]", re.IGNORECASE)
_HTML = ("text/html", "application/xhtml+xml")


class Reading(NamedTuple):
    """One entry's title, link, id, date, tags, summary, publisher and language."""

    title: str
    link: str
    id: str | None
    published: datetime | None
    tags: tuple[str, ...]
    summary: str
    publisher: str | None
    publisher_url: str
    language: str


_OURS = attrgetter(
    "headline", "url", "article_id", "published", "tags", "summary_html", "publisher", "publisher_url", "language"
)


def read_by_us(document: ParsedDocument) -> list[Reading]:
    return [Reading(*_OURS(each)) for each in document.items]


def read_by_feedparser(body: bytes, content_type: str = "application/xml") -> tuple[str, list[Reading]]:
    """The version and the entries that have a title and a web link. Of an entry that occurs twice, both."""
    parsed = feedparser.parse(
        io.BytesIO(body),
        response_headers={"content-type": content_type, "content-location": BASE},
        sanitize_html=False,
        resolve_relative_uris=False,
    )
    entries = [_reading(dict(entry.items()), parsed.feed.get("language", "")) for entry in parsed.entries]
    return parsed.version, [each for each in entries if each.title and _WEB.match(each.link)]


def _reading(entry: dict[str, Any], language: str) -> Reading:
    title = entry.get("title_detail", {})
    title_type = title.get("type")
    contents = entry.get("content") or [{"type": "text/html"}]
    summary_type = entry.get("summary_detail", contents[0]).get("type")
    return Reading(
        title=headline_text(entry.get("title", ""), is_html=title_type in _HTML),
        link=entry.get("link", "").strip().replace(" ", "%20"),
        id=entry.get("id") or None,
        published=_moment(entry),
        tags=tuple(dict.fromkeys(term for tag in entry.get("tags", ()) if (term := one_line(tag["term"] or "")))),
        summary=as_html(entry.get("summary") or "", is_html=summary_type in _HTML),
        publisher=one_line(entry.get("source", {}).get("title") or "") or None,
        publisher_url=_of_another_host(entry.get("source", {}).get("href") or "", entry.get("link") or ""),
        language=primary_subtag(entry.get("language") or title.get("language") or language),
    )


def _moment(entry: dict[str, Any]) -> datetime | None:
    for name in ("published_parsed", "updated_parsed", "created_parsed"):
        parts = entry.get(name)
        if parts and parts[0] > 0:
            year, month, day, hour, minute, second = parts[:6]
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return None
