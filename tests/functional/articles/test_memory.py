"""A worker's memory under large feed documents, in a process of its own. benchmarks/memory.py has larger scenarios."""

from __future__ import annotations

import sys

import pytest

from benchmarks.memory import LIMIT_MB, measured
from services.articles.portions import PER_POLL

GROWTH_MB = 220
"""What a worker may take besides what it has before: six documents of the same 19,000 entries took 460 MB once."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc"),
]


@pytest.mark.parametrize(
    ("kind", "feeds", "articles"),
    [("few", 16, 7_000), ("many", 3, 14_000), ("malformed", 5, 7_000), ("same", 6, PER_POLL)],
)
def test_memory_does_not_grow_with_the_number_of_large_documents(kind: str, feeds: int, articles: int) -> None:
    figures = measured(kind, feeds)
    assert figures["failed"] == 0
    assert figures["articles"] >= articles
    assert figures["most_mb"] - figures["before_mb"] < GROWTH_MB
    assert figures["most_mb"] < LIMIT_MB
    assert figures["after_mb"] < figures["before_mb"] + GROWTH_MB / 2 + 10, "most of it is given back"
