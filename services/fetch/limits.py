"""Limits of one process: requests in flight, and bytes of bodies. Decides; does not connect."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakValueDictionary

from services import memory
from services.fetch.addresses import is_loopback

T = TypeVar("T")

POLITE_PER_HOST = 2
"""Requests to one host at a time, unless a setting gives another limit. Without that setting, requests to this machine
have no limit."""

MAX_BODY_BYTES = 16_000_000
FREE_BYTES = 64 * 1024
"""The bytes of each body that do not count. Smaller bodies never wait: the number of fetches limits them."""
STEP_BYTES = 256 * 1024

MAX_PARSED_BYTES = 1_500_000
MIN_PARSED_BYTES = 64_000
"""A smaller body counts as so many bytes, since the other work for a feed takes memory too."""
BATCH_SHARE = 0.75
BATCH_SECONDS = 0.25
"""A body that must wait does so until BATCH_SHARE of the budget is free, but at most BATCH_SECONDS, in case one feed is
slow. So feeds are parsed and written together, which takes a tenth less time than one after another."""


def most_at_once(host: str, per_host: int) -> int | None:
    """How many requests may be sent to the host at once, by the setting; None for any number."""
    return None if not per_host and is_loopback(host) else per_host or POLITE_PER_HOST


class HostLimits:
    """The limits of requests at once.

    At most `overall` requests at once, and `per_host` to one host; 0 stands for POLITE_PER_HOST, and for no limit to
    this machine itself. Requests that wait for a host do not count in the overall limit.
    """

    def __init__(self, overall: int, per_host: int) -> None:
        self._overall = asyncio.Semaphore(overall)
        self._per_host = per_host
        self._hosts = WeakValueDictionary[str, asyncio.Semaphore]()

    @asynccontextmanager
    async def slot(self, name: str) -> AsyncIterator[None]:
        """A slot for one request to the host with that key."""
        most = most_at_once(name, self._per_host)
        host = nullcontext() if most is None else self._hosts.setdefault(name, asyncio.Semaphore(most))
        async with host, self._overall:
            yield


class BodyBudget:
    """The bytes of all bodies in memory, each from its first byte until it is released.

    A body reserves bytes in steps, and waits while other bodies have reserved the whole budget. The body that began
    first never waits, so that bodies cannot wait for each other in a circle; it exceeds the budget by at most the size
    limit of the fetcher.
    """

    def __init__(self, most_bytes: int = MAX_BODY_BYTES) -> None:
        self.most_bytes = most_bytes
        self.reserved_bytes = 0
        self._oldest_first: dict[BodyReservation, None] = {}
        self._released = asyncio.Event()

    @contextmanager
    def reservation(self) -> Iterator[BodyReservation]:
        made = BodyReservation(self)
        try:
            yield made
        finally:
            made.release()

    async def reserve(self, reservation: BodyReservation, more: int) -> None:
        self._oldest_first.setdefault(reservation)
        while self.reserved_bytes + more > self.most_bytes and next(iter(self._oldest_first)) is not reservation:
            self._released.clear()
            await self._released.wait()
        self.reserved_bytes += more

    def release(self, reservation: BodyReservation, reserved: int) -> None:
        if reservation in self._oldest_first:
            del self._oldest_first[reservation]
            self.reserved_bytes -= reserved
            self._released.set()


class BodyReservation:
    """One body's share of the budget. The body may have `granted_bytes`; `grow` must be called for more.
    `waited_seconds` is the sum of the waits of all calls of `grow`."""

    __slots__ = ("_budget", "granted_bytes", "waited_seconds")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.granted_bytes = FREE_BYTES
        self.waited_seconds = 0.0

    async def grow(self, size: int) -> None:
        """Waits until the body may have that many bytes."""
        more = -(-(size - self.granted_bytes) // STEP_BYTES) * STEP_BYTES
        if more > 0:
            now = asyncio.get_running_loop().time
            started = now()
            await self._budget.reserve(self, more)
            self.waited_seconds += now() - started
            self.granted_bytes += more

    def release(self) -> None:
        """Releases the bytes of the body. The reservation can be used for another body."""
        self._budget.release(self, self.granted_bytes - FREE_BYTES)
        self.granted_bytes = FREE_BYTES


class ParsingBudget:
    """The bytes of bodies that are parsed and ingested at once. This work takes about twenty times the memory of the
    body.

    First come, first served. Bodies larger than the budget are parsed one at a time, beside the others.
    """

    def __init__(self, most_bytes: int = MAX_PARSED_BYTES, batch_seconds: float = BATCH_SECONDS) -> None:
        self._most = self._free = most_bytes
        self._batch_seconds = batch_seconds
        self._first = asyncio.Lock()
        self._large = asyncio.Lock()
        self._released = asyncio.Event()

    @asynccontextmanager
    async def reserve(self, body_bytes: int) -> AsyncIterator[None]:
        """Waits until a body of that size may be parsed."""
        if body_bytes > self._most:
            async with self._large:
                try:
                    yield
                finally:
                    memory.give_back_soon()
            return
        reserved = min(max(body_bytes, MIN_PARSED_BYTES), self._most)
        async with self._first:
            if self._free < reserved:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._batch_seconds):
                        await self._until_free(max(reserved, int(self._most * BATCH_SHARE)))
                await self._until_free(reserved)
            self._free -= reserved
        try:
            yield
        finally:
            self._free += reserved
            self._released.set()

    async def _until_free(self, wanted: int) -> None:
        while self._free < wanted:
            self._released.clear()
            await self._released.wait()


MAX_HOSTS = 10_000
THRESHOLD = 5
PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 600.0
ANSWERED_WITHIN_SECONDS = 300.0
"""After an answer of the host, requests without one are not failures of the host for so long: its other feeds must not
wait for the few that hang."""


@dataclass(frozen=True, slots=True)
class HostReport:
    """What requests have shown of a host since the last report: whether one `succeeded`, and the `failures` after the
    last success. `retry_after` is the longest Retry-After of these failures, in seconds."""

    succeeded: bool = False
    failures: int = 0
    reason: str = ""
    retry_after: float = 0.0


@dataclass(slots=True)
class _Host:
    """The failures of one host since its last answer."""

    answered_at: float = -math.inf
    failures: int = 0
    pause_until: float = 0.0


class Breaker:
    """The circuit breaker of hosts.

    After THRESHOLD failures in a row, requests to the host are refused for a pause. The first failure after the pause
    begins another. Times are seconds, all of the same clock.
    """

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}
        self._reports: dict[str, HostReport] = {}

    def pause(self, host: str, now: float) -> float | None:
        """The seconds until a request may be sent; None if it may be sent now."""
        known = self._hosts.get(host)
        return known.pause_until - now if known is not None and now < known.pause_until else None

    def succeeded(self, host: str, now: float) -> None:
        _remember(self._hosts, host, _Host(now))
        _remember(self._reports, host, HostReport(succeeded=True))

    def unanswered(self, host: str, now: float, reason: str) -> None:
        """A request without an answer, which may be the fault of its URL: a failure of the host, unless the host has
        answered another request within ANSWERED_WITHIN_SECONDS."""
        known = self._hosts.get(host)
        if known is None or now - known.answered_at >= ANSWERED_WITHIN_SECONDS:
            self.failed(host, now, reason)

    def failed(self, host: str, now: float, reason: str, retry_after: float = 0.0) -> None:
        """`retry_after` is the host's own Retry-After in seconds."""
        known = self._hosts.get(host) or _Host()
        known.failures += 1
        if known.failures >= THRESHOLD and now >= known.pause_until:
            known.pause_until = now + min(max(PAUSE_SECONDS, retry_after), LONGEST_PAUSE_SECONDS)
        _remember(self._hosts, host, known)
        before = self._reports.get(host, HostReport())
        wait = max(before.retry_after, retry_after)
        _remember(self._reports, host, HostReport(before.succeeded, before.failures + 1, reason, wait))

    def take_reports(self) -> dict[str, HostReport]:
        """The reports since the last call, by host."""
        taken, self._reports = self._reports, {}
        return taken


def _remember(known: dict[str, T], host: str, value: T) -> None:
    """Forgets the host that was noted longest ago, if there are too many."""
    known.pop(host, None)
    known[host] = value
    if len(known) > MAX_HOSTS:
        del known[next(iter(known))]
