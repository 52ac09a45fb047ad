"""The deadline of the present invocation: the time at which the Functions host ends it.

triggers/bindings.py sets the deadline in a context variable, which the tasks of an invocation inherit. Background work
(a timer or a queue message) is patient: it waits for a busy store until the deadline is near, and takes no new work
then. A request of a person is not: it waits briefly, and goes first. Outside of an invocation there is no deadline.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context, ContextVar
from typing import NamedTuple

STOP_SHARE = 0.25
"""The last part of an invocation's time, in which it takes no new work: 75 s of 5 minutes. What it has begun needs that
time: a page of a list, a group of articles, or a fetch with its retries."""
RETRY_SHARE = 0.05
"""The last part of an invocation's time, in which no request to the store is tried again: 15 s of 5 minutes, to put
back what is not done."""


class Deadline(NamedTuple):
    """The time until which an invocation may work. `ends` is a time of `clock`, which counts seconds."""

    ends: float
    seconds: float
    in_background: bool
    clock: Callable[[], float]


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(
    seconds: float, *, in_background: bool = True, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """What runs in this context ends in so many seconds."""
    token = _deadline.set(Deadline(clock() + seconds, seconds, in_background, clock))
    try:
        yield
    finally:
        _deadline.reset(token)


def remaining() -> float:
    """Seconds until the invocation is ended: negative afterwards, infinite without a deadline."""
    deadline = _deadline.get()
    return math.inf if deadline is None else deadline.ends - deadline.clock()


def is_near() -> bool:
    """Whether to take no new work: to leave it as it is, or to send its message again."""
    deadline = _deadline.get()
    return deadline is not None and remaining() < STOP_SHARE * deadline.seconds


def until_near() -> float | None:
    """Seconds until it is near, never negative; None without a deadline."""
    deadline = _deadline.get()
    return None if deadline is None else max(0.0, remaining() - STOP_SHARE * deadline.seconds)


@asynccontextmanager
async def turn(gate: asyncio.Semaphore) -> AsyncIterator[bool]:
    """Waits for a turn at the gate. False if the deadline is near before: then there is no turn."""
    try:
        async with asyncio.timeout(until_near()):
            await gate.acquire()
    except TimeoutError:
        yield False
        return
    try:
        yield not is_near()
    finally:
        gate.release()


def retry_seconds() -> float | None:
    """For how long background work may try again what a busy service refused: never negative. None without a deadline
    and for the request of a person, which have short budgets of their own."""
    deadline = _deadline.get()
    if deadline is None or not deadline.in_background:
        return None
    return max(0.0, remaining() - RETRY_SHARE * deadline.seconds)


def answer_seconds() -> float:
    """For how long background work may wait for an answer: as long as it may try again, afterwards half of what
    remains, so that it ends by itself. Infinite without a deadline and for the request of a person."""
    retried = retry_seconds()
    if retried is None:
        return math.inf
    return retried or max(0.0, remaining()) / 2


def in_background() -> bool:
    """Whether this is the work of a timer or a queue message, which lets requests of people go first."""
    deadline = _deadline.get()
    return deadline is not None and deadline.in_background


def is_for_person() -> bool:
    """Whether a person waits for this."""
    deadline = _deadline.get()
    return deadline is not None and not deadline.in_background


def outside() -> Context:
    """The context for a task that outlives the invocation that starts it: it has no deadline."""
    return Context()
