"""Totals and their buckets, heartbeats, and the records of migrations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.operations import CacheTotals, Heartbeat, IngestionTotals, MigrationRecord, within

NOW = datetime(2026, 2, 21, 20, 0, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)


@pytest.mark.parametrize(("kind", "name"), [(CacheTotals, "cache"), (IngestionTotals, "ingestion")])
def test_totals_begin_at_0_in_a_partition_of_their_own(kind: type[CacheTotals | IngestionTotals], name: str) -> None:
    stored = kind.at(NOW).to_document()
    assert (stored.pop("pk"), stored.pop("id"), stored.pop("entity_type")) == ("TOTALS", name, kind.__name__)
    common = {"created_at", "updated_at", "schema_version"}
    assert {count for field, count in stored.items() if field not in common} == {0}


@pytest.mark.parametrize("kind", [CacheTotals, IngestionTotals])
def test_totals_have_a_bucket_for_each_bound(kind: type[CacheTotals | IngestionTotals]) -> None:
    buckets = {name for name in kind.model_fields if name.startswith("within_")}
    assert buckets == {f"within_{bound}_ms" for bound in kind.BOUNDS_MS}
    assert (CacheTotals.BOUNDS_MS, IngestionTotals.BOUNDS_MS) == ((1, 5, 25, 100), (500, 1000, 5000, 10000))


def test_a_duration_counts_in_the_buckets_of_all_bounds_that_it_does_not_exceed() -> None:
    assert within(5, (1, 5, 25)) == {"within_5_ms": 1, "within_25_ms": 1}
    assert within(5.1, (1, 5, 25)) == {"within_25_ms": 1}
    assert within(26, (1, 5, 25)) == {}


def test_a_heartbeat_counts_failures_in_a_row_and_keeps_the_last_error() -> None:
    first = Heartbeat.first("clean_up", NOW)
    assert (first.partition, first.id, first.failures_in_a_row, first.is_failing) == ("HEARTBEAT", "clean_up", 0, False)
    failed = first.beaten(NOW, LATER, "Unavailable").beaten(NOW, LATER, "ValueError")
    assert (failed.failures_in_a_row, failed.is_failing, failed.last_error) == (2, True, "ValueError")
    assert (failed.last_started_at, failed.last_failed_at, failed.last_succeeded_at) == (NOW, LATER, None)
    well = failed.beaten(LATER, LATER + timedelta(seconds=1))
    assert (well.failures_in_a_row, well.is_failing, well.last_error) == (0, False, "ValueError")
    assert (well.last_started_at, well.last_succeeded_at) == (LATER, LATER + timedelta(seconds=1))
    assert well.last_beat_at == LATER + timedelta(seconds=1)


def _record(number: Any) -> MigrationRecord:
    return MigrationRecord.of(number, "begin", NOW, NOW)


def test_a_migration_has_a_number_of_four_digits() -> None:
    assert [(_record(number).partition, _record(number).id) for number in (1, 9999)] == [
        ("MIGRATION", "0001"),
        ("MIGRATION", "9999"),
    ]
    for wrong in (0, 10_000, "1"):
        with pytest.raises(ValueError, match="number"):
            _record(wrong)
