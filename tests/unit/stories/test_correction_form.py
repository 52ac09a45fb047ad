"""What people may enter for a correction of articles or stories."""

from __future__ import annotations

from typing import Any

import pytest

from models.errors import InvalidInput
from models.grouping_correction import MOST_ARTICLES
from models.request import Request
from services.stories.correction_form import ArticleSplit, StoryPair, StorySplit

BY = {"author": "Ada"}


def test_what_is_right_is_taken() -> None:
    assert ArticleSplit.checked({"source": "feed-1", **BY}).source == "feed-1"
    split = StorySplit.checked({"articles": ["dedup:1", "dedup:2", "dedup:1"], **BY})
    assert split.articles == ("dedup:1", "dedup:2")
    assert StoryPair.checked({"story": " story:1 ", **BY}).story == "story:1"


@pytest.mark.parametrize(
    ("body", "fields", "named"),
    [
        (ArticleSplit, {}, "source"),
        (ArticleSplit, {"source": "a b"}, "source"),
        (StorySplit, {"articles": "dedup:1"}, "articles"),
        (StorySplit, {"articles": []}, "articles"),
        (StorySplit, {"articles": ["x"] * (MOST_ARTICLES + 1)}, "articles"),
        (StorySplit, {"articles": ["x" * 2001]}, "articles"),
        (StorySplit, {"articles": ["x", ""]}, "articles"),
        (StoryPair, {"story": " "}, "story"),
    ],
)
def test_an_error_names_the_field(body: type[Request], fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        body.checked({**fields, **BY})
    assert raised.value.field == named
