"""Each invocation has a deadline, and work that outlives the invocation has none."""

import asyncio
import json
import math
from datetime import timedelta

import pytest

from services import deadline
from services.topology import FUNCTION_TIMEOUT, HTTP_TIMEOUT
from tests.hosting import ROOT


def test_the_function_timeout_is_that_of_the_host() -> None:
    hours, minutes, seconds = json.loads((ROOT / "host.json").read_text())["functionTimeout"].split(":")
    assert timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds)) == FUNCTION_TIMEOUT
    assert HTTP_TIMEOUT < FUNCTION_TIMEOUT


def test_outside_of_an_invocation_there_is_no_deadline() -> None:
    assert deadline.remaining() == math.inf
    assert not deadline.is_near()
    assert deadline.retry_seconds() is None
    assert deadline.until_near() is None
    assert not deadline.in_background()


@pytest.mark.parametrize(
    ("elapsed", "is_near", "retried", "answered"),
    [(224, False, 61, 61), (226, True, 59, 59), (290, True, 0, 5), (301, True, 0, 0)],
)
def test_the_last_quarter_takes_no_new_work_and_the_last_twentieth_retries_nothing(
    elapsed: float, is_near: bool, retried: float, answered: float
) -> None:
    now = [1000.0]
    with deadline.within(300, clock=lambda: now[0]):
        now[0] += elapsed
        assert deadline.remaining() == 300 - elapsed
        assert deadline.is_near() is is_near
        assert deadline.retry_seconds() == retried
        assert deadline.answer_seconds() == answered
        assert deadline.until_near() == max(0, 225 - elapsed)
    assert not deadline.is_near()


def test_the_request_of_a_person_is_not_patient() -> None:
    with deadline.within(230, in_background=False):
        assert 229 < deadline.remaining() <= 230
        assert deadline.retry_seconds() is None
        assert deadline.answer_seconds() == math.inf
        assert not deadline.in_background()


async def test_a_task_inherits_the_deadline_unless_it_outlives_the_invocation() -> None:
    async def left() -> float:
        return deadline.remaining()

    with deadline.within(10):
        task = asyncio.create_task(left())
        outliving = asyncio.create_task(left(), context=deadline.outside())
    assert await task < 10
    assert await outliving == math.inf


async def test_a_turn_that_does_not_come_in_time_is_none() -> None:
    gate = asyncio.Semaphore(1)
    async with deadline.turn(gate) as has_turn:
        assert has_turn
        with deadline.within(0.2):
            async with deadline.turn(gate) as later:
                assert not later
            assert deadline.is_near()
    with deadline.within(0):
        async with deadline.turn(gate) as late:
            assert not late
    assert not gate.locked()
