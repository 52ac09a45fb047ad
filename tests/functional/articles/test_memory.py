"""A worker's memory under large feed documents, in a process of its own. benchmarks/memory.py has larger scenarios."""

from __future__ import annotations

import sys

import pytest

from benchmarks.memory import LIMIT_MB, measured
from services.articles.entries import PER_POLL

GROWTH_MB = 220
"""What a worker may take besides what it has before: six documents of the same 19,000 entries took 460 MB once."""

MADE_ONCE_MB = 40
"""What a worker loads and makes for its first documents, and keeps: 77 MB before are 114 where all is loaded ahead."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc"),
]


@pytest.mark.parametrize(
    ("kind", "feeds", "articles"),
    [("few", 16, 7_000), ("many", 3, 14_000), ("malformed", 5, 7_000), ("same", 6, PER_POLL)],
)
def test_memory_does_not_grow_with_the_number_of_large_documents(kind: str, feeds: int, articles: int) -> None:
    figures = measured(kind, feeds)
    assert (figures["failed"], figures["articles"] >= articles) == (0, True)
    loaded = figures["before_mb"] + MADE_ONCE_MB
    assert figures["most_mb"] < loaded + GROWTH_MB
    assert figures["most_mb"] < LIMIT_MB
    assert figures["after_mb"] < loaded + GROWTH_MB / 2 + 10, "most of it is given back"
