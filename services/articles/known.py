"""Which entries of a feed are known: from the feed's `seen` document, and from this process's memory of documents.

Each entry leaves four short hashes: of its present form, its identity, its URL and its headline. The form answers
"unchanged?", the identity "known, but changed?", URL and headline "a new id over something known?" (a flood).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime

from models.feed import HASH_LENGTH, FeedSeen
from models.values import format_time
from services.articles.identity import ShortHash
from services.ports import Document

HASHES = 4
GROUP = HASHES * HASH_LENGTH
KEPT_PER_ENTRY = 4
FEWEST_KEPT = 100
MOST_KEPT = 2_000
"""Entries. The present document is remembered whole; what is left of this is for entries that have left the feed."""


class KnownEntries:
    """The contents of one `seen` document. Immutable; `with_entries` gives the next one.

    With `trusted` False an interrupted attempt may have stored another form of an entry since, so no form is known.
    """

    __slots__ = ("_groups", "_others", "_trusted")

    def __init__(self, hashes: str = "", *, trusted: bool = True) -> None:
        self._trusted = trusted
        self._groups = {hashes[at : at + HASH_LENGTH]: hashes[at : at + GROUP] for at in range(0, len(hashes), GROUP)}
        self._others: frozenset[str] | None = None

    def has_form(self, form_hash: ShortHash) -> bool:
        """Whether the feed had an entry in just this form."""
        return self._trusted and form_hash in self._groups

    def has(self, short_hash: ShortHash) -> bool:
        """Whether the feed had an entry with this identity, URL or headline."""
        if self._others is None:
            self._others = frozenset(
                group[at : at + HASH_LENGTH]
                for group in self._groups.values()
                for at in range(HASH_LENGTH, GROUP, HASH_LENGTH)
            )
        return short_hash in self._others

    def group(self, form_hash: ShortHash) -> str | None:
        """All hashes of the entry in this form, to be kept in the next document."""
        return self._groups.get(form_hash)

    def with_entries(self, groups: Iterable[str]) -> str:
        """The hashes with the entries of the present document as the newest, and older entries as far as they are kept.

        An older form of a present entry is dropped: should the entry return to that form, it has changed.
        """
        newest = {group[:HASH_LENGTH]: group for group in groups}
        present = {_identity(group) for group in newest.values()}
        most = min(max(KEPT_PER_ENTRY * len(newest), FEWEST_KEPT), max(MOST_KEPT, len(newest)))
        older = [group for group in self._groups.values() if _identity(group) not in present]
        room = most - len(newest)
        return "".join([*(older[-room:] if room else ()), *newest.values()])


def _identity(group: str) -> str:
    return group[HASH_LENGTH : 2 * HASH_LENGTH]


def seen_document(feed_id: str, hashes: str, now: datetime) -> Document:
    """FeedSeen as it is stored."""
    at = format_time(now)
    return {
        "id": FeedSeen.ID,
        "feed_id": feed_id,
        "entity_type": "FeedSeen",
        "schema_version": "1",
        "created_at": at,
        "updated_at": at,
        "hashes": hashes,
    }


class DocumentCache:
    """This process's memory of each feed's last document: a least-recently-saved cache of at most `size` entries.

    An entry here is valid only for the body that the feed was last saved with, whichever process saved it. The cache
    saves reads; nothing relies on it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries = 0
        self._documents: OrderedDict[str, tuple[str, frozenset[ShortHash]]] = OrderedDict()

    def has_all(self, feed_id: str, body_hash: str | None, form_hashes: Iterable[ShortHash]) -> bool:
        """Whether all these forms were in the document with `body_hash`, the feed's last one."""
        known = self._documents.get(feed_id)
        return known is not None and known[0] == body_hash and known[1].issuperset(form_hashes)

    def keep(self, feed_id: str, body_hash: str, form_hashes: Iterable[ShortHash]) -> None:
        """Call this only after the feed was saved with this body."""
        self._forget(feed_id)
        document = frozenset(form_hashes)
        self._documents[feed_id] = (body_hash, document)
        self._entries += len(document)
        while self._entries > self._size:
            self._forget(next(iter(self._documents)))

    def _forget(self, feed_id: str) -> None:
        known = self._documents.pop(feed_id, None)
        self._entries -= len(known[1]) if known is not None else 0
