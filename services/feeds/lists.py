"""Whole lists of feeds: read from an OPML document or from YAML (config/feeds.yaml), and registered.

A bad entry becomes a line of the report, and does not stop the others. Registering a list again changes nothing.

In OPML, as other feed readers exchange it, folders and the attribute `category` are tags. A feed is in the folder of
each of its tags, nested for tags with several levels, and `category` lists all its tags: some readers know folders
only, some `category` only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import format_datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from models.errors import InvalidInput
from models.feed import Feed
from models.resources.feeds import FeedResource, RefusedOutline
from models.values import is_web_url
from services.feeds.form import LONGEST_NAME, LONGEST_TAG, Presets, new_feed
from services.feeds.registry import Added, FeedRegistry
from services.parse.urls import normalize_url, without_feed_scheme
from services.parse.yaml_lists import Entry, read_entries


@dataclass(frozen=True, slots=True)
class Outline:
    """One feed of an OPML document, and the line on which it begins. `tags` are its folder, if it is in one, and its
    categories."""

    line: int
    url: str
    title: str
    tags: tuple[str, ...] = ()
    site_url: str | None = None

    def fields(self) -> dict[str, Any]:
        """As a person would post them."""
        name = " ".join(self.title.split())[:LONGEST_NAME]
        return {"url": self.url, "source_name": name, "tags": self.tags}


def read_opml(document: bytes) -> list[Outline]:
    """Every outline with the URL of a feed, at any depth and with any spelling of `xmlUrl`. Raises InvalidInput for a
    document that is not OPML, or has a document type: no list needs entities, and attacks use them."""
    reader = _Reader()
    try:
        reader.parser.Parse(document, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InvalidInput("body", f"must be OPML, which is XML, but cannot be parsed ({error})") from None
    return reader.found


class _Reader:
    """Reads an OPML document.

    `_folders` has the tag of each open outline: that of its folder, or "" outside of folders.
    """

    def __init__(self) -> None:
        self.found: list[Outline] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._has_root = False
        self._folders = [""]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._has_root:
            self._has_root = True
            if name.lower() != "opml":
                raise InvalidInput("body", f"must be OPML, but its root element is <{name[:40]}>")
        if name.lower() != "outline":
            return
        values = {key.lower(): value.strip() for key, value in attributes.items()}
        url, title, folder = values.get("xmlurl"), values.get("title") or values.get("text") or "", self._folders[-1]
        if url:
            tags = [folder, *values.get("category", "").split(",")]
            named = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip(" /")))
            line = self.parser.CurrentLineNumber
            self.found.append(Outline(line, url, title or _host(url), named, values.get("htmlurl") or None))
            self._folders.append(folder)
        else:
            # A comma separates categories. A tag that is too long is refused with its feed, however deep its folder.
            tag = f"{folder}/{title.replace(',', ' ')}" if folder and title else folder or title.replace(",", " ")
            self._folders.append(tag[: 2 * LONGEST_TAG])

    def _end(self, name: str) -> None:
        if name.lower() == "outline":
            self._folders.pop()

    def _doctype(self, *_: object) -> None:
        raise InvalidInput("body", "must be OPML without a document type: entities are not read")


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


@dataclass(slots=True)
class _Folder:
    """A folder of an OPML document."""

    folders: dict[str, _Folder] = field(default_factory=dict)
    feeds: list[Feed] = field(default_factory=list)


def write_opml(feeds: Iterable[Feed], now: datetime) -> bytes:
    """OPML 2.0. In each folder its feeds in their order, after the folders in it; feeds without tags are in none."""
    top = _Folder()
    for feed in feeds:
        for tag in feed.tags or ("",):
            folder = top
            for level in filter(None, tag.split("/")):
                folder = folder.folders.setdefault(level, _Folder())
            folder.feeds.append(feed)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<opml version="2.0">',
        f"<head><title>toolpulse feeds</title><dateCreated>{format_datetime(now, usegmt=True)}</dateCreated></head>",
        "<body>",
        *_outlines(top),
    ]
    return "\n".join([*lines, "</body>", "</opml>", ""]).encode()


def _outlines(folder: _Folder) -> Iterable[str]:
    for name, inner in sorted(folder.folders.items()):
        yield f"<outline{_attributes({'text': name, 'title': name})}>"
        yield from _outlines(inner)
        yield "</outline>"
    for feed in folder.feeds:
        yield f"<outline{_attributes(_described(feed))}/>"


def _described(feed: Feed) -> dict[str, str | None]:
    return {
        "type": "rss",
        "text": feed.source_name,
        "title": feed.source_name,
        "xmlUrl": feed.feed_url,
        "htmlUrl": feed.site_url,
        "category": ",".join(f"/{tag}" for tag in feed.tags),
    }


def _attributes(values: Mapping[str, str | None]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in values.items() if value)


Change = Callable[[str, Mapping[str, Any]], Awaitable[Feed]]

_OF_THE_LIST = ("source_name", "priority", "source_priority", "enabled", "credential", "daily_limit", "tags")
"""The fields of a known feed that a YAML list changes."""


@dataclass(frozen=True, slots=True)
class ListReport:
    """The feeds that are new, that were known and stay as they are, and that were known and changed; and the entries
    that were refused."""

    added: tuple[Feed, ...]
    known: tuple[Feed, ...]
    refused: tuple[RefusedOutline, ...]
    changed: tuple[Feed, ...] = ()


async def import_opml(registry: FeedRegistry, document: bytes, now: datetime) -> ListReport:
    """Registers the feeds of an OPML document: a feed in several folders once, with the tags of all. Known feeds stay
    as they are. Raises InvalidInput as `read_opml`."""

    def new(outline: Outline) -> Feed:
        feed = new_feed(outline.fields(), now)
        has_site = outline.site_url is not None and is_web_url(outline.site_url)
        return feed.changed(now, site_url=outline.site_url) if has_site else feed

    outlines = _merged(read_opml(document))
    return await _register(registry, [(Entry(each.line, each.fields()), partial(new, each)) for each in outlines])


def _merged(outlines: Iterable[Outline]) -> list[Outline]:
    """Each feed once, where it is first, with the tags of all its outlines."""
    found: dict[str, Outline] = {}
    for each in outlines:
        try:
            address = normalize_url(without_feed_scheme(each.url))
        except ValueError:
            address = each.url  # it will be refused
        first = found.setdefault(address, each)
        tags = tuple(dict.fromkeys((*first.tags, *each.tags)))
        found[address] = replace(first, tags=tags, site_url=first.site_url or each.site_url)
    return list(found.values())


async def apply_yaml(
    registry: FeedRegistry,
    document: bytes,
    now: datetime,
    change: Change | None = None,
    presets: Presets | None = None,
) -> ListReport:
    """Registers the feeds of a YAML list, whose entries may name one of `presets`, and changes known feeds to the
    list's values. Feeds that are not in it stay as they are.

    `change` replaces `registry.change` for callers whose changes start a run. Raises InvalidInput if the document is
    not such a list.
    """

    def new(entry: Entry) -> Feed:
        return new_feed((presets or Presets()).resolved(entry.fields), now)

    entries = read_entries(document, "feeds", "url and source_name")
    return await _register(registry, [(each, partial(new, each)) for each in entries], change or registry.change)


async def _register(
    registry: FeedRegistry, entries: Iterable[tuple[Entry, Callable[[], Feed]]], change: Change | None = None
) -> ListReport:
    """`entries` are each with a function that makes its feed, or raises InvalidInput."""
    wanted: list[tuple[Entry, Feed]] = []
    refused: list[RefusedOutline] = []
    for entry, new_of_entry in entries:
        try:
            wanted.append((entry, new_of_entry()))
        except InvalidInput as error:
            refused.append(_refused(entry, error))
    added, known, changed = [], [], []
    results = await registry.add_all([new for _, new in wanted])
    for (entry, new), result in zip(wanted, results, strict=True):
        if not isinstance(result, Added):
            refused.append(_refused(entry, result))
        elif result.is_new:
            added.append(result.feed)
        elif change is not None and (after := await _changed(change, result, entry, new)) is not None:
            changed.append(after)
        else:
            known.append(result.feed)
    refused.sort(key=lambda each: each.line or 0)
    return ListReport(tuple(added), tuple(known), tuple(refused), tuple(changed))


def _refused(entry: Entry, error: Exception) -> RefusedOutline:
    url, name = entry.text("url"), entry.text("source_name")
    return RefusedOutline(line=entry.line, url=url, source_name=name, reason=str(error))


async def _changed(change: Change, result: Added, entry: Entry, new: Feed) -> Feed | None:
    """Changes the known feed to the values of its entry. None if it has them already."""
    wanted = {name: getattr(new, FeedResource.stored_name(name)) for name in _OF_THE_LIST if name in entry.fields}
    after = await change(result.feed.feed_id, wanted)
    return after if after.stored_etag != result.feed.stored_etag else None
