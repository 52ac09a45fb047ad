"""NCRONTAB against an oracle that counts seconds, and the finer points by example."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scripts.local_host.schedule import parse_schedule, under_a_minute

MOMENTS = st.integers(1_672_531_200_000, 1_861_920_000_000).map(lambda ms: datetime.fromtimestamp(ms / 1000, UTC))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@st.composite
def items(draw: st.DrawFn, low: int, high: int) -> tuple[str, set[int]]:
    """One item of a field, and the values that it means."""
    kind = draw(st.sampled_from(("all", "one", "range", "all by step", "range by step", "from by step")))
    step = draw(st.integers(2, 15))
    first, last = sorted(draw(st.tuples(st.integers(low, high), st.integers(low, high))))
    match kind:
        case "all":
            return "*", set(range(low, high + 1))
        case "one":
            return str(first), {first}
        case "range":
            return f"{first}-{last}", {value for value in range(low, high + 1) if first <= value <= last}
        case "all by step":
            return f"*/{step}", {value for value in range(low, high + 1) if (value - low) % step == 0}
        case "range by step":
            meant = {value for value in range(first, last + 1) if (value - first) % step == 0}
            return f"{first}-{last}/{step}", meant
    return f"{first}/{step}", {value for value in range(first, high + 1) if (value - first) % step == 0}


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> tuple[str, set[int]]:
    parts = draw(st.lists(items(low, high), min_size=1, max_size=3))
    return ",".join(text for text, _ in parts), set().union(*(values for _, values in parts))


def matches(moment: datetime, meant: list[set[int]]) -> bool:
    parts = (moment.second, moment.minute, moment.hour, moment.day, moment.month, moment.isoweekday() % 7)
    return all(part in values for part, values in zip(parts, meant, strict=True))


def brute_force(moment: datetime, meant: list[set[int]]) -> datetime:
    """Second by second within a day, and day by day where no second of the day can match."""
    moment = moment.replace(microsecond=0) + timedelta(seconds=1)
    while True:
        day = moment.replace(hour=min(meant[2]), minute=min(meant[1]), second=min(meant[0]))
        if matches(day, meant):
            end = moment.replace(hour=0, minute=0, second=0) + timedelta(days=1)
            while moment < end:
                if matches(moment, meant):
                    return moment
                whole_hour = moment.hour in meant[2]
                if whole_hour and moment.minute in meant[1]:
                    moment += timedelta(seconds=1)
                elif whole_hour:
                    moment = moment.replace(second=0) + timedelta(minutes=1)
                else:
                    moment = moment.replace(minute=0, second=0) + timedelta(hours=1)
        else:
            moment = moment.replace(hour=0, minute=0, second=0) + timedelta(days=1)


@given(
    MOMENTS,
    st.tuples(fields(0, 59), fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12)),
    st.one_of(st.just(("*", set(range(7)))), fields(0, 6)),
)
def test_the_next_occurrence_is_the_first_second_that_matches_every_field(
    moment: datetime, drawn: tuple[tuple[str, set[int]], ...], weekday: tuple[str, set[int]]
) -> None:
    parts = [*drawn, weekday]
    assume(min(parts[3][1]) <= 28)  # or it may never come due
    schedule = parse_schedule(" ".join(text for text, _ in parts))
    assert schedule.after(moment) == brute_force(moment, [values for _, values in parts])


@pytest.mark.parametrize(
    ("text", "moment", "expected"),
    [
        ("0 */15 * * * *", "2026-02-21T20:00:00", "2026-02-21T20:15:00"),
        ("0 */15 * * * *", "2026-02-21T23:59:59.999999", "2026-02-22T00:00:00"),
        ("*/30 * * * * *", "2026-02-21T20:00:29.5", "2026-02-21T20:00:30"),
        ("0 30 9 * * 1-5", "2026-02-20T09:30:00", "2026-02-23T09:30:00"),
        ("0 0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 0 0 29 2 1", "2072-03-01T00:00:00", "2112-02-29T00:00:00"),
        ("0 0 0 13 * 5", "2026-01-01T00:00:00", "2026-02-13T00:00:00"),
        ("0 0 22-20 * * *", "2026-01-01T00:00:00", "2026-01-01T20:00:00"),
        ("*/5 * * * *", "2026-01-01T00:00:00", "2026-01-01T00:05:00"),
        ("5/1 0 0 1 1 *", "2026-01-01T00:00:05", "2027-01-01T00:00:05"),
        ("00:05:00", "2026-01-01T00:00:07", "2026-01-01T00:05:07"),
        ("1.00:00:00", "2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        ("00:00:00.5", "2026-01-01T00:00:00", "2026-01-01T00:00:00.5"),
    ],
)
def test_expressions_and_time_spans_come_due_as_in_the_real_host(text: str, moment: str, expected: str) -> None:
    assert parse_schedule(text).after(at(moment)) == at(expected)


@pytest.mark.parametrize(
    "text",
    [
        "", "* * * *", "* * * * * * *", "60 * * * * *", "* 60 * * * *", "* * 24 * * *", "* * * 0 * *", "* * * 32 * *",
        "* * * * 13 *", "* * * * * 7", "*/0 * * * * *", "*/x * * * * *", "1- * * * * *", "a * * * * *",
        "1,,2 * * * * *",
        "0 0 0 * ja *", "0 0 0 * * mo", "٣ * * * * *", "00:00:00", "24:00:00", "00:60:00", "00:00:60", "every minute",
    ],
)  # fmt: skip
def test_a_text_that_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_schedule(text)


def test_a_schedule_for_a_date_that_does_not_exist_is_never_due() -> None:
    with pytest.raises(ValueError, match="never comes due"):
        parse_schedule("0 0 0 30 2 *").after(at("2026-01-01T00:00:00"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*/30 * * * * *", True),
        ("0 * * * * *", False),
        ("00:00:59", True),
        ("00:01:00", False),
        ("0,1 0 * * * *", True),
    ],
)
def test_a_schedule_under_a_minute_is_recognised(text: str, expected: bool) -> None:
    assert under_a_minute(parse_schedule(text), at("2026-01-01T00:30:00")) is expected
