"""Who may ask a host now: at most a few at once, and nobody while it keeps failing. Decides; does not connect.

It lives in one process and only saves time there: what a feed must remember of failures is in its document.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

MOST_FAILING = 10_000
LONGEST_COOLDOWN_SECONDS = 600.0


@dataclass(slots=True)
class _Failing:
    failures: int = 0
    openings: int = 0
    open_until: float | None = None
    probing: bool = False


class Breaker:
    """Per host: after `threshold` failures in a row nobody asks for a while, then one probe decides.

    The while doubles with every probe that fails. Times are seconds of any one clock, handed in.
    """

    def __init__(self, threshold: int, cooldown_seconds: float) -> None:
        self._threshold = threshold
        self._cooldown = cooldown_seconds
        self._failing: dict[str, _Failing] = {}

    def admit(self, host: str, now: float) -> float | None:
        """None if it may be asked, else in how many seconds to try again. Whoever is admitted must report back."""
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
        """`at_least_seconds`: how long the host itself asked to be left alone."""
        failing = self._failing.get(host)
        if failing is None:
            while len(self._failing) >= MOST_FAILING:
                del self._failing[next(iter(self._failing))]
            failing = self._failing[host] = _Failing()
        failing.failures += 1
        if failing.probing or (failing.failures >= self._threshold and failing.open_until is None):
            pause = max(self._cooldown * 2**failing.openings, at_least_seconds)
            failing.open_until = now + min(pause, LONGEST_COOLDOWN_SECONDS)
            failing.openings = min(failing.openings + 1, 10)
            failing.probing = False

    def abandoned(self, host: str) -> None:
        """Nothing was learned: the fetch was cancelled. The next one may probe."""
        if failing := self._failing.get(host):
            failing.probing = False


@dataclass(slots=True)
class _Turns:
    semaphore: asyncio.Semaphore
    users: int = field(default=0)


class Turns:
    """At most `overall` at once, and `per_host` to one host. A host's queue takes no place from other hosts'.

    Nobody owes politeness to no host (None): only the overall limit holds there.
    """

    def __init__(self, overall: int, per_host: int) -> None:
        self._overall = asyncio.Semaphore(overall)
        self._per_host = per_host
        self._hosts: dict[str, _Turns] = {}

    @asynccontextmanager
    async def turn(self, host: str | None) -> AsyncIterator[None]:
        if host is None:
            async with self._overall:
                yield
            return
        turns = self._hosts.get(host)
        if turns is None:
            turns = self._hosts[host] = _Turns(asyncio.Semaphore(self._per_host))
        turns.users += 1
        try:
            async with turns.semaphore, self._overall:
                yield
        finally:
            turns.users -= 1
            if turns.users == 0:
                del self._hosts[host]
