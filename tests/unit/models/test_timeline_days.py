"""A day of a timeline is one text: its sums, then its hours. What has another shape is refused, never summed."""

from datetime import UTC, datetime

import pytest

from models.timeline import HOURS, Tally, Timeline, day_numbers, day_sums, day_text

NUMBERS = list(range(HOURS * len(Tally._fields)))


def test_a_day_says_its_sums_and_its_hours() -> None:
    text = day_text(NUMBERS)
    assert day_numbers(text) == NUMBERS
    assert day_sums(text) == [sum(NUMBERS[column :: len(Tally._fields)]) for column in range(len(Tally._fields))]


@pytest.mark.parametrize("text", ["", "1,2,3,4", ",".join(map(str, NUMBERS)), day_text(NUMBERS) + ",1"])
def test_a_text_that_is_no_day_is_neither_summed_nor_read(text: str) -> None:
    for read in (day_sums, day_numbers):
        with pytest.raises(ValueError, match="four sums and 24 times"):
            read(text)


def test_an_hour_that_holds_nothing_is_not_there() -> None:
    now = datetime(2026, 2, 21, 20, tzinfo=UTC)
    hours = {"2026022110": Tally(), "2026022111": Tally(1, 0, 0, 400_000)}
    timeline = Timeline(created_at=now, updated_at=now, tool_id="vscode", hours=hours)
    assert list(timeline.hours) == ["2026022111"]
    assert Timeline.from_document(timeline.to_document()) == timeline
