"""A tally, the text of a day, and the hours of a timeline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tally import (
    HOURS,
    ZEROS,
    Tally,
    TimelineHours,
    by_day,
    by_hour,
    day_hours,
    day_numbers,
    day_sums,
    day_text,
    numbers_of,
    total,
)
from models.values import hour_key

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
SCORED = [[4 * hour, 4 * hour + 1, 4 * hour + 2, 4 * hour + 3] for hour in range(HOURS)]
UNSCORED = [*SCORED[:7], [*SCORED[7], 5], *SCORED[8:]]
A_DAY, ANOTHER = (
    by_day({f"20260221{hour:02}": each for hour, each in enumerate(day)})["20260221"] for day in (SCORED, UNSCORED)
)
HOUR_KEYS = st.builds(lambda back: hour_key(NOW - timedelta(hours=back)), st.integers(0, 24 * 33))
SCORED_NUMBERS = st.tuples(*[st.integers(0, 3)] * 3, st.integers(-(10**6), 10**6)).map(list)
HOUR_NUMBERS = SCORED_NUMBERS.filter(any) | st.builds(
    lambda scored, more: [*scored, more], SCORED_NUMBERS, st.integers(1, 3)
)


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


def test_numbers_are_added_column_by_column() -> None:
    assert total([[1, 2, 3, -400], [10, 20, 30, 5000]]) == Tally(11, 22, 33, 4600)
    assert total([]) == Tally() == Tally(*ZEROS)
    assert total([[1, 2, 3, 4], [1, 0, 0, 0, 5], [0, 0, 0, 0, 2]]) == Tally(2, 2, 3, 4, 7)


def test_unscored_mentions_are_stored_only_if_there_are_any() -> None:
    assert numbers_of(Tally(1, 2, 3, 4)) == [1, 2, 3, 4]
    assert numbers_of([1, 2, 3, 4, 0]) == numbers_of([1, 2, 3, 4]) == [1, 2, 3, 4]
    assert numbers_of(Tally(1, 2, 3, 4, 5)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("hours", "numbers"), [(SCORED, 100), (UNSCORED, 125)])
def test_the_text_of_a_day_has_its_sums_and_its_hours(hours: list[list[int]], numbers: int) -> None:
    ((_, text),) = by_day({f"20260221{hour:02}": each for hour, each in enumerate(hours)}).items()
    assert text.count(",") == numbers - 1
    assert day_hours(day_numbers(text)) == hours
    assert day_text(day_numbers(text)) == text
    assert day_sums(text) == tuple(sum(column) for column in zip_longest(*hours, fillvalue=0))


def test_a_day_of_an_earlier_version_has_no_unscored_mentions() -> None:
    sums = [sum(column) for column in zip(*SCORED, strict=True)]
    text = ",".join(str(number) for row in (sums, *SCORED) for number in row)
    assert A_DAY == day_text(day_numbers(text)) == text
    assert TimelineHours({"20260221": text}).of_day("20260221").unscored == 0


@pytest.mark.parametrize("text", ["", "1,2,3,4", A_DAY[6:], A_DAY + ",1", ANOTHER + ",1", ",".join("0" * 150)])
def test_a_text_that_is_not_a_day_is_neither_summed_nor_read(text: str) -> None:
    for read in (day_sums, day_numbers):
        with pytest.raises(ValueError, match=r"^a day must be a text of its sums and 24 hours, each of four"):
            read(text)


@given(
    st.dictionaries(HOUR_KEYS, HOUR_NUMBERS),
    st.dictionaries(HOUR_KEYS, HOUR_NUMBERS | st.just([0, 0, 0, 0])),
    HOUR_KEYS,
    HOUR_KEYS,
)
def test_the_hours_of_a_timeline_are_a_table_by_hour_that_is_stored_by_day(
    before: dict[str, list[int]], put: dict[str, list[int]], one: str, other: str
) -> None:
    hours, after = TimelineHours(by_day(before)), before | put
    for hour, numbers in put.items():
        hours.put(hour, numbers)
    assert [hours.numbers(hour) for hour in after] == list(after.values())
    since, until = sorted((one, other))
    between = [numbers for hour, numbers in after.items() if since < hour < until]
    assert list(hours.total(since, until)) == [sum(column) for column in zip_longest([0] * 5, *between, fillvalue=0)]
    with_mentions = {hour: numbers for hour, numbers in after.items() if any(numbers) and hour[:8] >= since[:8]}
    for day in {hour[:8] for hour in after}:
        of_day = [numbers for hour, numbers in after.items() if hour[:8] == day]
        assert hours.of_day(day) == total(of_day)
    assert by_hour(hours.stored(since)) == with_mentions
    assert hours.stored(since) == by_day(with_mentions)


def test_the_analyzers_between_two_hours_are_those_of_neither_of_them() -> None:
    hours = TimelineHours({})
    for hour, name in (
        ("2026022100", "a"),
        ("2026022104", "b"),
        ("2026022105", "c"),
        ("2026022106", "d"),
        ("2026022123", "e"),
        ("2026022200", "f"),
        ("2026022202", "g"),
        ("2026022203", "h"),
        ("2026022204", "i"),
        ("2026022308", "j"),
    ):
        hours.put(hour, [1, 0, 0, 0], [name])

    def between(after: str, before: str) -> str:
        return "".join(sorted(hours.analyzers(after, before)))

    assert between("2026022100", "2026022105") == "b"
    assert between("2026022104", "2026022106") == "c"
    assert between("2026022104", "2026022105") == ""
    assert between("2026022106", "2026022123") == ""
    assert between("2026022105", "2026022203") == "defg"
    assert between("2026022123", "2026022200") == ""
    assert between("2026022122", "2026022201") == "ef"
    assert between("2026022104", "2026022300") == "cdefghi"
    assert between("2026022010", "2026022100") == ""
    assert between("2026022010", "2026022410") == "abcdefghij"


@given(
    st.dictionaries(HOUR_KEYS, st.sets(st.sampled_from("abc")), max_size=30),
    st.dictionaries(HOUR_KEYS, st.sets(st.sampled_from("abc")), max_size=5),
    HOUR_KEYS,
    HOUR_KEYS,
)
def test_the_analyzers_of_a_timeline_are_sets_by_hour(
    before: dict[str, set[str]], put: dict[str, set[str]], one: str, other: str
) -> None:
    first = TimelineHours({})
    for hour, names in before.items():
        first.put(hour, [1, 0, 0, 0], names)
    hours, after = TimelineHours({}, first.stored_analyzers("2026010100")), before | put
    for hour, names in put.items():
        hours.put(hour, [1, 0, 0, 0], names)
    since, until = sorted((one, other))
    assert hours.analyzers(since, until) == {
        name for hour, names in after.items() if since < hour < until for name in names
    }
    for hour in {*after, one, other}:
        assert hours.analyzers_of_hour(hour) == after.get(hour, set())
        of_day = {name for each, names in after.items() if each[:8] == hour[:8] for name in names}
        assert hours.analyzers_of_day(hour[:8]) == tuple(sorted(of_day))
    kept = TimelineHours({}, hours.stored_analyzers(since))
    for hour, names in after.items():
        assert kept.analyzers_of_hour(hour) == (names if hour[:8] >= since[:8] else set())
    stored = hours.stored_analyzers("2026010100")
    assert all(stored.values())
    assert all(bits for days in stored.values() for bits in days.values())


@pytest.mark.parametrize("stored", ["1", "", "1,2", ",".join("0" * 95), '"a"', "[1]"])
def test_the_numbers_of_a_text_that_is_not_a_day_cannot_be_read(stored: str) -> None:
    with pytest.raises(ValueError, match=r"24 hours|trailing|value"):
        TimelineHours({"20260221": stored}).numbers("2026022103")


def test_hours_are_read_by_day_or_as_earlier_versions_stored_them_by_hour() -> None:
    hours = {"2026022119": [1, 0, 0, 5], "2026022120": [0, 2, 0, -7]}
    for stored in (by_day(hours), hours):
        assert TimelineHours(stored).stored("2026022100") == by_day(hours)
    assert TimelineHours({}).stored("2026022100") == {}
    assert TimelineHours({}).of_day("20260221") == Tally()


@given(
    st.dictionaries(HOUR_KEYS, HOUR_NUMBERS),
    st.integers(0, 23),
    st.sampled_from([(1, 24), (12, 5), (24, 3), (7, 4)]),
)
def test_steps_are_the_totals_of_their_hours(before: dict[str, list[int]], hour: int, steps: tuple[int, int]) -> None:
    length, number = steps
    start = datetime(2026, 2, 21, hour, tzinfo=UTC)
    hours = TimelineHours(by_day(before))
    for at, found in enumerate(hours.steps(start, length, number)):
        since = start + timedelta(hours=at * length)
        until = hour_key(since + timedelta(hours=length))
        assert found == hours.total(hour_key(since - timedelta(hours=1)), until)


def test_hours_that_are_preceded_by_others_have_their_own_days_after_these_only() -> None:
    one, two, three = ({f"202602{day}10": [number, 0, 0, 0]} for day, number in ((20, 1), (21, 2), (22, 4)))
    hours = TimelineHours(by_day(one | two | three))
    before = hours.preceded_by(by_day({"2026022110": [8, 0, 0, 0], "2026022210": [16, 0, 0, 0]}), "20260221")
    assert [before.of_day(f"202602{day}").positive for day in (20, 21, 22)] == [0, 8, 4]
    assert hours.of_day("20260220").positive == 1
