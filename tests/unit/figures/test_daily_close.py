"""Which days are closed and frozen, and the text of a close."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest

from models.history import DailyClose, DailyRound, HistoryDay, HistoryProgress
from services.figures.daily_close import CLOSED_AFTER, MOST_PAGES, TOOLS_AT_ONCE, after_round, next_round

NOW = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)


def _progress(**fields: str) -> HistoryProgress:
    return HistoryProgress.model_validate(
        {"created_at": NOW, "updated_at": NOW, "entity_type": "HistoryProgress", **fields}
    )


def test_the_limits_of_one_call() -> None:
    assert (timedelta(hours=6), 20, 50) == (CLOSED_AFTER, TOOLS_AT_ONCE, MOST_PAGES)


def test_a_day_is_closed_six_hours_after_its_end_and_frozen_when_it_is_no_longer_live() -> None:
    done = _progress(closed_until="2026-02-28", frozen_since="2026-01-01", frozen_until="2026-01-28")
    assert next_round(done, NOW - timedelta(seconds=1)) is None
    assert next_round(done, NOW) == DailyRound(close=("2026-03-01", "2026-03-01"), freeze=("2026-01-29", "2026-01-29"))


def test_the_first_round_goes_as_far_back_as_all_mentions_are_kept() -> None:
    assert next_round(None, NOW) == DailyRound(close=("2026-01-18", "2026-03-01"), freeze=("2026-01-18", "2026-01-29"))


def test_days_in_which_the_app_did_not_run_are_closed_later_as_far_as_their_mentions_are_there() -> None:
    done = _progress(closed_until="2026-02-25", frozen_since="2025-01-01", frozen_until="2025-12-31")
    assert next_round(done, NOW) == DailyRound(close=("2026-02-26", "2026-03-01"), freeze=("2026-01-18", "2026-01-29"))


def test_days_that_were_closed_are_not_closed_again_if_the_clock_went_back() -> None:
    done = _progress(closed_until="2026-03-09", frozen_since="2026-01-01", frozen_until="2026-02-09")
    assert next_round(done, NOW) is None


@pytest.mark.parametrize(
    ("before", "first", "since"),
    [
        ({}, "2026-01-18", "2026-01-18"),
        ({"frozen_since": "2025-01-01", "frozen_until": "2026-01-17"}, "2026-01-18", "2025-01-01"),
        ({"frozen_since": "2025-01-01", "frozen_until": "2026-01-16"}, "2026-01-18", "2026-01-18"),
    ],
)
def test_after_a_gap_nothing_is_known_of_earlier_days_without_a_document(
    before: dict[str, str], first: str, since: str
) -> None:
    ended = DailyRound(close=("2026-03-01", "2026-03-01"), freeze=(first, "2026-01-29"))
    after = after_round(_progress(**before).changed(NOW, round=ended), ended, NOW)
    assert (after.closed_until, after.frozen_since, after.frozen_until) == ("2026-03-01", since, "2026-01-29")
    assert after.round is None


def test_a_round_without_a_part_leaves_that_part_as_it_was() -> None:
    before = _progress(closed_until="2026-03-01", frozen_since="2026-01-01", frozen_until="2026-01-28")
    after = after_round(before, DailyRound(freeze=("2026-01-29", "2026-01-29")), NOW)
    assert (after.closed_until, after.frozen_until) == ("2026-03-01", "2026-01-29")
    assert after_round(before, DailyRound(), NOW).frozen_until == "2026-01-28"


def test_the_hash_of_a_close_is_that_of_what_is_served() -> None:
    close = DailyClose.of("a-tool", "2026-03-01", {"total_mentions": 2, "average_sentiment": 0.0, "of": "é"}, NOW)
    shown = close.shown()
    said = {name: value for name, value in shown.items() if name != "sha256"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert shown["sha256"] == close.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert (shown["id"], shown["tool_id"], shown["day"]) == ("close:a-tool:2026-03-01", "a-tool", "2026-03-01")
    assert (shown["closed_at"], close.figures["average_sentiment"]) == ("2026-03-02T06:00:00Z", 0.0)


def test_a_close_survives_a_change_of_its_document() -> None:
    close = DailyClose.of("a-tool", "2026-03-01", {"total_mentions": 2}, NOW)
    day = HistoryDay(created_at=NOW, updated_at=NOW, tool_id="a-tool", day="2026-03-01", closed=close)
    read = HistoryDay.from_document(day.to_document())
    assert (read.id, read.partition, read.closed, read.ttl_timestamp) == ("DAY:20260301", "a-tool", close, None)
