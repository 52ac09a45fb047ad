"""Exports what is stored, in the order in which it was written, and later what was written or removed since.

A page is one query of an index, whatever is stored. A cursor has two places in that order: `place` is behind the last
document that was read, `settled` behind the last one before which nothing can appear any more. A document becomes
visible some time after the second that its store gave it, and the clocks of two workers differ: so what was written in
the last SETTLING is read again when an export is continued. Nothing is left out as long as a write takes less than
SETTLING and the clocks agree within it. The cursor remembers which versions of these documents were brought, up to
MAX_SEEN; beyond that they are brought again.
"""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, get_args

from models.article import Article, Observation
from models.errors import InvalidInput
from models.mention import SentimentScore
from models.stored import StoredDocument
from models.story import RemovedStory, Story
from models.values import unix_seconds
from services.articles.sources import of_list
from services.ports import Clock, Document, Listed, Query, Store, Where, listed_documents
from services.store.containers import ARTICLES, MENTIONS, STORIES, Container
from services.store.plans import decode_cursor, encode_cursor, plan

Layer = Literal["canonical", "raw", "mentions", "stories"]
LAYERS: tuple[Layer, ...] = get_args(Layer)
SETTLING = timedelta(minutes=3)
"""Longer than a write waits for the store, and than clocks may differ (CLOCKS_DIFFER)."""

MAX_SEEN = 300
"""So that a cursor fits into a URL."""

_ORDER = "by_change"
_NUMERIC = (True, False, False, True, False, False, True, False)
_MARK_BYTES = 8

Place = tuple[int, str, str]
"""Of a document: the second in which it was written, its partition and its id."""
_START: Place = (0, "", "")


@dataclass(frozen=True, slots=True)
class Exported:
    """One page. `next` is the cursor of the page after it, None on the last one; with `resume` the export is continued
    later. `unreadable` is the number of documents that were left out."""

    items: list[dict[str, Any]]
    next: str | None
    resume: str
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a layer is exported.

    `keys` are the fields that a removal names. `marks` is the kind of documents that say that one was removed.
    """

    container: Container
    where: tuple[Where, ...]
    model: type[StoredDocument]
    keys: tuple[str, ...]
    removed: str
    marks: str | None = None


_KINDS: Mapping[Layer, _Kind] = {
    "canonical": _Kind(ARTICLES, (Where("entity_type", "eq", "Article"),), Article, ("source_id",), "deleted_at"),
    "raw": _Kind(
        ARTICLES,
        (Where("entity_type", "eq", "Observation"),),
        Observation,
        ("source_id", "source", "observed_day"),
        "deleted_at",
    ),
    "mentions": _Kind(MENTIONS, (), SentimentScore, ("tool_id", "source_id"), "removed_at"),
    "stories": _Kind(
        STORIES,
        (Where("entity_type", "in", ("Story", RemovedStory.KIND)),),
        Story,
        ("event_id",),
        "removed_at",
        RemovedStory.KIND,
    ),
}


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The cursor of an export.

    `began`: when the export was begun. What was removed before, it never had. `seen`: the versions behind `settled`
    that were brought.
    """

    place: Place
    settled: Place
    began: int
    seen: frozenset[bytes] = frozenset()

    def encoded(self, layer: Layer) -> str:
        seen = base64.b64encode(b"".join(sorted(self.seen))).decode()
        return encode_cursor(f"export:{layer}", [*self.place, *self.settled, self.began, seen])


class Export:
    """Exports what is stored."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def page(self, layer: Layer, limit: int, cursor: str | None) -> Exported:
        """One page of a layer. Raises InvalidInput for a cursor of another layer, or of no export."""
        kind, settles = _KINDS[layer], unix_seconds(self._clock() - SETTLING)
        at = _Cursor(_START, _START, settles) if cursor is None else _decoded(layer, cursor)
        query = Query(kind.where, order=_ORDER, limit=limit)
        if at.place != _START:
            after = encode_cursor(plan(kind.container, query).fingerprint, list(at.place))
            query = Query(kind.where, order=_ORDER, limit=limit, after=after)
        found = await self._store.query(kind.container.name, query)
        place, settled, seen = at.place, at.settled, set(at.seen)
        new: list[Document] = []
        for each in found.items:
            before, place = place, (each["_ts"], each[kind.container.partition_key], each["id"])
            # Once something was read too early, all of it from there on is read again.
            if settled == before and each["_ts"] <= settles:
                settled = place
            mark = _mark(place, each)
            if mark not in seen:
                new.append(each)
            if settled != place and len(seen) < MAX_SEEN:
                seen.add(mark)
        remembered = frozenset() if settled == place else frozenset(seen)
        # What is gone already when the first page is read was never brought.
        told_since = sys.maxsize if cursor is None else at.began
        items, unreadable = await self._shown(layer, kind, new, told_since)
        following = _Cursor(place, settled, at.began, remembered).encoded(layer)
        resume = _Cursor(settled, settled, at.began, remembered).encoded(layer)
        return Exported(items, following if found.next is not None else None, resume, unreadable)

    async def _shown(
        self, layer: Layer, kind: _Kind, documents: list[Document], told_since: int
    ) -> tuple[list[dict[str, Any]], int]:
        """The records in the order of the documents, and how many could not be read."""
        kept = [each for each in documents if not _is_removal(kind, each)]
        read: Listed[Any] = listed_documents(kept, kind.model.from_document, "id")
        if layer == "canonical":
            read = of_list(read)
        shown = {(each.partition, each.id): each.shown() for each in read.items}
        there = await self._that_are_there_again(kind, documents)
        key, items = kind.container.partition_key, list[dict[str, Any]]()
        for each in documents:
            if (each[key], each["id"]) in shown:
                items.append(shown[each[key], each["id"]])
            elif _is_removal(kind, each) and each["_ts"] >= told_since and each["id"] not in there:
                names = {name: each.get(name) for name in kind.keys}
                items.append({**names, "removed": True, "removed_at": each[kind.removed]})
        return items, len(read.unreadable)

    async def _that_are_there_again(self, kind: _Kind, documents: list[Document]) -> set[str]:
        """The marks of removed documents that were written again since."""
        marks = [each for each in documents if each.get("entity_type") == kind.marks]
        if not marks:
            return set()
        keys = [(each[kind.container.partition_key], each["removed_id"]) for each in marks]
        found = await self._store.read_many(kind.container.name, keys)
        return {
            mark["id"]
            for mark, each in zip(marks, found, strict=True)
            if each is not None and each.get(kind.removed) is None
        }


def _is_removal(kind: _Kind, document: Document) -> bool:
    return document.get(kind.removed) is not None


def _mark(place: Place, document: Document) -> bytes:
    """Stands for one version of a document."""
    text = "\n".join((place[1], place[2], document["_etag"]))
    return hashlib.blake2b(text.encode(), digest_size=_MARK_BYTES).digest()


def _decoded(layer: Layer, cursor: str) -> _Cursor:
    try:
        values: Any = decode_cursor(f"export:{layer}", cursor, _NUMERIC)
        marks = base64.b64decode(values[7], validate=True)
    except (InvalidInput, ValueError):
        raise InvalidInput(
            "cursor", "must be X-Next-Cursor or X-Resume-Cursor of an export of the same layer"
        ) from None
    seen = frozenset(marks[start : start + _MARK_BYTES] for start in range(0, len(marks), _MARK_BYTES))
    return _Cursor((values[0], values[1], values[2]), (values[3], values[4], values[5]), values[6], seen)


_COMMON = ("entity_type", "schema_version", "created_at", "updated_at", "ttl_timestamp")
_REMOVAL = ("removed", "removed_at")


def _columns(kind: _Kind) -> tuple[str, ...]:
    own = (name for name in kind.model.model_fields if name not in kind.model.HIDDEN)
    return tuple(dict.fromkeys((*kind.keys, *_REMOVAL, *own, *_COMMON)))


COLUMNS: Mapping[Layer, tuple[str, ...]] = {layer: _columns(kind) for layer, kind in _KINDS.items()}
"""The fields of the records of each layer, always in the same order."""
