"""How a worker waits before it writes again."""

import pytest

from services.articles.contention import FIRST_SECONDS, MOST_SECONDS, ROUNDS, wait_seconds


@pytest.mark.parametrize(
    ("round_no", "chance", "seconds"),
    [(0, 1.0, 0.02), (1, 1.0, 0.04), (5, 1.0, 0.64), (6, 1.0, 1.0), (29, 1.0, 1.0), (3, 0.5, 0.08), (29, 0.0, 0.0)],
)
def test_the_span_of_waiting_doubles_up_to_a_second(round_no: int, chance: float, seconds: float) -> None:
    assert wait_seconds(round_no, chance) == pytest.approx(seconds)


def test_an_article_is_tried_thirty_times_within_half_a_minute() -> None:
    assert (ROUNDS, FIRST_SECONDS, MOST_SECONDS) == (30, 0.02, 1.0)
    assert sum(wait_seconds(each, 1.0) for each in range(ROUNDS)) < 30
