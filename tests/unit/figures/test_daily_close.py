"""Which day is closed next, and the text of a close."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime, timedelta

import pytest

from models.timeline import DailyClose, HistoryProgress
from services.figures.daily_close import CLOSED_AFTER, MAX_PAGES, TOOLS_AT_ONCE, after_page, next_day

NOW = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
FIRST_LIVE = date(2026, 1, 30)


def _progress(since: str, closed_until: str, after: str | None = None) -> HistoryProgress:
    return HistoryProgress(created_at=NOW, since=since, closed_until=closed_until, after=after)


def test_the_limits_of_one_call() -> None:
    assert (timedelta(hours=6), 20, 50) == (CLOSED_AFTER, TOOLS_AT_ONCE, MAX_PAGES)


def test_a_day_is_closed_six_hours_after_its_end() -> None:
    done = _progress("2026-01-01", "2026-02-28")
    assert next_day(done, NOW - timedelta(seconds=1)) is None
    assert next_day(done, NOW) == date(2026, 3, 1)


@pytest.mark.parametrize("progress", [None, _progress("2025-01-01", "2026-01-01")])
def test_the_first_day_and_the_first_after_a_long_pause_is_the_oldest_live_one(
    progress: HistoryProgress | None,
) -> None:
    assert next_day(progress, NOW) == FIRST_LIVE
    after = after_page(progress, FIRST_LIVE, None, NOW)
    assert (after.since, after.closed_until, after.after) == ("2026-01-30", "2026-01-30", None)


def test_days_in_which_the_app_did_not_run_are_closed_later_one_after_the_other() -> None:
    progress: HistoryProgress = _progress("2025-01-01", "2026-02-25")
    days = []
    while (day := next_day(progress, NOW)) is not None:
        days.append(day.isoformat())
        progress = after_page(progress, day, None, NOW)
    assert days == ["2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01"]
    assert progress.since == "2025-01-01"


def test_days_that_were_closed_are_not_closed_again_unless_a_clock_that_was_ahead_closed_them() -> None:
    done = _progress("2026-01-01", "2026-03-09")
    assert next_day(done, NOW) is None
    assert next_day(done.changed(NOW + timedelta(days=9)), NOW) == FIRST_LIVE


def test_a_day_is_closed_once_all_pages_of_tools_are_done() -> None:
    done, day = _progress("2026-01-01", "2026-02-28"), date(2026, 3, 1)
    half = after_page(done, day, "tool-20", NOW)
    assert (half.since, half.closed_until, half.after, next_day(half, NOW)) == (
        *("2026-01-01", "2026-02-28", "tool-20"),
        day,
    )
    whole = after_page(half, day, None, NOW)
    assert (whole.since, whole.closed_until, whole.after) == ("2026-01-01", "2026-03-01", None)


def test_the_hash_of_a_close_is_that_of_what_is_served() -> None:
    close = DailyClose.of("a-tool", "2026-03-01", {"total_mentions": 2, "average_sentiment": 0.0, "of": "é"}, NOW)
    shown = close.shown()
    said = {name: value for name, value in shown.items() if name != "sha256"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert shown["sha256"] == close.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert (shown["id"], shown["tool_id"], shown["day"]) == ("close:a-tool:2026-03-01", "a-tool", "2026-03-01")
    assert (shown["closed_at"], close.figures["average_sentiment"]) == ("2026-03-02T06:00:00Z", 0.0)


def test_a_close_is_kept_for_good() -> None:
    close = DailyClose.of("a-tool", "2026-03-01", {"total_mentions": 2}, NOW)
    assert (close.id, close.partition, close.ttl_timestamp) == ("CLOSE:20260301", "a-tool", None)
    assert DailyClose.from_document(close.to_document()) == close
