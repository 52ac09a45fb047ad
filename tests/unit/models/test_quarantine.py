"""Items of the quarantine and their parts."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest

from models.quarantine import quarantine_id
from tests.documents import NOW, quarantined


def test_only_a_released_item_that_was_not_ingested_waits_for_ingestion() -> None:
    pending = quarantined()
    released = pending.reviewed(NOW, "new_articles", "Ann", "a new CMS")
    assert [
        each.waits_for_ingestion
        for each in (
            pending,
            released,
            released.changed(NOW, released_at=NOW),
            pending.reviewed(NOW, "drop", "Ann", "spam"),
        )
    ] == [False, True, False, False]


def test_the_same_content_is_quarantined_under_the_same_id() -> None:
    assert quarantine_id("BATCH", "a", "body") == f"BATCH:a:{hashlib.sha256(b'body').hexdigest()[:16]}"


def test_a_reviewed_item_is_kept_for_30_days() -> None:
    later = NOW + timedelta(hours=1)
    item = quarantined().reviewed(later, "drop", "Ann", "spam")
    assert item.ttl_timestamp == later.timestamp() + 30 * 86_400
    assert (item.reviewed_at, item.updated_at, item.review_note) == (later, later, "spam")
    assert (item.CONTAINER, item.partition, item.id) == ("quarantine", item.quarantine_id, item.quarantine_id)


@pytest.mark.parametrize(
    "changes",
    [
        {"ttl_timestamp": 1},
        {"reviewed_at": NOW},
        {"manual_review_status": "CLEARED_TERMINAL"},
        {"manual_review_status": "CLEARED_TERMINAL", "reviewed_at": NOW},
        {"manual_review_status": "CLEARED_TERMINAL", "ttl_timestamp": 1},
    ],
)
def test_only_a_reviewed_item_has_the_time_of_the_review_and_expires(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="reviewed_at and ttl_timestamp"):
        quarantined(**changes)
