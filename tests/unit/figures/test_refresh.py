"""When a stored entry need not be written again, and how a run adds up its batches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from models.cache import FRESH_FOR, PERIODS
from models.run import Attempt
from services.figures.metadata import LONGEST_REASON
from services.figures.refresh import (
    LATE_BY,
    OVERDUE,
    PLACE_SECONDS,
    REWRITTEN_AT,
    TOOLS_AT_ONCE,
    become_stale,
    can_stay,
    done_batches,
    paced,
    place_of,
    reason_of,
    summary,
)
from services.mentions.due import MAX_TOOLS
from services.ports import Document
from services.topology import REFRESH_SENTIMENT_CACHE
from tests.documents import attempt, cache_entry, run

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


def _entry(**changes: Any) -> Document:
    fields = {"last_updated_ts": int(NOW.timestamp()), "generation": 1, "recounts": 7, "coverage": 0.5}
    return cache_entry(**(fields | changes)).to_document()


def test_an_entry_of_an_older_window_with_the_same_figures_can_stay_until_the_next_refresh_might_be_late() -> None:
    assert not can_stay(None, _entry())
    assert REWRITTEN_AT + REFRESH_SENTIMENT_CACHE.every + LATE_BY == FRESH_FOR
    for age, stays in {-61: False, -60: True, 839: True, 840: False}.items():
        end = int(NOW.timestamp()) - age
        older = _entry(last_updated_ts=end, period_start_ts=end - 86_400, period_end_ts=end)
        assert can_stay(older, _entry()) == stays


@pytest.mark.parametrize(
    "changes",
    [
        {"generation": 0},
        {"recounts": 8},
        {"coverage": 0.4999},
        {"average_sentiment": 0.1499},
        {"positive_count": 2, "total_mentions": 4},
        {"positive_count": 2, "negative_count": 0},
    ],
)
def test_an_entry_with_other_figures_or_of_other_counts_does_not(changes: dict[str, Any]) -> None:
    assert not can_stay(_entry(**changes), _entry())


@pytest.mark.parametrize("number", [1, 50, 200, 3000, 100_000])
def test_the_batches_of_a_run_are_spread_over_most_of_the_time_to_the_next_tick(number: int) -> None:
    tools = [f"tool-{each}" for each in range(number)]
    batches = list(paced(tools))
    delays = [delay for delay, _ in batches]
    assert sorted(each for _, some in batches for each in some) == sorted(tools)
    assert max(len(some) for _, some in batches) <= (TOOLS_AT_ONCE if number < 3000 else MAX_TOOLS)
    assert PLACE_SECONDS <= delays[0] <= delays[-1] < (REFRESH_SENTIMENT_CACHE.every - LATE_BY).total_seconds()
    if number < 100_000:
        assert len(delays) == len(set(delays)), "a second does one batch"
    if number >= 200:
        assert max(later - earlier for earlier, later in pairwise(delays)) <= PLACE_SECONDS / 2


def test_a_tool_keeps_its_place_whatever_other_tools_there_are() -> None:
    assert [place_of(each) for each in ("Moorlight", "Quorvia", "Widget")] == [540, 630, 630]
    few = {each: delay for delay, some in paced(["Moorlight", "Quorvia"]) for each in some}
    many = {each: delay for delay, some in paced(["Moorlight", *map(str, range(99)), "Quorvia"]) for each in some}
    assert all(0 <= many[each] - delay < PLACE_SECONDS for each, delay in few.items())


def test_a_tool_waits_for_its_place_only_if_none_of_its_entries_becomes_stale() -> None:
    def entries(age: timedelta) -> list[Document]:
        written = int((NOW - age).timestamp())
        return [_entry(tool_id="Moorlight", period=each, last_updated_ts=written) for each in PERIODS]

    waits = FRESH_FOR - LATE_BY - timedelta(seconds=place_of("Moorlight"))
    assert become_stale(entries(waits), NOW) == set()
    assert become_stale(entries(waits + timedelta(seconds=1)), NOW) == {"Moorlight"}
    assert become_stale([*entries(waits)[:3], *entries(FRESH_FOR)[3:]], NOW) == {"Moorlight"}


def batch(name: str, number: int = 1, status: str = "SUCCEEDED", **fields: Any) -> Attempt:
    error = "worker_died" if status == "FAILED" else None
    return attempt(
        task_name="refresh_tools", subject=name, attempt_no=number, status=status, error_type=error, **fields
    )


WELL = batch("0001", progress=2, counts={"entries_written": 8, "tools_failed": 0}, tool_ids=("a", "b"))
ODD = batch("0002", progress=1, counts={"entries_written": 4, "tools_failed": 1}, errors=("c: not refreshed",))
NONE = batch("0002", progress=0, counts={"tools_failed": 2}, errors=("d: ValueError: no", "e: ValueError: no"))
DIED = batch("0002", status="FAILED")


def test_a_batch_is_done_when_one_of_its_attempts_succeeded() -> None:
    again = batch("0002", 2)
    assert done_batches([DIED, WELL, again]) == {"0001": WELL, "0002": again}
    assert done_batches([DIED]) == {}


@pytest.mark.parametrize(
    ("attempts", "batches", "status"),
    [
        ([WELL], 1, "SUCCEEDED"),
        ([WELL], 2, "PARTIAL"),
        ([WELL, DIED], 2, "PARTIAL"),
        ([WELL, ODD], 2, "PARTIAL"),
        ([], 1, "FAILED"),
        ([DIED], 1, "FAILED"),
        ([NONE], 1, "FAILED"),
        ([WELL, NONE], 2, "PARTIAL"),
    ],
)
def test_a_refresh_is_partial_if_a_batch_is_missing_or_a_tool_failed(
    attempts: list[Attempt], batches: int, status: str
) -> None:
    assert summary(run(batches=batches), attempts)["status"] == status


def test_a_run_adds_up_its_batches_and_names_what_is_missing() -> None:
    assert summary(run(batches=3), [ODD, DIED, WELL]) == {
        "status": "PARTIAL",
        "progress": 3,
        "metrics": {"entries_written": 12, "tools_failed": 1},
        "errors": ("1 of 3 batches did not end in time", "c: not refreshed"),
    }
    assert summary(run(batches=1), [WELL])["errors"] == ()


def test_a_batch_that_did_not_end_is_named_with_why_its_last_try_failed() -> None:
    attempts = [batch("0002", status="FAILED"), batch("0003", status="FAILED"), batch("0003", 2), WELL]
    assert summary(run(batches=4), attempts)["errors"] == ("2 of 4 batches did not end in time", "0002: worker_died")


def test_the_reason_of_a_failure_names_its_kind_and_is_short() -> None:
    assert reason_of(ValueError("no number")) == "ValueError: no number"
    assert len(reason_of(ValueError("x" * 1000))) == LONGEST_REASON == 200


def test_fifty_errors_are_kept() -> None:
    many = [batch(f"{n:04}", errors=(f"tool-{n}: not refreshed",)) for n in range(60)]
    errors = summary(run(batches=61), many)["errors"]
    assert (len(errors), errors[0]) == (50, "1 of 61 batches did not end in time")


def test_a_tick_finds_the_run_of_the_tick_before_overdue_though_timers_are_not_exact() -> None:
    assert OVERDUE.total_seconds() == 14 * 60
