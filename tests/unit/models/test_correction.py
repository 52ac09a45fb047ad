"""A correction has one subject, a verdict that fits it, and an id that follows."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from models.correction import (
    AFTER_PREFIX,
    MAX_ARTICLES,
    PREFIX,
    Correction,
    grouping_correction_id,
    partition_of_correction,
)
from models.resources.corrections import CorrectionResource, GroupingCorrectionResource
from tests.documents import ARTICLE_ID, NOW, TOOL_ID, correction
from tests.unit.stories.test_pins import correction as of_stories


def other(**changes: Any) -> Correction:
    empty = dict.fromkeys(("source_id", "label", "said", "headline", "revision"))
    return correction(**{**empty, "passages": (), **changes})


def test_the_id_names_the_subject_and_sorts_among_corrections() -> None:
    source = other(subject="SOURCE", feed_id="alpha", verdict="mute")
    phrase = other(subject="PHRASE", phrase="Big  Quorvia", verdict="exclude")
    again = other(subject="PHRASE", phrase="big quorvia", verdict="exclude")
    assert correction().id == f"CORRECTION:{ARTICLE_ID}"
    assert (correction().partition, Correction.CONTAINER) == (TOOL_ID, "catalog")
    assert (PREFIX, AFTER_PREFIX) == ("CORRECTION:", "CORRECTION;")
    assert source.id == "CORRECTION:SOURCE:alpha"
    assert phrase.id == again.id
    assert len(phrase.correction_id) == len("PHRASE:") + 32
    for each in (correction(), source, phrase):
        assert PREFIX < each.id < AFTER_PREFIX
        assert Correction.from_document(each.to_document()) == each


@pytest.mark.parametrize(
    "wrong",
    [
        {"subject": "SOURCE"},
        {"feed_id": "alpha"},
        {"source_id": None},
        {"verdict": "mute"},
        {"verdict": "neutral"},
        {"verdict": "positive", "label": None},
        {"verdict": "negative", "label": None},
        {"undone_at": NOW},
        {"undone_by": "Ada"},
    ],
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        correction(**wrong)


def test_it_is_shown_with_its_id_and_without_the_hash() -> None:
    shown = CorrectionResource.of(correction(passages_hash="abc"), "active", "full").shown()
    assert shown["correction_id"] == ARTICLE_ID
    assert "passages_hash" not in shown
    assert shown["ttl_timestamp"] is None


def test_the_id_of_a_correction_of_stories_says_the_partition() -> None:
    name = grouping_correction_id("0123abcd", NOW)
    assert partition_of_correction(name) == NOW.date().isoformat() == of_stories("ONE_STORY", "a", "b").partition
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
def test_a_correction_of_stories_that_does_not_fit_is_refused(kind, articles, others, more) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValidationError):
        of_stories(kind, articles, others, **more)


def test_a_correction_of_stories_is_shown_with_its_state() -> None:
    made = of_stories("ONE_STORY", "a", "b")
    undone = made.changed(NOW, undone_at=NOW, undone_by="Ada")
    assert [GroupingCorrectionResource.of(each).state for each in (made, undone)] == ["active", "undone"]
    assert type(made).from_document(made.to_document()) == made
