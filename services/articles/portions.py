"""How much of one feed document is worked on at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

PER_POLL = 5_000
"""New and changed entries of one feed that one poll ingests. The next polls ingest the others."""
SECONDS_PER_POLL = 60.0
"""The time after which a poll begins no further portion. The lease on the feed is three times as long."""
PORTION = 500
"""Entries that are matched and written at a time. The memory for matching and writing depends on this number, not on
the size of the feed document."""


def portions(entries: Sequence[T], most: int = PORTION) -> Iterator[Sequence[T]]:
    """All entries in order, in portions of at most `most`.

    The portions are of nearly equal size: a flood is looked for in each of them, so none may be too small to show one.
    """
    count = -(-len(entries) // most)
    for number in range(count):
        yield entries[number * len(entries) // count : (number + 1) * len(entries) // count]
