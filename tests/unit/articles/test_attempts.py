"""The totals of `GET metrics` that attempts add up to."""

from __future__ import annotations

from services.articles.attempts import totals_of
from tests.documents import attempt


def test_attempts_are_added_up_for_metrics() -> None:
    went_well = attempt(status="SUCCEEDED", duration_ms=700, articles_found=10, articles_new=4, articles_stored=3)
    failed = attempt(status="FAILED", error_type="timeout", duration_ms=10_500)
    assert totals_of([went_well, failed]) == {
        "articles_parsed": 10,
        "articles_inserted": 3,
        "articles_deduplicated": 7,
        "fetch_errors": 1,
        "fetches": 2,
        "fetch_milliseconds": 11_200,
        "within_1000_ms": 1,
        "within_5000_ms": 1,
        "within_10000_ms": 1,
    }
    assert totals_of([]) == {}
