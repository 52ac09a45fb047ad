"""The analyzers of an app by name."""

import pytest

from models.errors import InvalidInput
from services.mentions.analyzers.choice import Analyzers
from tests.functional.mentions.world import Words


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
    ("name", "problem"),
    [("azure", "analyzer: azure needs AZURE_KEY"), ("odd", "analyzer: must be one of azure, words"), ("", "one of")],
)
def test_an_analyzer_that_the_app_lacks_is_refused(name: str, problem: str) -> None:
    analyzers = Analyzers("words", {"words": Words, "azure": Words}, {"azure": "AZURE_KEY"})
    with pytest.raises(InvalidInput, match=problem):
        analyzers.get(name)
