"""The points of a history, the sources of a mention, and the cursor of the evidence."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from models.cache import Window
from models.errors import InvalidInput
from models.tally import Tally, TimelineHours, by_day
from services.figures.details import (
    DEFAULT_DAYS,
    MOST_DAYS,
    MOST_RAW_MENTIONS,
    Point,
    daily,
    days_until,
    refuse_too_many,
    sources_of,
    window_of,
)
from tests.documents import cache_entry, mention

NOW = datetime(2026, 2, 21, 20, 0, tzinfo=UTC)
TODAY = date(2026, 3, 2)


def test_a_history_is_of_a_week_unless_asked_for_up_to_thirty_days() -> None:
    assert (DEFAULT_DAYS, MOST_DAYS, MOST_RAW_MENTIONS) == (7, 30, 100_000)


def test_days_are_listed_oldest_first_up_to_today() -> None:
    assert days_until(TODAY, 1) == [TODAY]
    assert days_until(TODAY, 3) == [date(2026, 2, 28), date(2026, 3, 1), TODAY]


def test_a_point_is_the_sum_of_its_days_hours_and_zero_without_any() -> None:
    hours = {
        "2026022823": [9, 9, 9, 9_000],
        "2026030100": [1, 0, 0, 100_000],
        "2026030123": [0, 1, 1, -400_000],
        "2026030200": [0, 0, 2, 0],
    }
    assert daily(TimelineHours(by_day(hours)), [date(2026, 3, 1), TODAY, date(2026, 3, 3)]) == [
        Point("2026-03-01", Tally(1, 1, 1, -300_000)),
        Point("2026-03-02", Tally(0, 0, 2, 0)),
        Point("2026-03-03", Tally()),
    ]


def test_a_point_is_shown_with_its_source_only_in_the_raw_layer() -> None:
    tally = Tally(2, 1, 0, 900_000)
    figures = {
        "total_mentions": 3,
        "positive_count": 2,
        "negative_count": 1,
        "neutral_count": 0,
        "unscored_mentions": 0,
        "average_sentiment": 0.3,
        "analyzers": [],
    }
    assert Point("2026-03-01", tally).shown() == {"day": "2026-03-01", **figures}
    assert Point("2026-03-01", tally, ("embedded/1",), "reuters").shown() == {
        "day": "2026-03-01",
        "source": "reuters",
        **figures,
        "analyzers": ["embedded/1"],
    }


@pytest.mark.parametrize(
    ("article", "sources"),
    [
        ({"sources": ["reuters", "bbc"]}, ["reuters", "bbc"]),
        ({"sources": []}, ["wire"]),
        ({"sources": 7}, ["wire"]),
        ({}, ["wire"]),
        (None, ["wire"]),
    ],
)
def test_a_mention_counts_for_its_articles_sources_or_else_for_the_one_it_names(
    article: dict[str, Any] | None, sources: list[str]
) -> None:
    assert list(sources_of(mention(source="wire"), article)) == sources
    assert list(sources_of(mention(source=None), None)) == ["unknown"]


def _points(*totals: int) -> list[Point]:
    return [Point(f"2026-03-{day:02}", Tally(neutral=total)) for day, total in enumerate(totals, 1)]


def test_as_many_mentions_as_are_allowed_are_not_refused() -> None:
    refuse_too_many(_points(3, 1, 2), 6)
    refuse_too_many([], 0)


@pytest.mark.parametrize(
    ("most", "refusal"),
    [
        (
            5,
            "days: at most 2 with layer=raw, any with layer=canonical: these days have 6 mentions of this tool, and at "
            "most 5 are read",
        ),
        (3, "days: at most 2 with layer=raw"),
        (2, "days: at most 1 with layer=raw"),
        (1, "days: none with layer=raw, any with layer=canonical: these days have 6"),
    ],
)
def test_more_are_refused_with_the_number_of_latest_days_that_would_do(most: int, refusal: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{refusal}"):
        refuse_too_many(_points(3, 1, 2), most)


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
