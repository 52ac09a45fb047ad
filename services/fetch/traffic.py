"""Counts the requests that work sends to each host, for the caller that asked for the work.

`counted` sets a context variable, which the tasks within inherit: a poll sends several requests from several places,
and all of them belong to its feed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Traffic = dict[str, Counter[str]]
"""By host, as `models.feed.host_of_address` names it, the counters of models/host.py."""

RobotsDecision = Literal["allowed", "disallowed", "unreachable"]

_counted: ContextVar[Traffic | None] = ContextVar("traffic", default=None)


@contextmanager
def counted() -> Iterator[Traffic]:
    """What requests within this context cost, by host. Contexts do not nest: the inner one counts alone."""
    traffic: Traffic = {}
    token = _counted.set(traffic)
    try:
        yield traffic
    finally:
        _counted.reset(token)


def add(host: str, **amounts: int) -> None:
    """Adds to the counters of the host, if anybody counts."""
    traffic = _counted.get()
    if traffic is not None:
        traffic.setdefault(host, Counter()).update({name: number for name, number in amounts.items() if number})


def add_request(host: str, status_code: int | None, received_bytes: int = 0) -> None:
    """Counts a request that was sent. `status_code` is None without a usable response."""
    add(
        host,
        requests=1,
        bytes=received_bytes,
        not_modified=int(status_code == 304),
        rate_limited=int(status_code == 429),
        failed=int(status_code is None or status_code >= 400),
    )


def add_decision(host: str, decision: RobotsDecision) -> None:
    """Counts what robots.txt of the host said about one page."""
    add(host, **{f"robots_{decision}": 1})
