"""How many request units a worker spends on a container per second, once Cosmos DB has refused requests. Pure.

Without a refusal there is no limit. A refusal limits the worker to a share of what the container gave it in the last
second; each second without a refusal raises the limit again. So workers that share a container come to share what it
gives, without knowing of each other. Waiting before a request is cheaper than being refused after it.
"""

from __future__ import annotations

import math
from collections import deque

MEASURED_SECONDS = 1.0
KEPT_SHARE = 0.8
"""The share of the measured rate that is left after a refusal."""
MIN_GIVEN_SHARE = 0.75
"""A refusal does not count less than this share of the limit as given."""
RAISED_BY, RAISED_SHARE = 5.0, 0.05
"""By how much each second raises the limit: a constant, which makes workers more equal, and a share, which makes a
worker find out soon that it is alone."""
MIN_RATE = 10.0
LOWERED_EVERY_SECONDS = 1.0
"""The refusals of a second are one sign."""
SAVED_SECONDS = 0.25
"""An idle worker saves up no more than the units of this time, so that workers do not exceed the limit together."""
MIN_WAIT_SECONDS = 0.001
FIRST_ESTIMATE, NEWEST_SHARE = 10.0, 0.2
"""What a request probably costs: an average in which the newest request has this share."""


class Pace:
    """The pace of requests to one container. Times are of one clock, in seconds. `rate` is the limit in RU/s."""

    def __init__(self) -> None:
        self.rate = math.inf
        self._left = 0.0
        self._at = 0.0
        self._lowered_at = -math.inf
        self._estimate = FIRST_ESTIMATE
        self._spent: deque[tuple[float, float]] = deque()
        self._measured = 0.0

    def wait(self, now: float) -> float:
        """The time until the next request may be sent. The limit may change meanwhile: ask again then."""
        self._refill(now)
        return 0.0 if self.rate == math.inf or self._left > 0 else max(-self._left / self.rate, MIN_WAIT_SECONDS)

    def reserve(self) -> float:
        """The units that a request probably costs are spent; `release` gives them back when the request has ended."""
        reserved = 0.0 if self.rate == math.inf else self._estimate
        self._left -= reserved
        return reserved

    def release(self, reserved: float) -> None:
        self._left += reserved

    def spend(self, units: float, now: float) -> None:
        if self.rate < math.inf:
            self._left -= units
        self._estimate += NEWEST_SHARE * (units - self._estimate)
        self._spent.append((now, units))
        self._measured += units
        self._forget(now)

    def lower(self, now: float) -> None:
        """Cosmos DB has refused a request."""
        self._refill(now)
        self._forget(now)
        if now - self._lowered_at < LOWERED_EVERY_SECONDS:
            return
        self._lowered_at = now
        given = self._measured / MEASURED_SECONDS
        if self.rate < math.inf:
            # What was overspent is paid back meanwhile, when nothing is given: that says nothing of the container.
            given = min(self.rate, max(given, MIN_GIVEN_SHARE * self.rate))
        self.rate = max(MIN_RATE, KEPT_SHARE * given)
        self._left = min(self._left, 0.0)

    def _refill(self, now: float) -> None:
        """Adds what the time that has passed permits, and raises the limit."""
        passed, self._at = now - self._at, now
        if self.rate < math.inf:
            self._left = min(SAVED_SECONDS * self.rate, self._left + passed * self.rate)
            self.rate += passed * (RAISED_BY + RAISED_SHARE * self.rate)

    def _forget(self, now: float) -> None:
        while self._spent and self._spent[0][0] <= now - MEASURED_SECONDS:
            self._measured -= self._spent.popleft()[1]
