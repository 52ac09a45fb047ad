"""The document of a correction of articles and stories."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from models.grouping_correction import MAX_ARTICLES, grouping_correction_id, partition_of_correction
from models.resources.corrections import GroupingCorrectionResource
from tests.documents import NOW
from tests.unit.stories.test_pins import correction


def test_the_id_says_the_partition() -> None:
    name = grouping_correction_id("0123abcd", NOW)
    assert partition_of_correction(name) == NOW.date().isoformat() == correction("ONE_STORY", "a", "b").partition
    for wrong in ("correction:2026:x", "correction:20260221:", "correction:20260221:a/b", "dedup:1"):
        with pytest.raises(ValueError, match="id of a correction"):
            partition_of_correction(wrong)


@pytest.mark.parametrize(
    ("kind", "articles", "others", "more"),
    [
        ("ONE_STORY", "a", "a", {}),
        ("ONE_STORY", "a", "", {}),
        ("ONE_STORY", "a", "b", {"source": "feed"}),
        ("SPLIT_ARTICLE", "a", "b", {}),
        ("ONE_STORY", "a", "b", {"undone_at": NOW}),
        ("ONE_STORY", "a", [f"x{number}" for number in range(MAX_ARTICLES + 1)], {}),
    ],
)
def test_what_does_not_fit_is_refused(kind, articles, others, more) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValidationError):
        correction(kind, articles, others, **more)


def test_it_is_shown_with_its_state() -> None:
    made = correction("ONE_STORY", "a", "b")
    undone = made.changed(NOW, undone_at=NOW, undone_by="Ada")
    assert [GroupingCorrectionResource.of(each).state for each in (made, undone)] == ["active", "undone"]
    assert type(made).from_document(made.to_document()) == made
