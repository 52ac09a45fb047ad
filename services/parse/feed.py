"""Parses feeds of any format (RSS, Atom, JSON Feed) from the bytes of a response. Fetches nothing.

Chooses the parser for a body, refuses bodies that are not feeds, and reads the channel's hints about the next fetch.
Finds the feed that a web page links to: `<link rel="alternate" type="application/rss+xml" href="…">`.
"""

from __future__ import annotations

import codecs
import json
import re
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from models.raw_item import Freshness, ParsedDocument, RawItem
from models.values import is_web_url
from services.parse.collected import Collected, Unreadable
from services.parse.json_documents import read_json_feed
from services.parse.publisher_id import lacks_account, names_account
from services.parse.text import headline_text, unescape
from services.parse.urls import resolved, without_feed_scheme
from services.parse.xml_fast import Unsupported, read_fast

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s;\"']+)", re.IGNORECASE)
_DECLARED = re.compile(rb"^<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([A-Za-z0-9._-]{1,40})[\"']")
_WEB_PAGE = re.compile(
    rb"(?:\s|<!--.*?-->|<\?.*?\?>)*+"
    rb"<(?:html\b|!doctype\s{1,9}html\b(?![^>]{0,500}>\s{0,99}<(?:[\w.-]{1,20}:)?(?:rss|rdf|feed|channel)\b))",
    re.IGNORECASE | re.DOTALL,
)
"""The first element, after comments and processing instructions, is one of HTML. Does not match a feed with a DOCTYPE
of HTML."""
_MAX_BEFORE_ROOT = 50_000
_NO_CHARSETS = frozenset({"punycode", "idna", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"})
"""Codecs of Python that are no charsets of the web; the first two need quadratic time, and UTF-7 gives surrogates."""
_WIDER = {"gb2312": "gb18030"}
"""Charsets whose name documents have that are in a wider one."""

_FIRST_ENTRY = re.compile(rb"<(?:[\w.-]{1,20}:)?(?:item|entry)[\s>]", re.IGNORECASE)
_MAX_HEAD = 100_000
_TTL = re.compile(rb"<ttl>\s{0,20}(\d{1,6})\s{0,20}</ttl>")
_SKIP_HOURS = re.compile(rb"<skiphours>([^!]{0,2000}?)</skiphours>")
_HOUR = re.compile(rb"<hour>\s{0,20}(\d{1,2})\s{0,20}</hour>")
_SKIP_DAYS = re.compile(rb"<skipdays>([^!]{0,2000}?)</skipdays>")
_DAY = re.compile(rb"<day>\s{0,20}([a-z]{6,9})\s{0,20}</day>")
_PERIOD = re.compile(rb"<sy:updateperiod>\s{0,20}([a-z]{5,7})\s{0,20}</")
_FREQUENCY = re.compile(rb"<sy:updatefrequency>\s{0,20}(\d{1,4})\s{0,20}</")
_MOVED = re.compile(
    rb"<itunes:new-feed-url>\s{0,20}(https?://[!-;=-~]{1,2000}?)\s{0,20}</itunes:new-feed-url>", re.IGNORECASE
)
_PERIOD_MINUTES = {"hourly": 60, "daily": 1_440, "weekly": 10_080, "monthly": 43_200, "yearly": 525_600}
_DAY_NAMES = frozenset({"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"})


def parse(body: bytes, base_url: str, content_type: str | None = None) -> ParsedDocument:
    """The feed in the body. Relative links are resolved against `base_url`; `content_type` is the header.

    Raises Unreadable, and nothing else: for an empty body ("empty"), a web page ("html"), and anything else that is not
    a feed ("not_a_feed", "not_json").
    """
    plain, charsets = _plain(body, content_type or "")
    if not plain or plain.isspace():
        raise Unreadable("empty", "the body is empty")
    if plain[:1_000].lstrip()[:1] in (b"{", b"["):
        collected = read_json_feed(plain, base_url)
    else:
        collected = _read_xml(plain, base_url, charsets)
    head = _head(plain)
    document = collected.document(headline_text(collected.title, is_html=False)[:1_000])
    site_url = _web_url(base_url, collected.link)
    return replace(
        document,
        items=_with_account(document.items, site_url),
        site_url=site_url,
        moved_to=_new_url(head),
        freshness=_freshness(head.lower()),
    )


def _with_account(items: tuple[RawItem, ...], site_url: str | None) -> tuple[RawItem, ...]:
    """On a platform whose links name no account, such as that of a video, the page of the feed stands for its
    publisher."""
    if site_url is None or not names_account(site_url):
        return items
    return tuple(
        item._replace(publisher_url=site_url)
        if not item.publisher and not item.publisher_url and lacks_account(item.url, site_url)
        else item
        for item in items
    )


def _read_xml(plain: bytes, base: str, charsets: list[str]) -> Collected:
    if not charsets or charsets[0] in ("utf-8", "ascii"):
        with suppress(Unsupported):
            return read_fast(plain, base)
    if _WEB_PAGE.match(plain[:_MAX_BEFORE_ROOT]):
        raise Unreadable("html", "a web page, not a feed")
    from services.parse.xml_feedparser import read_with_feedparser

    return read_with_feedparser(plain, base, charsets)


def _plain(body: bytes, content_type: str) -> tuple[bytes, list[str]]:
    """The document without a byte order mark, and the charsets that header and declaration name, in which it may be.

    UTF-16 and UTF-32 are converted to UTF-8: the parsers search for ASCII.
    """
    encoding = json.detect_encoding(body)
    if not encoding.startswith("utf-8"):
        return body.decode(encoding, "replace").lstrip("\ufeff\n\r\t ").encode("utf-8", "replace"), []
    plain = body.removeprefix(codecs.BOM_UTF8)
    declared = _DECLARED.match(plain)
    named = (charset_in(content_type), declared[1].decode() if declared else "")
    return plain, [name for each in named if (name := codec_of(each))]


def charset_in(content_type: str) -> str:
    """What the header names; empty if it names none."""
    found = _CHARSET.search(content_type)
    return found[1] if found else ""


def codec_of(name: str) -> str | None:
    """The codec of a charset; None if there is none, or if a document that begins with an ASCII `<` cannot be in it."""
    try:
        codec = codecs.lookup(name).name
        fits = codec not in _NO_CHARSETS and b"<".decode(codec, "ignore") == "<"
    except (LookupError, ValueError):
        return None
    return _WIDER.get(codec, codec) if fits else None


def _web_url(base: str, link: str) -> str | None:
    url = resolved(base, link.strip()) if link else ""
    return url if is_web_url(url) and len(url) < 2_000 else None


def _head(body: bytes) -> bytes:
    """The feed document before its first entry."""
    head = body[:_MAX_HEAD]
    first = _FIRST_ENTRY.search(head)
    return head[: first.start()] if first else head


def _freshness(head: bytes) -> Freshness:
    """RSS's ttl, skipHours and skipDays, and the syndication module. Regular expressions find them, since feedparser
    keeps only one of several hours; a wrong match delays a poll, and loses no article."""
    ttl, hours, days = _TTL.search(head), _SKIP_HOURS.search(head), _SKIP_DAYS.search(head)
    skip_hours = {int(hour) % 24 for hour in _HOUR.findall(hours[1]) if int(hour) <= 24} if hours else set()
    skip_days = {day.decode() for day in _DAY.findall(days[1])} if days else set()
    return Freshness(
        ttl_minutes=(int(ttl[1]) if ttl else 0) or _update_minutes(head),
        skip_hours=frozenset(skip_hours),
        skip_days=frozenset(skip_days & _DAY_NAMES),
    )


def _update_minutes(head: bytes) -> int | None:
    period = _PERIOD.search(head)
    minutes = _PERIOD_MINUTES.get(period[1].decode()) if period else None
    if minutes is None:
        return None
    frequency = _FREQUENCY.search(head)
    return max(1, minutes // max(1, int(frequency[1]))) if frequency else minutes


def _new_url(head: bytes) -> str | None:
    """The URL to which the feed has moved permanently, as its `new-feed-url` names it."""
    moved = _MOVED.search(head) if b"new-feed-url" in head else None
    return moved[1].decode("ascii").replace("&amp;", "&") if moved else None


_FEED_TYPES = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml", "application/json"}
)
_TAG = re.compile(r"<(link|base)\b([^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-zA-Z-]{1,40})\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_MAX_CHARACTERS = 1_000_000


def linked_feed(body: bytes, base_url: str) -> str | None:
    """The URL of the first feed that an HTML page links to."""
    base = base_url
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
        if not usable:
            continue
        if tag[1].lower() == "base":
            base = url
            continue
        media_type = attributes.get("type", "").partition(";")[0].strip().lower()
        relations = attributes.get("rel", "").lower().split()
        if "feed" in relations or ("alternate" in relations and media_type in _FEED_TYPES):
            return url
    return None
