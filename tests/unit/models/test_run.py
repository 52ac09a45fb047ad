"""What runs and attempts compute from their fields, and what the fields must be together."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.run import FETCH_FEED, INGEST_FEEDS, RELEASE_BATCH
from tests.documents import NOW, attempt, metrics, run


def test_workflows_and_tasks_have_the_names_under_which_they_are_stored() -> None:
    assert (INGEST_FEEDS, FETCH_FEED, RELEASE_BATCH) == ("ingest_feeds", "fetch_feed", "let_in_held_batch")


@pytest.mark.parametrize(
    ("collisions", "fetched", "rate"), [(1, 3, 0.3333), (2, 3, 0.6667), (100, 100, 1.0), (0, 0, 0)]
)
def test_the_rate_of_collisions_is_rounded_to_four_decimals(collisions: int, fetched: int, rate: float) -> None:
    assert metrics(collisions_detected=collisions, articles_fetched={"a": fetched}).collision_rate == rate


@pytest.mark.parametrize("rate", [0.0895, 0.1105])
def test_a_rate_that_differs_by_over_a_hundredth_is_refused(rate: float) -> None:
    counts: dict[str, Any] = {"collisions_detected": 100, "articles_fetched": {"a": 1_000}}
    with pytest.raises(ValueError, match="collision_rate must be"):
        metrics(**counts, collision_rate=rate)
    nearer = 0.1 + (rate - 0.1) * 0.9
    assert metrics(**counts, collision_rate=nearer).collision_rate == nearer


@pytest.mark.parametrize(
    ("changes", "milliseconds"),
    [
        ({}, 0),
        ({"began_ms": 10, "ended_ms": 17}, 7),
        ({"began_ms": 10, "ended_ms": 10}, 0),
        ({"began_ms": 10, "ended_ms": 9}, 0),
    ],
)
def test_a_run_takes_from_its_beginning_to_its_end(changes: dict[str, Any], milliseconds: int) -> None:
    ended = {"status": "SUCCEEDED", "ended_at": NOW + timedelta(seconds=3)}
    assert run(**ended, **changes).duration_ms == milliseconds
    assert run().duration_ms == 0


def test_an_attempt_has_an_error_if_and_only_if_it_failed() -> None:
    for changes in ({"status": "FAILED"}, {"error_type": "timeout"}):
        with pytest.raises(ValueError, match="error_type must be"):
            attempt(**changes)
    assert attempt(status="FAILED", error_type="timeout").error_type == "timeout"
