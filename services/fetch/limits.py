"""Limits of one process: requests in flight, hosts that keep failing, bytes of bodies. Decides; does not connect.

The limits save time and memory only. State that must survive the process, such as a feed's backoff, is in the feed's
stored document.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

MOST_FAILING_HOSTS = 10_000
LONGEST_COOLDOWN_SECONDS = 600.0

MOST_BODY_BYTES = 64_000_000
FREE_BYTES = 256 * 1024
"""The bytes of each body that do not count. Smaller bodies never wait: the number of fetches limits them."""
STEP_BYTES = 1024 * 1024

MOST_PARSED_BYTES = 1_500_000
LEAST_PARSED_BYTES = 64_000
"""A smaller body counts as so many bytes, since the other work for a feed takes memory too."""
BATCH_SHARE = 0.75
BATCH_SECONDS = 0.25
"""A body that must wait does so until BATCH_SHARE of the budget is free, but at most BATCH_SECONDS, in case one feed is
slow. So feeds are parsed and written together, which takes a tenth less time than one after another."""


@dataclass(slots=True)
class _FailingHost:
    failures: int = 0
    openings: int = 0
    open_until: float | None = None
    probing: bool = False


class Breaker:
    """A circuit breaker per host: after `threshold` failures in a row it is open for a while, then one probe decides.

    The cooldown doubles with every probe that fails. Times are seconds, all of the same clock.
    """

    def __init__(self, threshold: int, cooldown_seconds: float) -> None:
        self._threshold = threshold
        self._cooldown = cooldown_seconds
        self._failing: dict[str, _FailingHost] = {}

    def admit(self, host: str, now: float) -> float | None:
        """None for a request that may be sent, else the seconds to wait. A request that may be sent must be followed by
        `succeeded`, `failed` or `abandoned`."""
        failing = self._failing.get(host)
        if failing is None or failing.open_until is None:
            return None
        if now < failing.open_until:
            return failing.open_until - now
        if failing.probing:
            return self._cooldown
        failing.probing = True
        return None

    def succeeded(self, host: str) -> None:
        self._failing.pop(host, None)

    def failed(self, host: str, now: float, at_least_seconds: float = 0.0) -> None:
        """`at_least_seconds` is the host's own Retry-After."""
        failing = self._failing.get(host)
        if failing is None:
            if len(self._failing) >= MOST_FAILING_HOSTS:
                del self._failing[next(iter(self._failing))]
            failing = self._failing[host] = _FailingHost()
        failing.failures += 1
        if failing.probing or (failing.failures >= self._threshold and failing.open_until is None):
            pause = max(self._cooldown * 2**failing.openings, at_least_seconds)
            failing.open_until = now + min(pause, LONGEST_COOLDOWN_SECONDS)
            failing.openings = min(failing.openings + 1, 10)
            failing.probing = False

    def abandoned(self, host: str) -> None:
        """The request showed nothing about the host, for example because it was cancelled. The next one may probe."""
        if failing := self._failing.get(host):
            failing.probing = False


@dataclass(slots=True)
class _Host:
    slots: asyncio.Semaphore
    requests: int = 0


class HostLimits:
    """At most `overall` requests at once, and `per_host` to one host. Requests that wait for a host do not count in the
    overall limit."""

    def __init__(self, overall: int, per_host: int) -> None:
        self._overall = asyncio.Semaphore(overall)
        self._per_host = per_host
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def slot(self, name: str | None) -> AsyncIterator[None]:
        """A slot for one request to the host `name`. For None, only the overall limit counts."""
        if name is None:
            async with self._overall:
                yield
            return
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host(asyncio.Semaphore(self._per_host))
        host.requests += 1
        try:
            async with host.slots, self._overall:
                yield
        finally:
            host.requests -= 1
            if not host.requests:
                del self._hosts[name]


class BodyBudget:
    """The bytes of all bodies in memory, each from its first byte until it is released.

    A body reserves bytes in steps, and waits while other bodies have reserved the whole budget. The body that began
    first never waits, so that bodies cannot wait for each other in a circle; it exceeds the budget by at most the size
    limit of the fetcher.
    """

    def __init__(self, most_bytes: int = MOST_BODY_BYTES) -> None:
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

    First come, first served. A body larger than the budget is parsed alone.
    """

    def __init__(self, most_bytes: int = MOST_PARSED_BYTES, batch_seconds: float = BATCH_SECONDS) -> None:
        self._most = self._free = most_bytes
        self._batch_seconds = batch_seconds
        self._first = asyncio.Lock()
        self._released = asyncio.Event()

    @asynccontextmanager
    async def reserve(self, body_bytes: int) -> AsyncIterator[None]:
        """Waits until a body of that size may be parsed."""
        reserved = min(max(body_bytes, LEAST_PARSED_BYTES), self._most)
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
