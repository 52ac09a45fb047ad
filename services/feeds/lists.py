"""Whole lists of feeds taken in at once: an OPML document, or the specification's `feeds:` list in YAML.

One bad entry is a line of the report; the others are taken in. Doing it twice does it once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from models.errors import Conflict, InvalidInput
from models.feed import Feed
from services.feeds.form import LONGEST_NAME, NewFeed, new_feed
from services.feeds.opml import read_opml
from services.feeds.registry import Added, FeedRegistry

Change = Callable[[str, Mapping[str, Any]], Awaitable[Feed]]

_MISSING = object()
# The list itself is the truth of these; the rest of a feed is what the app learnt.
_SAID_BY_THE_LIST = ("source_name", "priority", "source_priority", "enabled", "credential")


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that was not taken in: on which line it is, and why."""

    line: int
    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class ListReport:
    """Ids of feeds that are new, were known as they are, or were known and changed, and what was refused."""

    added: tuple[str, ...]
    known: tuple[str, ...]
    refused: tuple[Refused, ...]
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    line: int
    url: str
    fields: Mapping[str, Any]


async def import_opml(registry: FeedRegistry, document: bytes) -> ListReport:
    """Raises InvalidInput if the whole is no OPML."""
    entries = [
        _Entry(each.line, each.url, {"url": each.url, "source_name": " ".join(each.title.split())[:LONGEST_NAME]})
        for each in read_opml(document)
    ]
    return await _take_in(registry, entries)


async def apply_yaml(registry: FeedRegistry, document: bytes, change: Change | None = None) -> ListReport:
    """Makes the feeds of the list be as it says. Feeds that it does not name stay as they are.

    `change` is asked instead of the registry to change a feed, where something follows from that. Raises InvalidInput
    if the whole is no such list.
    """
    return await _take_in(registry, read_yaml(document), change or registry.change)


def read_yaml(document: bytes) -> list[_Entry]:
    import yaml

    try:
        loader = yaml.SafeLoader(BytesIO(document))  # of a stream, errors quote no lines
        root = loader.get_single_node()
        tree = loader.construct_document(root) if root is not None else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise InvalidInput("feeds", f"must be YAML; this is not ({why})") from None
    feeds = tree.get("feeds", _MISSING) if isinstance(tree, dict) else _MISSING
    if feeds is None:
        return []
    nodes = {key.value: value for key, value in root.value}.get("feeds") if isinstance(root, yaml.MappingNode) else None
    if nodes is None or not isinstance(feeds, list) or not all(isinstance(feed, dict) for feed in feeds):
        raise InvalidInput("feeds", "must be a list under the key feeds, each entry with url and source_name")
    return [
        _Entry(node.start_mark.line + 1, str(feed.get("url", "")), feed)
        for node, feed in zip(nodes.value, feeds, strict=True)
    ]


async def _take_in(registry: FeedRegistry, entries: Sequence[_Entry], change: Change | None = None) -> ListReport:
    wanted: list[tuple[_Entry, NewFeed]] = []
    refused: list[Refused] = []
    for entry in entries:
        try:
            wanted.append((entry, new_feed(entry.fields)))
        except InvalidInput as error:
            refused.append(Refused(entry.line, entry.url, str(error)))
    added, known, changed = [], [], []
    results: list[Added | Conflict] = await registry.add_all([new for _, new in wanted])
    for (entry, new), result in zip(wanted, results, strict=True):
        if isinstance(result, Conflict):
            refused.append(Refused(entry.line, entry.url, str(result)))
        elif result.is_new:
            added.append(result.feed.feed_id)
        elif change is not None and await _brought_in_line(change, result, entry, new):
            changed.append(result.feed.feed_id)
        else:
            known.append(result.feed.feed_id)
    refused.sort(key=lambda each: each.line)
    return ListReport(tuple(added), tuple(known), tuple(refused), tuple(changed))


async def _brought_in_line(change: Change, result: Added, entry: _Entry, new: NewFeed) -> bool:
    """Whether the known feed had to be changed to be as its entry says."""
    said = {name: getattr(new, name) for name in _SAID_BY_THE_LIST if name in entry.fields}
    after = await change(result.feed.feed_id, said)
    return after.stored_etag != result.feed.stored_etag
