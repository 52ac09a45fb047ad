"""This process's memory of what feeds said last: faster than asking, and never relied upon."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from services.articles.identity import Mark


class Memory:
    """The last document of each feed, with at most `size` entries in all; of whoever was saved longest ago, none.

    Of the last one only, as it was saved under its body's hash: a form that an entry had before, or that another
    process has seen it change since, would hide that it came back.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries = 0
        self._documents: OrderedDict[str, tuple[str, frozenset[Mark]]] = OrderedDict()

    def has_all(self, feed_id: str, body_hash: str | None, marks: Iterable[Mark]) -> bool:
        """`body_hash` is that of the feed's last document, whoever saved it."""
        known = self._documents.get(feed_id)
        return known is not None and known[0] == body_hash and known[1].issuperset(marks)

    def keep(self, feed_id: str, body_hash: str, marks: Iterable[Mark]) -> None:
        """Only what the feed and its own `seen` document have been saved with."""
        self._forget(feed_id)
        document = frozenset(marks)
        self._documents[feed_id] = (body_hash, document)
        self._entries += len(document)
        while self._entries > self._size:
            self._forget(next(iter(self._documents)))

    def _forget(self, feed_id: str) -> None:
        known = self._documents.pop(feed_id, None)
        self._entries -= len(known[1]) if known is not None else 0
