"""What the app tells OpenTelemetry: spans of invocations and fetches, and metrics. The SDKs of Azure make
their own spans.

Without a backend every call here does nothing, and OpenTelemetry is not imported. The container sets the backend
(services/azure_monitor.py) if APPLICATIONINSIGHTS_CONNECTION_STRING is set.
The trace goes on over queues: a message that is sent has the field `traceparent`, which its function continues and
every other reader ignores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from models.errors import ChangedMeanwhile, Conflict, InvalidInput, NotAllowed, NotFound

if TYPE_CHECKING:
    from services.azure_monitor import OpenTelemetry

Attribute = str | int | float | bool
KindOfSpan = Literal["internal", "server", "client", "producer", "consumer"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with the prefix of all of ours. A gauge has its last value, a histogram the distribution of values.

    A figure that GET metrics has, too, has the same name here: with _ for dots, and _total behind a counter.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    about: str


REQUEST_UNITS: Final = Metric("toolpulse.store.request_units", "counter", "{RU}", "Request units used, by container")
REQUESTS: Final = Metric("toolpulse.store.requests", "counter", "{request}", "Requests, by container")
RETRIES: Final = Metric("toolpulse.store.retries", "counter", "{retry}", "Requests tried again, by container")
THROTTLES: Final = Metric("toolpulse.store.throttles", "counter", "{response}", "Responses 429, by container")
WAITED: Final = Metric("toolpulse.store.wait_seconds", "counter", "s", "Waits for a busy store, by container")
QUEUE_MESSAGES: Final = Metric("toolpulse.queue.messages", "gauge", "{message}", "Messages waiting, by queue")
QUEUE_POISON: Final = Metric("toolpulse.queue.poison", "gauge", "{message}", "Poison messages, by queue")
PENDING: Final = Metric("toolpulse.pending_articles", "gauge", "{article}", "Articles whose analysis is due")
FAILED: Final = Metric("toolpulse.failed_articles", "gauge", "{article}", "Articles whose analysis was given up")
SENT: Final = Metric("toolpulse.queue.sent", "counter", "{message}", "Messages sent, by queue")
REFRESH_AGE: Final = Metric("toolpulse.refresh.age", "gauge", "s", "Time since the last refresh of all tools ended")
CACHE_READS: Final = Metric("toolpulse.cache.reads", "counter", "{read}", "Reads of aggregates, by result")
CACHE_ERRORS: Final = Metric("toolpulse.cache.errors", "counter", "{error}", "Reads and refreshes of tools that failed")
FETCHES: Final = Metric("toolpulse.feed_fetches", "counter", "{fetch}", "Fetches of feeds, by outcome")
FETCH_DURATION: Final = Metric("toolpulse.feed_fetch_duration_seconds", "histogram", "s", "Time to fetch a feed")
HOSTS_COOLING: Final = Metric("toolpulse.cooling_hosts", "gauge", "{host}", "Failing hosts, whose feeds are left out")
ARTICLES: Final = Metric("toolpulse.articles_inserted", "counter", "{article}", "New articles stored")
INVOCATIONS: Final = Metric("toolpulse.invocations", "histogram", "ms", "Time of invocations, by function and outcome")

METRICS: Final = tuple(each for each in list(vars().values()) if isinstance(each, Metric))
PREFIX: Final = "toolpulse."
ANSWERS: Final = (ChangedMeanwhile, Conflict, InvalidInput, NotAllowed, NotFound)
"""Errors that are answers to a call, not failures of a span."""
_MESSAGE_FIELD: Final = "traceparent"


class Span:
    """A span. This one records nothing."""

    def set(self, name: str, value: Attribute) -> None:
        """Sets an attribute. No payloads, keys, query strings or texts of articles."""

    def fail(self, error: str) -> None:
        """Marks the span as failed, with the kind of the error."""


_NOTHING: Final = nullcontext(Span())
_backend: OpenTelemetry | None = None


def begin(backend: OpenTelemetry) -> None:
    global _backend  # noqa: PLW0603
    _backend = backend


def end() -> None:
    global _backend  # noqa: PLW0603
    _backend = None


def is_on() -> bool:
    return _backend is not None


def span(
    name: str,
    *,
    kind: KindOfSpan = "internal",
    parent: str | None = None,
    link: str | None = None,
    attributes: Mapping[str, Attribute] | None = None,
) -> AbstractContextManager[Span]:
    """A span around a block. An exception that leaves the block marks it as failed."""
    if _backend is None:
        return _NOTHING
    return _backend.span(name, kind, parent, link, attributes or {})


def record(metric: Metric, value: float = 1, **attributes: Attribute) -> None:
    """Adds to a counter, sets a gauge, or puts a value into a histogram."""
    if _backend is not None:
        _backend.record(metric, value, attributes)


def with_trace(message: str) -> str:
    """The message, a JSON object, with the current trace; unchanged without one."""
    traceparent = None if _backend is None else _backend.traceparent()
    if traceparent is None or not (message.startswith("{") and message.endswith("}")):
        return message
    separator = "" if message[1:-1].strip() == "" else ","
    return f'{message[:-1]}{separator}"{_MESSAGE_FIELD}":"{traceparent}"}}'


def trace_of(message: str) -> str | None:
    """The trace that `with_trace` wrote into a message."""
    if _MESSAGE_FIELD not in message:
        return None
    try:
        found = json.loads(message).get(_MESSAGE_FIELD)
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None
