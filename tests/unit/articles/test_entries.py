"""Portions of a feed document."""

from __future__ import annotations

import pytest

from services.articles.entries import PER_POLL, PORTION, portions


def test_the_limits() -> None:
    assert (PORTION, PER_POLL) == (500, 5_000)


@pytest.mark.parametrize(
    ("entries", "sizes"),
    [(0, []), (1, [1]), (500, [500]), (501, [250, 251]), (1_001, [333, 334, 334]), (1_500, [500] * 3)],
)
def test_portions_are_few_and_of_nearly_equal_size(entries: int, sizes: list[int]) -> None:
    found = list(portions(range(entries)))
    assert [len(each) for each in found] == sizes
    assert [entry for each in found for entry in each] == list(range(entries))
