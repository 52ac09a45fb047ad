"""Feeds, whatever their format: RSS, Atom, JSON Feed, from the bytes that a server answered with.

Decides who reads a document and what a body that is none is called; the readers are beside it. Pure: nothing here
fetches, and a relative link is resolved against the URL that is handed in.
"""

from __future__ import annotations

import re
from contextlib import suppress

from models.raw_item import ParsedDocument
from services.parse.collected import Feed
from services.parse.freshness import head_of, read_freshness, read_new_url
from services.parse.json_feed import read_json_feed
from services.parse.page_links import FeedLink, discover
from services.parse.repair import resolved
from services.parse.text import headline_text
from services.parse.unreadable import Unreadable
from services.parse.xml_elements import Odd
from services.parse.xml_fast import read_fast

__all__ = ["FeedLink", "discover", "parse"]

DEFAULT_TYPE = "application/xml"
"""What a body without a type is taken for: its own XML declaration then decides on the encoding."""

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s;\"']+)", re.IGNORECASE)
_DECLARED = re.compile(rb"^<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([A-Za-z0-9._-]{1,40})[\"']")
_DECLARATION = re.compile(r"^<\?xml[^>]{0,500}\?>")
_WEB_PAGE = re.compile(
    rb"<(?:html\b|!doctype\s{1,9}html\b(?![^>]{0,500}>\s{0,99}<(?:[\w.-]{1,20}:)?(?:rss|rdf|feed|channel)\b))",
    re.IGNORECASE,
)
"""Not a feed that says by mistake that it is HTML."""
_UTF8_MARK = b"\xef\xbb\xbf"
_MOST_BEFORE_ROOT = 50_000
_MOST_COMMENTS = 20
_UTF8 = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii"})
_WIDE = (
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\xfe\xff", "utf-16"),
    (b"\xff\xfe", "utf-16"),
    (b"\x00<\x00?", "utf-16-be"),
    (b"<\x00?\x00", "utf-16-le"),
)


def parse(body: bytes, base_url: str, content_type: str | None = None) -> ParsedDocument:
    """All that a feed says. `base_url` is where it came from; `content_type` is that header of the answer.

    Raises Unreadable, and nothing else: for an empty body ("empty"), a web page ("html", see `discover`), and
    whatever is no feed ("not_a_feed", "not_json").
    """
    content_type = (content_type or "").strip() or DEFAULT_TYPE
    body, content_type = _narrowed(body, content_type)
    plain = body.removeprefix(_UTF8_MARK)
    if not plain or plain.isspace():
        raise Unreadable("empty", "nothing in it")
    if plain[:1_000].lstrip()[:1] in (b"{", b"["):
        feed = read_json_feed(plain, base_url)
    else:
        feed = _read_xml(body, base_url, content_type)
    head = head_of(body)
    items = feed.collected.finished()
    return ParsedDocument(
        version=feed.version,
        items=items,
        title=headline_text(feed.title, is_html=False)[:1_000],
        site_url=_web_url(base_url, feed.link),
        moved_to=read_new_url(head),
        freshness=read_freshness(head),
        warnings=dict(feed.collected.warnings),
        skipped=dict(feed.collected.skipped),
    )


def _read_xml(body: bytes, base: str, content_type: str) -> Feed:
    plain = body.removeprefix(_UTF8_MARK)
    declared = _DECLARED.match(plain)
    encoding = declared[1].decode().lower() if declared else ""
    charset = _CHARSET.search(content_type)
    if encoding in _UTF8 and (charset[1].lower() if charset else "") in _UTF8:
        with suppress(Odd):
            return read_fast(plain, base)
    if _is_web_page(plain[:_MOST_BEFORE_ROOT].lstrip()):
        raise Unreadable("html", "a web page, not a feed")
    from services.parse.xml_feedparser import read_as_feedparser

    return read_as_feedparser(body, base, content_type)


def _is_web_page(start: bytes) -> bool:
    """Whether the first element, after what may come before it, is HTML's."""
    for _ in range(_MOST_COMMENTS):
        ending = b"-->" if start.startswith(b"<!--") else b"?>" if start.startswith(b"<?") else None
        if ending is None:
            break
        start = start.partition(ending)[2].lstrip()
    return _WEB_PAGE.match(start) is not None


def _narrowed(body: bytes, content_type: str) -> tuple[bytes, str]:
    """UTF-16 and its like as UTF-8: everything that follows looks for ASCII."""
    for mark, encoding in _WIDE:
        if body.startswith(mark):
            text = body.decode(encoding, "replace").lstrip("\ufeff\n\r\t ")
            return _DECLARATION.sub("<?xml version='1.0'?>", text, count=1).encode(
                "utf-8", "replace"
            ), content_type.partition(";")[0]
    return body, content_type


def _web_url(base: str, link: str) -> str | None:
    url = resolved(base, link.strip()) if link else ""
    return url if url.startswith(("http://", "https://")) and len(url) < 2_000 else None
