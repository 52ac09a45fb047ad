"""What is left of a deleted article and of its observations."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from models.article import Observation
from services.articles.merge import REDACTED, TOMBSTONE_KEPT, observation_tombstone, tombstone
from tests.documents import NOW, article, attribution, observation, reading

EARLIER = NOW - timedelta(hours=1)
SECRET = "Zanzibar leaks everything"


def test_the_tombstone_of_an_article_has_its_ids_and_no_text() -> None:
    full = article(
        headline=SECRET,
        tags=(SECRET,),
        text_for_analysis=SECRET,
        source_attribution={"tiingo": attribution(original_headline=SECRET)},
        canonical=reading(headline=SECRET),
        scored_headline=SECRET,
    )
    left = tombstone(full, NOW)
    assert SECRET not in str(left.to_document())
    assert (left.source_id, left.deleted_at, left.headline) == (full.source_id, NOW, "[deleted]")
    assert left.normalized_headline == "deleted"
    assert timedelta(days=365) == TOMBSTONE_KEPT
    assert left.ttl_timestamp == int((NOW + timedelta(days=365)).timestamp())


@pytest.mark.parametrize(
    ("changes", "due"),
    [
        ({}, None),
        ({"event_id": "story"}, NOW),
        ({"event_id": "story", "grouping_due_since": EARLIER}, EARLIER),
        ({"grouping_due_since": EARLIER}, EARLIER),
    ],
)
def test_the_grouping_must_see_that_an_article_of_a_story_was_deleted(
    changes: dict[str, Any], due: datetime | None
) -> None:
    assert tombstone(article(**changes), NOW).grouping_due_since == due


def test_the_tombstone_of_an_observation_has_no_text() -> None:
    full = observation(
        headline=SECRET,
        text=SECRET,
        tags=(SECRET,),
        tickers=(SECRET,),
        publisher=SECRET,
        raw_value=SECRET,
        parse_warnings=(SECRET,),
        added_by_attempt="run:tiingo:1",
        created_article=True,
    ).to_document()
    left = observation_tombstone({**full, "_etag": "1"}, "2026-02-22T00:00:00Z")
    assert SECRET not in str(left)
    gone = {"text", "tags", "tickers", "publisher", "raw_value", "parse_warnings"}
    gone |= {"added_by_attempt", "created_article"}
    same = {name: value for name, value in full.items() if name not in gone}
    time = "2026-02-22T00:00:00Z"
    assert left == {**same, "headline": REDACTED, "updated_at": time, "deleted_at": time}
    assert Observation.from_document(left).source_id == full["source_id"]
    assert observation_tombstone({"id": "obs:a:1", "source_id": "x"}, "now")["deleted_at"] == "now"
