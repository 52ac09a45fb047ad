"""Whole lists of feeds: read from an OPML document or from YAML (config/feeds.yaml), and registered.

A bad entry becomes a line of the report, and does not stop the others. Registering a list again changes nothing.

In OPML, as other feed readers exchange it, folders and the attribute `category` are tags. A feed is in the folder of
each of its tags, nested for tags with several levels, and `category` lists all its tags: some readers know folders
only, some `category` only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from xml.parsers import expat

from models.errors import InvalidInput
from models.feed import Feed, host_of_address
from models.resources.feeds import LONGEST_NAME, LONGEST_TAG, FeedResource, RefusedOutline
from models.values import is_web_url
from services.feeds.form import Presets, new_feed
from services.feeds.registry import Added, FeedRegistry
from services.parse.urls import link_of, without_feed_scheme
from services.yaml_lists import Entry, read_entries


def read_opml(document: bytes) -> list[Entry]:
    """Every outline with the URL of a feed, at any depth and with any spelling of `xmlUrl`: as a person would post it,
    with its `site_url`. Its tags are its folder, if it is in one, and its categories. Raises InvalidInput for a
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
        self.found: list[Entry] = []
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
            name = " ".join((title or host_of_address(url) or url).split())[:LONGEST_NAME]
            fields = {"url": url, "source_name": name, "tags": named, "site_url": values.get("htmlurl")}
            self.found.append(Entry(self.parser.CurrentLineNumber, fields))
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

    def new(entry: Entry) -> Feed:
        posted = dict(entry.fields)
        site = posted.pop("site_url")
        feed = new_feed(posted, now)
        return feed.changed(now, site_url=site) if site and is_web_url(site) else feed

    return await _register(registry, [(each, partial(new, each)) for each in _merged(read_opml(document))])


def _merged(outlines: Iterable[Entry]) -> list[Entry]:
    """Each feed once, where it is first, with the tags of all its outlines."""
    found: dict[str, Entry] = {}
    for each in outlines:
        address = link_of(without_feed_scheme(each.text("url")))
        first = found.setdefault(address, each)
        tags = tuple(dict.fromkeys((*first.fields["tags"], *each.fields["tags"])))
        site = first.fields["site_url"] or each.fields["site_url"]
        found[address] = Entry(first.line, {**first.fields, "tags": tags, "site_url": site})
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

    entries = await asyncio.to_thread(read_entries, document, "feeds", "url and source_name")  # 5 s for a megabyte
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
    return after if after != result.feed else None
