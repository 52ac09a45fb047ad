"""A day of a timeline is one text: its sums, then its hours. What has another shape is refused, never summed."""

import pytest

from models.timeline import HOURS, Tally, day_numbers, day_sums, day_text

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
