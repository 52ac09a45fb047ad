"""How a worker waits before it writes again what another worker wrote meanwhile. Pure.

In each round one of the writers succeeds. Those that failed at the same moment must not try again at the same moment,
so each waits for a random time (full jitter) out of a span that doubles with each round.
"""

from __future__ import annotations

ROUNDS = 30
"""Tries to write an article that other workers write too."""
FIRST_SECONDS = 0.02
MOST_SECONDS = 1.0


def wait_seconds(round_no: int, chance: float) -> float:
    """How long to wait after the failed round, counted from 0. `chance` is random, from 0 to 1."""
    return float(min(MOST_SECONDS, FIRST_SECONDS * 2**round_no)) * chance
