"""How a worker waits before it writes again, and when it stops."""

import asyncio

import pytest

from models.errors import ChangedMeanwhile, Unavailable
from services import deadline
from services.store.change import FIRST_SECONDS, MAX_SECONDS, ROUNDS, until_unchanged, wait_seconds


@pytest.mark.parametrize(
    ("round_no", "chance", "seconds"),
    [(0, 1.0, 0.02), (1, 1.0, 0.04), (5, 1.0, 0.64), (6, 1.0, 1.0), (29, 1.0, 1.0), (3, 0.5, 0.08), (29, 0.0, 0.0)],
)
def test_the_span_of_waiting_doubles_up_to_a_second(round_no: int, chance: float, seconds: float) -> None:
    assert wait_seconds(round_no, chance) == pytest.approx(seconds)


def test_a_document_is_tried_thirty_times_within_half_a_minute() -> None:
    assert (ROUNDS, FIRST_SECONDS, MAX_SECONDS) == (30, 0.02, 1.0)
    assert sum(wait_seconds(each, 1.0) for each in range(ROUNDS)) < 30


async def _contended() -> None:
    raise ChangedMeanwhile("another was first")


async def test_a_document_that_never_settles_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(Unavailable, match="it keeps changing: try again"):
        await until_unchanged(_contended, "it")
    assert len(waits) == ROUNDS - 1


async def test_no_wait_goes_past_the_deadline() -> None:
    with deadline.within(MAX_SECONDS / 2), pytest.raises(Unavailable):
        async with asyncio.timeout(MAX_SECONDS / 2):
            await until_unchanged(_contended, "it")
