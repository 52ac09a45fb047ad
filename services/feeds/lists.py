"""Whole lists of feeds: read from an OPML document or from YAML (config/feeds.yaml), registered, and written as OPML.

A bad entry becomes a line of the report, and does not stop the others. Registering a list again changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlsplit
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from models.errors import Conflict, InvalidInput
from models.feed import Feed
from services.feeds.form import LONGEST_NAME, STORED_AS, new_feed
from services.feeds.registry import Added, FeedRegistry
from services.parse.yaml_lists import Entry, read_entries

Change = Callable[[str, Mapping[str, Any]], Awaitable[Feed]]

_OF_THE_LIST = ("source_name", "priority", "source_priority", "enabled", "credential")
"""The fields of a known feed that a YAML list changes."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that was not registered: its line, and the reason."""

    line: int
    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class ListReport:
    """The ids of feeds that are new, that were known and stay as they are, and that were known and changed; and the
    entries that were refused."""

    added: tuple[str, ...]
    known: tuple[str, ...]
    refused: tuple[Refused, ...]
    changed: tuple[str, ...] = ()


async def import_opml(registry: FeedRegistry, document: bytes, now: datetime) -> ListReport:
    """Registers the feeds of an OPML document. Known feeds stay as they are. Raises InvalidInput as `read_opml`."""
    entries = [
        Entry(each.line, {"url": each.url, "source_name": " ".join(each.title.split())[:LONGEST_NAME]})
        for each in read_opml(document)
    ]
    return await _register(registry, entries, now)


async def apply_yaml(
    registry: FeedRegistry, document: bytes, now: datetime, change: Change | None = None
) -> ListReport:
    """Registers the feeds of a YAML list, and changes known feeds to the list's values. Feeds that are not in it stay
    as they are.

    `change` replaces `registry.change` for callers whose changes start a run. Raises InvalidInput if the document is
    not such a list.
    """
    entries = read_entries(document, "feeds", "url and source_name")
    return await _register(registry, entries, now, change or registry.change)


async def _register(
    registry: FeedRegistry, entries: Sequence[Entry], now: datetime, change: Change | None = None
) -> ListReport:
    wanted: list[tuple[Entry, Feed]] = []
    refused: list[Refused] = []
    for entry in entries:
        try:
            wanted.append((entry, new_feed(entry.fields, now)))
        except InvalidInput as error:
            refused.append(Refused(entry.line, entry.text("url"), str(error)))
    added, known, changed = [], [], []
    results = await registry.add_all([new for _, new in wanted])
    for (entry, new), result in zip(wanted, results, strict=True):
        if isinstance(result, Conflict):
            refused.append(Refused(entry.line, entry.text("url"), str(result)))
        elif result.is_new:
            added.append(result.feed.feed_id)
        elif change is not None and await _changes(change, result, entry, new):
            changed.append(result.feed.feed_id)
        else:
            known.append(result.feed.feed_id)
    refused.sort(key=lambda each: each.line)
    return ListReport(tuple(added), tuple(known), tuple(refused), tuple(changed))


async def _changes(change: Change, result: Added, entry: Entry, new: Feed) -> bool:
    """Changes the known feed to the values of its entry. False if it has them already."""
    wanted = {name: getattr(new, STORED_AS[name]) for name in _OF_THE_LIST if name in entry.fields}
    after = await change(result.feed.feed_id, wanted)
    return after.stored_etag != result.feed.stored_etag


@dataclass(frozen=True, slots=True)
class Outline:
    """One feed of an OPML document, and the line on which it begins."""

    line: int
    url: str
    title: str


def read_opml(document: bytes) -> list[Outline]:
    """Every outline with the URL of a feed, at any depth and with any spelling of `xmlUrl`. Raises InvalidInput for a
    document that is not OPML, or has a document type: no list needs entities, and attacks use them."""
    found: list[Outline] = []
    root: list[str] = []
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        if not root:
            root.append(name)
            if name.lower() != "opml":
                raise InvalidInput("body", f"must be OPML, but its root element is <{name[:40]}>")
        values = {key.lower(): value.strip() for key, value in attributes.items()}
        if name.lower() == "outline" and values.get("xmlurl"):
            title = values.get("title") or values.get("text") or _host(values["xmlurl"])
            found.append(Outline(parser.CurrentLineNumber, values["xmlurl"], title))

    def doctype(*_: object) -> None:
        raise InvalidInput("body", "must be OPML without a document type: entities are not read")

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InvalidInput("body", f"must be OPML, which is XML, but cannot be parsed ({error})") from None
    return found


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


def write_opml(feeds: Iterable[Feed], now: datetime) -> bytes:
    """OPML 2.0, one outline for each feed, in their order."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<opml version="2.0">',
        f"<head><title>toolpulse feeds</title><dateCreated>{format_datetime(now, usegmt=True)}</dateCreated></head>",
        "<body>",
    ]
    for feed in feeds:
        name, url = quoteattr(feed.source_name), quoteattr(feed.feed_url)
        lines.append(f'<outline type="rss" text={name} title={name} xmlUrl={url}/>')
    return "\n".join([*lines, "</body>", "</opml>", ""]).encode()
