"""When an item is due, what a failure does to its document, and what is overdue."""

from __future__ import annotations

from datetime import timedelta

import pytest

from models.run import WORKER_DIED
from models.values import format_time
from services.ports import Document
from services.work.announcing import Announced, overdue_range
from services.work.stage import LONGEST_WAIT, Stage, Tries, backoff
from tests.documents import NOW

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
STAGE = Stage(
    *("toys", "toys", "stories", "by_signals_due", "due", "toy", "toys"),
    tries=Tries(lambda key: (key, key), most=2, given_up={"status": "error"}),
)


@pytest.mark.parametrize(
    ("due", "is_due"),
    [
        (None, False),
        (NOW - HOUR, True),
        (NOW, True),
        (NOW + SECOND, False),
        (NOW + LONGEST_WAIT + MINUTE, False),
        (NOW + LONGEST_WAIT + MINUTE + SECOND, True),
    ],
)
def test_an_item_is_due_from_its_time_on_and_if_a_clock_was_ahead(due: object, is_due: bool) -> None:
    assert STAGE.is_due({} if due is None else {"due": format_time(due), "tries": 1}, NOW) is is_due  # type: ignore[arg-type]


def test_an_item_without_failures_is_due_though_the_clock_of_its_writer_is_a_little_ahead() -> None:
    assert STAGE.is_due({"due": format_time(NOW + SECOND)}, NOW)


def test_a_document_that_is_gone_is_not_due() -> None:
    assert STAGE.is_due(None, NOW) is False


@pytest.mark.parametrize(
    ("tries", "seconds"), [(0, 30), (1, 30), (2, 60), (5, 480), (12, 61_440), (13, 86_400), (99, 86_400)]
)
def test_each_wait_is_twice_as_long_up_to_a_day(tries: int, seconds: int) -> None:
    assert backoff(tries) == timedelta(seconds=seconds)


def item(**fields: object) -> Document:
    return {"id": "a", "due": format_time(NOW), **fields}


def test_an_item_that_fails_is_due_again_later() -> None:
    after = STAGE.after_failure(item(), "broken", NOW)
    assert (after["tries"], after["error"], after["due"]) == (1, "broken", format_time(NOW + timedelta(seconds=30)))
    assert STAGE.after_failure(after, "still", NOW, is_counted=True)["tries"] == 1


def test_an_item_that_is_given_up_says_so_and_is_not_due() -> None:
    assert "due" in STAGE.after_failure(item(tries=0), "broken", NOW)
    after = STAGE.after_failure(item(tries=1), "broken", NOW)
    assert (after["tries"], after["status"], "due" in after) == (2, "error", False)
    again = STAGE.redriven(after, NOW)
    assert (again["tries"], again["due"]) == (0, format_time(NOW))


def test_a_try_that_an_outage_ended_does_not_count() -> None:
    marked = STAGE.after_failure(item(), WORKER_DIED, NOW)
    assert STAGE.has_killed(marked)
    after = STAGE.uncounted(marked, NOW + MINUTE)
    assert (after["tries"], after["due"], STAGE.has_killed(after)) == (0, format_time(NOW + MINUTE), False)


def last(announced: timedelta, due_until: timedelta) -> Announced:
    return Announced(NOW - due_until, NOW - announced)


@pytest.mark.parametrize(
    ("waiting", "before", "expected"),
    [
        (None, None, (None, MINUTE)),
        (SECOND, None, (None, MINUTE)),
        (30 * SECOND, None, (None, MINUTE)),
        (31 * SECOND, None, (None, MINUTE + SECOND)),
        (HOUR, None, (None, HOUR + 30 * SECOND)),
        (None, last(MINUTE, 2 * MINUTE), (None, MINUTE)),
        (None, last(MINUTE - SECOND, 2 * MINUTE), (2 * MINUTE, MINUTE)),
        (None, last(SECOND, MINUTE), None),
        (HOUR, last(HOUR, HOUR + MINUTE), (HOUR + MINUTE, HOUR + 30 * SECOND)),
        (HOUR, last(HOUR + 30 * SECOND, 2 * HOUR), (None, HOUR + 30 * SECOND)),
        (HOUR, last(MINUTE, 2 * MINUTE), None),
        (None, last(-MINUTE, -MINUTE), None),
        (None, last(-MINUTE - SECOND, -MINUTE), (None, MINUTE)),
    ],
)
def test_overdue_is_what_is_due_for_a_minute_and_longer_than_every_message_waits(
    waiting: timedelta | None, before: Announced | None, expected: tuple[timedelta | None, timedelta] | None
) -> None:
    found = overdue_range(NOW - MINUTE, NOW, None if waiting is None else NOW - waiting, before)
    ages = None if found is None else (None if found[0] is None else NOW - found[0], NOW - found[1])
    assert ages == expected
