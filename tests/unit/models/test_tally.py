"""A tally, the text of a day, and the hours of a timeline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from models.tally import HOURS, DayText, Tally, TimelineHours
from models.values import hour_key
from tests.documents import by_day, by_hour

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
DAY = [[5 * hour, 5 * hour + 1, 5 * hour + 2, 5 * hour + 3, hour % 2] for hour in range(HOURS)]
A_DAY = by_day({f"20260221{hour:02}": each for hour, each in enumerate(DAY)})["20260221"]
HOUR_KEYS = st.builds(lambda back: hour_key(NOW - timedelta(hours=back)), st.integers(0, 24 * 33))
HOUR_NUMBERS = st.builds(Tally, *[st.integers(0, 3)] * 3, st.integers(-(10**6), 10**6), st.integers(0, 3)).filter(any)


def test_the_average_is_the_mean_polarity_with_four_decimals() -> None:
    assert Tally(1, 1, 1, 1_000_000).average_sentiment == 0.3333
    assert Tally(0, 2, 1, -2_000_000).average_sentiment == -0.6667
    assert Tally(2, 0, 0, 2_000_000).average_sentiment == 1.0
    assert Tally(1, 1, 0, 0).average_sentiment == 0.0
    assert Tally().average_sentiment == 0.0


def test_a_polarity_counts_in_millionths() -> None:
    assert Tally.of("positive", 0.1234567) == Tally(1, 0, 0, 123_457)
    assert Tally.of("negative", -1) == Tally(0, 1, 0, -1_000_000)
    assert Tally.of("neutral", 0.0000004) == Tally(0, 0, 1, 0)
    assert Tally(1, 2, 3, 4).plus(Tally(10, 20, 30, -40)) == Tally(11, 22, 33, -36)
    assert Tally(1, 2, 3, 4).total == 6


def test_an_unscored_mention_counts_apart_and_in_no_average() -> None:
    one = Tally.of(None, None)
    assert one == Tally(0, 0, 0, 0, 1) == Tally.of("positive", None) == Tally.of(None, 0.5)
    both = Tally.of("positive", 0.5).plus(one).plus(one)
    assert (both.total, both.unscored, both.average_sentiment) == (1, 2, 0.5)
    assert (one.total, one.average_sentiment) == (0, 0.0)


def test_a_tally_has_the_figures_of_an_entry() -> None:
    assert Tally(2, 1, 1, 1_000_000, 3).figures() == {
        "total_mentions": 4,
        "positive_count": 2,
        "negative_count": 1,
        "neutral_count": 1,
        "unscored_mentions": 3,
        "average_sentiment": 0.25,
    }


@pytest.mark.parametrize("text", ["", "1,2,3,4,5", A_DAY[2:], A_DAY + ";", A_DAY + ",1", A_DAY.replace(";", ",")])
def test_a_text_that_is_not_a_day_is_neither_read_nor_stored(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(a day must be a text of 24 hours, each of 5 numbers|unexpected)"):
        TimelineHours({"20260221": text}).numbers("2026022107")
    with pytest.raises(ValueError, match="pattern"):
        TypeAdapter(DayText).validate_python(text)


@given(st.dictionaries(HOUR_KEYS, HOUR_NUMBERS))
def test_the_hours_of_a_timeline_are_stored_by_day(before: dict[str, Tally]) -> None:
    stored = by_day(before)
    assert by_hour(stored) == before
    for text in stored.values():
        TypeAdapter(DayText).validate_python(text)
    assert TimelineHours(stored).numbers("2020010100") == Tally()


@given(
    st.dictionaries(HOUR_KEYS, HOUR_NUMBERS),
    st.integers(0, 23),
    st.sampled_from([(1, 24), (12, 5), (24, 3), (7, 4)]),
)
def test_steps_are_the_totals_of_their_hours(before: dict[str, Tally], hour: int, steps: tuple[int, int]) -> None:
    length, number = steps
    start = datetime(2026, 2, 21, hour, tzinfo=UTC)
    for at, found in enumerate(TimelineHours(by_day(before)).steps(start, length, number)):
        names = [hour_key(start + timedelta(hours=at * length + each)) for each in range(length)]
        assert found == reduce(Tally.plus, (before.get(name, Tally()) for name in names))
