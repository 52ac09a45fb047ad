"""Which analyzer a request wants to compare with."""

from typing import Any

import pytest

from models.errors import InvalidInput
from services.mentions.analyzers.choice import Analyzers, Reanalysis
from tests.functional.mentions.world import Words

ANALYZERS = Analyzers("words", {"words": Words, "other": Words, "azure": Words}, {"azure": "AZURE_KEY"})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, None),
        ({"apply": True}, None),
        ({"analyzer": None}, None),
        ({"apply": False}, "words"),
        ({"apply": False, "analyzer": None}, "words"),
        ({"apply": False, "analyzer": "other"}, "other"),
    ],
)
def test_scores_are_applied_unless_the_request_says_otherwise(body: dict[str, Any], expected: str | None) -> None:
    assert Reanalysis.checked(body).compared_with(ANALYZERS) == expected


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"apply": 1}, "apply: must be true or false"),
        ({"apply": None}, "apply: must be true or false"),
        ({"analyzer": "words"}, "analyzer: needs apply: false"),
        ({"apply": False, "analyzer": 1}, "analyzer: must be text"),
        ({"apply": False, "analyzer": "odd"}, "analyzer: must be one of azure, other, words"),
        ({"apply": False, "analyzer": "azure"}, "analyzer: azure needs AZURE_KEY"),
    ],
)
def test_a_wrong_request_names_the_field(body: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        Reanalysis.checked(body).compared_with(ANALYZERS)
