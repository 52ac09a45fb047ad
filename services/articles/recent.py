"""The entries that a feed had lately, as marks in its `seen` document: what is in it costs no read and no write.

Each entry leaves four marks: of itself in its present form, of its identity, of its URL and of its headline. The first
answers "unchanged?", the second "known, if changed?", the others whether a new id is over something known (a flood).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Self

from models.feed import HASH_LENGTH, FeedSeen
from models.values import format_time
from services.articles.identity import Mark
from services.ports import Document

MARKS = 4
GROUP = MARKS * HASH_LENGTH
KEPT_PER_ENTRY = 4
FEWEST_KEPT = 100
MOST_KEPT = 2_000
"""Entries. A document that holds more is remembered whole; the rest is for entries that have left it."""


class Recent:
    """What one `seen` document says. Immutable; `with_entries` gives the next one."""

    __slots__ = ("_groups", "_is_last", "_others")

    def __init__(self, hashes: str = "", *, is_last: bool = True) -> None:
        self._is_last = is_last
        self._groups = {hashes[at : at + HASH_LENGTH]: hashes[at : at + GROUP] for at in range(0, len(hashes), GROUP)}
        self._others: frozenset[str] | None = None

    @classmethod
    def of(cls, document: Document | None, saved_at: datetime | None) -> Self:
        """`saved_at` is what the feed says of it: whoever saved the feed may have died before this followed, or the
        feed may be new under its id."""
        if document is None:
            return cls()
        is_last = saved_at is not None and document["updated_at"] == format_time(saved_at)
        return cls(document.get("hashes", ""), is_last=is_last)

    def has(self, mark: Mark) -> bool:
        """An entry in just this form. None, if it may have changed since."""
        return self._is_last and mark in self._groups

    def knows(self, mark: Mark) -> bool:
        """An identity, a URL or a headline."""
        if self._others is None:
            self._others = frozenset(
                group[at : at + HASH_LENGTH]
                for group in self._groups.values()
                for at in range(HASH_LENGTH, GROUP, HASH_LENGTH)
            )
        return mark in self._others

    def group(self, mark: Mark) -> str | None:
        """All marks of the entry in this form, to be kept on."""
        return self._groups.get(mark)

    def with_entries(self, groups: Iterable[str]) -> str:
        """The hashes with the entries of the present document as the newest; of older ones, as many as are kept.

        Not in the form that an entry had before: it would be unchanged, if it ever took that form again.
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
    """As FeedSeen has it."""
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
