"""Whole lists of feeds: read from an OPML document or from YAML (config/feeds.yaml), and registered.

A bad entry becomes a line of the report, and does not stop the others. Registering a list again changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from models.errors import InvalidInput
from models.feed import Feed
from models.values import is_web_url
from services.feeds.form import STORED_AS, new_feed
from services.feeds.opml import Outline, read_opml
from services.feeds.presets import Presets
from services.feeds.registry import Added, FeedRegistry
from services.parse.urls import normalize_url, without_feed_scheme
from services.parse.yaml_lists import Entry, read_entries

Change = Callable[[str, Mapping[str, Any]], Awaitable[Feed]]

_OF_THE_LIST = ("source_name", "priority", "source_priority", "enabled", "credential", "daily_limit", "tags")
"""The fields of a known feed that a YAML list changes."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that was not registered: its line, and the reason."""

    line: int
    url: str
    source_name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ListReport:
    """The feeds that are new, that were known and stay as they are, and that were known and changed; and the entries
    that were refused."""

    added: tuple[Feed, ...]
    known: tuple[Feed, ...]
    refused: tuple[Refused, ...]
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
    refused: list[Refused] = []
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
    refused.sort(key=lambda each: each.line)
    return ListReport(tuple(added), tuple(known), tuple(refused), tuple(changed))


def _refused(entry: Entry, error: Exception) -> Refused:
    return Refused(entry.line, entry.text("url"), entry.text("source_name"), str(error))


async def _changed(change: Change, result: Added, entry: Entry, new: Feed) -> Feed | None:
    """Changes the known feed to the values of its entry. None if it has them already."""
    wanted = {name: getattr(new, STORED_AS.get(name, name)) for name in _OF_THE_LIST if name in entry.fields}
    after = await change(result.feed.feed_id, wanted)
    return after if after.stored_etag != result.feed.stored_etag else None
