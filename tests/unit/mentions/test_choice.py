"""The analyzers of an app by name, and which one a request wants to compare with."""

from typing import Any

import pytest

from models.errors import InvalidInput
from services.mentions.analyzers.choice import Analyzers, Reanalysis
from tests.functional.mentions.world import Words

ANALYZERS = Analyzers("words", {"words": Words, "other": Words})


class Closable(Words):
    closed = 0

    async def close(self) -> None:
        self.closed += 1


async def test_each_analyzer_is_made_at_its_first_use_and_closed_once() -> None:
    made: list[Closable] = []

    def make() -> Closable:
        made.append(Closable())
        return made[-1]

    analyzers = Analyzers("words", {"words": make, "other": make})
    assert made == []
    assert analyzers.present is analyzers.get("words") is made[0]
    assert analyzers.get("other") is analyzers.get("other") is made[1]
    await analyzers.close()
    await analyzers.close()
    assert [each.closed for each in made] == [1, 1]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, None),
        ({"analyzer": None}, None),
        ({"apply": False}, "words"),
        ({"apply": False, "analyzer": "other"}, "other"),
    ],
)
def test_scores_are_applied_unless_the_request_says_otherwise(body: dict[str, Any], expected: str | None) -> None:
    assert Reanalysis.checked(body).compared_with(ANALYZERS) == expected


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"analyzer": "words"}, "analyzer: needs apply: false"),
        ({"apply": False, "analyzer": 1}, "analyzer: must be text"),
        ({"apply": False, "analyzer": "odd"}, "analyzer: must be one of other, words"),
    ],
)
def test_a_wrong_request_names_the_field(body: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        Reanalysis.checked(body).compared_with(ANALYZERS)
