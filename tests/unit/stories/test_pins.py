"""What people may enter for a correction of articles or stories, and what follows from it for an article."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from models.correction import MAX_ARTICLES, GroupingCorrection, GroupingCorrectionKind, grouping_correction_id
from models.errors import InvalidInput
from models.request import Request
from models.resources.corrections import ArticleSplit, StoryPair, StorySplit
from services.stories.pins import WITHOUT, constraints_of
from tests.documents import NOW


def correction(
    kind: GroupingCorrectionKind, articles: str, others: str, minute: int = 0, **fields: Any
) -> GroupingCorrection:
    made_at: datetime = NOW + timedelta(minutes=minute)
    return GroupingCorrection(
        created_at=made_at,
        day=made_at.date().isoformat(),
        correction_id=grouping_correction_id(f"run{minute}", made_at),
        kind=kind,
        articles=tuple(articles),
        others=tuple(others),
        author="Ada",
        made_at=made_at,
        made_by_run=f"run{minute}",
        **fields,
    )


def test_a_correction_is_about_each_pair_across_and_says_the_same_to_both() -> None:
    apart = correction("NOT_ONE_STORY", "ab", "cd")
    assert constraints_of("a", [apart]).apart_from == dict.fromkeys("cd", apart.correction_id)
    assert constraints_of("c", [apart]).apart_from == dict.fromkeys("ab", apart.correction_id)
    assert constraints_of("x", [apart]) == WITHOUT


def test_each_kind_has_its_field() -> None:
    fields = {"ONE_STORY": "together_with", "NOT_ONE_STORY": "apart_from"}
    for kind, field in fields.items():
        found = constraints_of("a", [correction(kind, "a", "b")])  # type: ignore[arg-type]
        assert set(getattr(found, field)) == {"b"}
        assert found.partners == {"b"}
    split = constraints_of("b", [correction("SPLIT_ARTICLE", "a", "b", source="feed")])
    assert set(split.different_from) == {"a"}


def test_articles_that_leave_a_story_stay_together() -> None:
    split = correction("SPLIT_STORY", "ab", "cd")
    found = constraints_of("a", [split])
    assert (set(found.apart_from), set(found.together_with)) == (set("cd"), {"b"})
    left = constraints_of("c", [split])
    assert (set(left.apart_from), set(left.together_with)) == (set("ab"), set())


def test_the_later_correction_of_a_pair_counts_in_whatever_order_they_are_read() -> None:
    apart, together = correction("NOT_ONE_STORY", "a", "bc", 1), correction("ONE_STORY", "b", "a", 2)
    for said in ([apart, together], [together, apart]):
        found = constraints_of("a", said)
        assert (set(found.apart_from), set(found.together_with)) == ({"c"}, {"b"})


def test_an_undone_correction_says_nothing_and_the_earlier_one_counts_again() -> None:
    apart = correction("NOT_ONE_STORY", "a", "b", 1)
    together = correction("ONE_STORY", "a", "b", 2, undone_at=NOW, undone_by="Ada")
    assert set(constraints_of("a", [apart, together]).apart_from) == {"b"}
    assert constraints_of("a", [together]) == WITHOUT


BY = {"author": "Ada"}


@pytest.mark.parametrize(
    ("body", "fields", "named"),
    [
        (ArticleSplit, {"source": "a b"}, "source"),
        (StorySplit, {"articles": []}, "articles"),
        (StorySplit, {"articles": ["x"] * (MAX_ARTICLES + 1)}, "articles"),
        (StorySplit, {"articles": ["x", ""]}, "articles"),
        (StoryPair, {"story": " "}, "story"),
    ],
)
def test_an_error_names_the_field(body: type[Request], fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        body.checked({**fields, **BY})
    assert raised.value.field == named
