"""A correction has one subject, a verdict that fits it, and an id that follows."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from models.correction import AFTER_PREFIX, PREFIX, Correction
from models.resources.corrections import CorrectionResource
from tests.documents import ARTICLE_ID, NOW, TOOL_ID, correction


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
