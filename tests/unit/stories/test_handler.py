"""How many articles are grouped together."""

import pytest

from services.stories.handler import FIRST_PORTION, MOST_IN_PORTION, PORTION_SECONDS, next_portion


def test_the_limits() -> None:
    assert (FIRST_PORTION, MOST_IN_PORTION, PORTION_SECONDS) == (10, 100, 3.0)


@pytest.mark.parametrize(
    ("portion", "articles", "seconds", "then"),
    [
        (10, 10, 0.0, 20),
        (10, 10, 0.1, 20),
        (80, 80, 0.1, 100),
        (100, 3, 0.1, 90),
        (20, 20, 3.0, 20),
        (20, 20, 6.0, 10),
        (20, 20, 2.0, 30),
        (10, 10, 60.0, 1),
    ],
)
def test_a_portion_takes_three_seconds_at_most_and_grows_to_the_double(
    portion: int, articles: int, seconds: float, then: int
) -> None:
    assert next_portion(portion, articles, seconds) == then
