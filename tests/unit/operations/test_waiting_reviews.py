"""What waits in quarantine is counted by kind, and for too long it degrades health."""

from datetime import timedelta
from typing import Any

import pytest

from models.quarantine import quarantine_id
from services.operations.checks import PATIENCE, Status, Waiting, judge_reviews, waiting_reviews
from services.store.sqlite import SqliteStore
from tests import documents
from tests.builders import NOON
from tests.unit.conftest import Put


def item(name: str, days: float, **changes: Any) -> Any:
    at = NOON - timedelta(days=days)
    return documents.quarantined(
        **{"quarantine_id": quarantine_id("BATCH", "a", name), "created_at": at, "updated_at": at, **changes}
    )


async def test_items_are_counted_by_kind_until_they_are_reviewed(store: SqliteStore, put: Put) -> None:
    assert await waiting_reviews(store) == {"BATCH": Waiting(), "DOCUMENT": Waiting()}
    document = {"kind": "DOCUMENT", "reason_code": "OTHER"}
    decided = item("3", 9).reviewed(NOON, "drop", "Ann", "because")
    await put(item("1", 1), item("2", 3), decided.changed(NOON, ttl_timestamp=4_000_000_000))
    await put(*(item(str(n), 2, **document) for n in range(10, 13)))
    assert await waiting_reviews(store) == {
        "BATCH": Waiting(2, NOON - timedelta(days=3)),
        "DOCUMENT": Waiting(3, NOON - timedelta(days=2)),
    }


def test_a_batch_may_wait_for_a_day_and_a_full_text_for_a_week() -> None:
    assert {"BATCH": timedelta(days=1), "DOCUMENT": timedelta(days=7)} == PATIENCE


@pytest.mark.parametrize(
    ("batch", "document", "status", "words"),
    [
        (None, None, "healthy", "nothing waits for a review"),
        (1, 7, "healthy", "2 items wait for a review"),
        (1.01, 7, "degraded", "1 batches of entries wait for a review, the first for 1 days: see GET quarantine"),
        (None, 7.01, "degraded", "1 full texts wait for a review, the first for 7 days: see GET quarantine"),
    ],
)
def test_what_waits_for_too_long_degrades(
    batch: float | None, document: float | None, status: Status, words: str
) -> None:
    ages = {"BATCH": batch, "DOCUMENT": document}
    waiting: Any = {
        kind: Waiting() if age is None else Waiting(1, NOON - timedelta(days=age)) for kind, age in ages.items()
    }
    check = judge_reviews(waiting, NOON)
    assert (check.status, words in check.detail) == (status, True)
    assert check.facts["pending"] == {kind: int(age is not None) for kind, age in ages.items()}
    assert check.facts["oldest_seconds"] == {kind: int(age * 86_400) for kind, age in ages.items() if age is not None}


def test_an_item_of_a_clock_that_was_ahead_waits_for_no_time() -> None:
    assert Waiting(1, NOON + timedelta(days=1)).oldest_seconds(NOON) == 0
