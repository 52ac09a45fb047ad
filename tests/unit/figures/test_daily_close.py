"""Which days are closed and frozen, and the text of a close."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime, timedelta

import pytest

from models.history import DailyClose, DailyRound, FrozenHours, HistoryDay, HistoryProgress
from models.tally import Tally, TimelineHours
from services.figures.counting import CountedMention
from services.figures.daily_close import (
    CLOSED_AFTER,
    HOURS_KEPT,
    MOST_PAGES,
    TOOLS_AT_ONCE,
    CountedDay,
    after_round,
    next_round,
    with_day,
)
from tests.documents import mention

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


@pytest.mark.parametrize(
    ("before", "since"),
    [
        ({}, "2026-03-02"),  # the app did not run before the first round
        ({"frozen_until": "2026-01-28", "frozen_since": "2026-01-07"}, "2026-01-07"),
        ({"frozen_until": "2026-01-27", "frozen_since": "2026-01-07"}, "2026-01-29"),
    ],
)
def test_hours_are_known_since_a_round_kept_them_and_without_a_gap(before: dict[str, str], since: str) -> None:
    created = NOW if not before else NOW - timedelta(days=99)
    progress = HistoryProgress.model_validate({"created_at": created, "updated_at": NOW, **before})
    assert after_round(progress, DailyRound(freeze=("2026-01-29", "2026-01-29")), NOW).hours_since == since


def test_the_hours_of_a_day_are_as_a_timeline_has_them() -> None:
    counted, day = CountedDay(), date(2026, 1, 29)
    assert counted.text(day) is None
    for at, sentiment, polarity in (
        ("07:10", "positive", 0.6),
        ("07:59", "negative", -0.5),
        ("23:00", "positive", 0.6),
    ):
        published_at = datetime.fromisoformat(f"2026-01-29T{at}:00Z")
        stored = mention(published_at=published_at, sentiment=sentiment, polarity=polarity).to_document()
        counted.add(CountedMention.of(stored), stored["published_at"])
    hours = TimelineHours({"20260129": counted.text(day) or ""})
    assert [hours.numbers(f"20260129{hour}") for hour in ("07", "08", "23")] == [
        Tally(1, 1, 0, 100_000),
        Tally(),
        Tally(1, 0, 0, 600_000),
    ]
    assert hours.of_day("20260129") == counted.count.tally


def test_hours_are_kept_of_a_month_of_frozen_days() -> None:
    kept = FrozenHours(created_at=NOW, updated_at=NOW, tool_id="a-tool", days={"20251229": "x", "20251230": "y"})
    after = with_day(kept, date(2026, 1, 29), "z", NOW)
    assert after.days == {"20251230": "y", "20260129": "z"}
    assert (after.id, after.partition, HOURS_KEPT) == ("FROZEN", "a-tool", timedelta(days=31))


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
