"""The cursor of the evidence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from models.cache import Window
from models.errors import InvalidInput
from services.figures.evidence import window_of
from tests.documents import cache_entry

NOW = datetime(2026, 2, 21, 20, 0, tzinfo=UTC)


def test_without_a_cursor_evidence_is_of_the_entrys_window() -> None:
    entry = cache_entry()
    assert window_of(entry, None) == (entry.window, None)


def test_a_cursor_of_the_evidence_keeps_the_window_of_the_first_page() -> None:
    end = NOW - timedelta(hours=3)
    cursor = f"{int(end.timestamp())}-AbC_=-9"
    assert window_of(cache_entry(), cursor) == (Window.ending("HOUR_24", end), "AbC_=-9")


@pytest.mark.parametrize("cursor", ["", "x", "-a", "12-", "12", "12345678901-a", "12-a b", "12-a/b"])
def test_another_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor: must be the `next`"):
        window_of(cache_entry(), cursor)
