"""This process's memory of entries that are known in their present form: faster than asking, and never relied upon."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from services.ingest.identity import Mark


class Memory:
    """The `size` marks that were met last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._marks: OrderedDict[Mark, None] = OrderedDict()

    def has_all(self, marks: Iterable[Mark]) -> bool:
        return all(mark in self._marks for mark in marks)

    def add(self, marks: Iterable[Mark]) -> None:
        """Only what the feed's own `seen` document has been saved with."""
        for mark in marks:
            self._marks[mark] = None
            self._marks.move_to_end(mark)
        while len(self._marks) > self._size:
            self._marks.popitem(last=False)
