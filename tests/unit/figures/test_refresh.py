"""When a stored entry need not be written again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.cache import FRESH_FOR, SentimentCacheEntry
from services.figures.refresh import REWRITTEN_AT, serves_on
from services.ports import Document
from services.topology import REFRESH_SENTIMENT_CACHE
from tests.documents import cache_entry

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


def _stored(age: timedelta = timedelta(minutes=5), **changes: Any) -> Document:
    return _entry(**{"last_updated_ts": int((NOW - age).timestamp()), **changes}).to_document()


def _entry(**changes: Any) -> SentimentCacheEntry:
    fields = {"last_updated_ts": int(NOW.timestamp()), "generation": 1, "recounts": 7, "coverage": 0.5}
    return cache_entry(**(fields | changes))


def test_an_entry_is_written_again_at_the_age_of_fourteen_minutes() -> None:
    assert timedelta(minutes=14) == REWRITTEN_AT
    assert serves_on(_stored(timedelta(minutes=13, seconds=59)), _entry(), NOW)
    assert not serves_on(_stored(timedelta(minutes=14)), _entry(), NOW)


def test_an_entry_that_is_left_is_fresh_until_a_minute_after_the_next_refresh() -> None:
    assert REWRITTEN_AT + REFRESH_SENTIMENT_CACHE.every + timedelta(minutes=1) == FRESH_FOR


def test_an_entry_of_an_older_window_with_the_same_figures_serves_on() -> None:
    start = int(NOW.timestamp()) - 90_000
    assert serves_on(_stored(period_start_ts=start, period_end_ts=start + 86_400), _entry(), NOW)


@pytest.mark.parametrize(
    "changes",
    [
        {"generation": 0},
        {"generation": 2},
        {"recounts": 6},
        {"recounts": 8},
        {"coverage": 0.4999},
        {"average_sentiment": 0.1499},
        {"positive_count": 2, "total_mentions": 4},
        {"negative_count": 2, "total_mentions": 4},
        {"neutral_count": 2, "total_mentions": 4},
        {"positive_count": 2, "negative_count": 0},
    ],
)
def test_an_entry_with_other_figures_or_of_other_counts_does_not(changes: dict[str, Any]) -> None:
    assert serves_on(_stored(), _entry(), NOW)
    assert not serves_on(_stored(**changes), _entry(), NOW)


def test_an_entry_that_is_missing_or_cannot_be_read_does_not() -> None:
    assert not serves_on(None, _entry(), NOW)
    assert not serves_on({**_stored(), "total_mentions": 99}, _entry(), NOW)
