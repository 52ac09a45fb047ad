"""What people may enter for a correction of articles or stories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import pytest

from models.errors import InvalidInput
from models.grouping_correction import MOST_ARTICLES, Kind
from services.stories import correction_form as form


def test_each_level_says_a_kind() -> None:
    assert set(form.JOINING) == set(form.SEPARATING) == set(form.LEVELS)
    assert {*form.JOINING.values(), *form.SEPARATING.values()} == set(get_args(Kind)) - {"SPLIT_ARTICLE", "SPLIT_STORY"}


def test_what_is_right_is_taken() -> None:
    assert form.source({"source": "feed-1"}) == "feed-1"
    assert form.article({"article": " dedup:1 "}) == "dedup:1"
    assert (form.level({}), form.level({"as": "story"})) == ("near_duplicate", "story")
    assert form.articles({"articles": ["dedup:1", "dedup:2", "dedup:1"]}) == ["dedup:1", "dedup:2"]
    assert form.story({"story": " story:1 "}) == "story:1"


@pytest.mark.parametrize(
    ("read", "fields", "named"),
    [
        (form.source, {}, "source"),
        (form.source, {"source": "a b"}, "source"),
        (form.article, {"article": 1}, "article"),
        (form.article, {"article": "x" * 2001}, "article"),
        (form.level, {"as": "both"}, "as"),
        (form.level, {"as": None}, "as"),
        (form.articles, {"articles": "dedup:1"}, "articles"),
        (form.articles, {"articles": []}, "articles"),
        (form.articles, {"articles": ["x"] * (MOST_ARTICLES + 1)}, "articles"),
        (form.articles, {"articles": ["x", ""]}, "articles"),
        (form.story, {"story": " "}, "story"),
    ],
)
def test_an_error_names_the_field(
    read: Callable[[Mapping[str, Any]], object], fields: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        read(fields)
    assert raised.value.field == named
