"""The judgement that follows from probabilities; the analyzers of an app by name, and which one a request wants."""

from typing import Any

import pytest

from models.errors import InvalidInput
from models.resources.tools import Reanalysis
from services.mentions.analyzers.port import Analyzers, Judgement
from tests.functional.mentions.world import Words


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        ((0.2, 0.1, 0.7), Judgement("positive", 0.7, 0.5)),
        ((0.7, 0.1, 0.2), Judgement("negative", 0.7, -0.5)),
        ((0.3, 0.6, 0.1), Judgement("neutral", 0.6, 0.0)),
        ((0.4, 0.4, 0.2), Judgement("neutral", 0.4, 0.0)),
        ((0.45, 0.1, 0.45), Judgement("neutral", 1.0, 0.0)),
        ((0.45001, 0.1, 0.44999), Judgement("neutral", 1.0, 0.0)),
        ((0.4499, 0.1001, 0.45), Judgement("positive", 0.45, 0.0001)),
    ],
)
def test_sentiment_and_polarity_agree(probabilities: tuple[float, float, float], expected: Judgement) -> None:
    assert Judgement.of(*probabilities) == expected


def test_a_mixed_text_is_neutral_the_more_surely_the_more_it_is_balanced() -> None:
    assert Judgement.mixed(0.4, 0.5) == Judgement("neutral", 0.9, 0.0)
    assert Judgement.mixed(0.5, 0.5) == Judgement("neutral", 1.0, 0.0)


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
    assert ANALYZERS.compared_with(Reanalysis.checked(body)) == expected


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
        ANALYZERS.compared_with(Reanalysis.checked(body))
