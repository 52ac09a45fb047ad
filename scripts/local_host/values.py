"""Arguments and results of functions in the forms of the worker and the host, HTTP replies among them. Pure.

The worker's conversions are those of azure.functions itself. This module has the host's, before and after them.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import azure.functions as func
from azure.functions import meta
from azure.functions.meta import Datum

from .queues import MESSAGE_BYTES, Message


def converter(binding: str | None) -> Any:
    """The library's own conversion for a type of binding."""
    registry: Any = meta.get_binding_registry
    return registry().get(binding)


class Refusal(Exception):
    """The host cannot use the function's result: the invocation has failed."""


class TraceContext:
    """As in the worker."""

    def __init__(self, trace_parent: str) -> None:
        self.trace_parent = self.Traceparent = trace_parent
        self.trace_state = self.Tracestate = ""
        self.attributes: dict[str, str] = {}
        self.Attributes = self.attributes


class RetryContext:
    """As in the worker; this host has no retry policies."""

    retry_count = 0
    max_retry_count = 0
    exception = None


class Context(func.Context):
    """The value of a parameter that is named context."""

    def __init__(self, invocation_id: str, name: str, directory: str, parent: str, local: threading.local) -> None:
        self._invocation_id = invocation_id
        self._name = name
        self._directory = directory
        self._trace = TraceContext(parent)
        self._local = local

    @property
    def invocation_id(self) -> str:
        return self._invocation_id

    @property
    def function_name(self) -> str:
        return self._name

    @property
    def function_directory(self) -> str:
        return self._directory

    @property
    def thread_local_storage(self) -> Any:
        return self._local

    @property
    def trace_context(self) -> Any:
        return self._trace

    @property
    def retry_context(self) -> Any:
        return RetryContext()


class Out(func.Out[Any]):
    """A queue output's parameter."""

    def __init__(self) -> None:
        self._value: Any = None

    def set(self, val: Any) -> None:
        self._value = val

    def get(self) -> Any:
        return self._value


@functools.lru_cache(500)
def query_parameters(query: str) -> Mapping[str, str]:
    """Names without regard to case; repeated ones are joined by commas, empty ones left out."""
    found: dict[str, tuple[str, str]] = {}
    for name, value in parse_qsl(query):
        first, before = found.get(name.lower(), (name, ""))
        found[name.lower()] = first, f"{before},{value}" if before else value
    return dict(found.values())


def timer_request(past_due: bool, status: dict[str, str] | None) -> Any:
    """The TimerRequest, through the library's own converter."""
    content = {"Schedule": {"AdjustForDST": True}, "ScheduleStatus": status, "IsPastDue": past_due}
    return converter("timerTrigger").decode(Datum(json.dumps(content), "json"), trigger_metadata={})


def queue_message(message: Message, text: str) -> Any:
    """The QueueMessage, through the library's own converter."""
    metadata = {
        "Id": Datum(message.id, "string"),
        "DequeueCount": Datum(str(message.dequeue_count), "json"),
        "PopReceipt": Datum(message.receipt, "string"),
        "InsertionTime": _moment(message.inserted),
        "ExpirationTime": _moment(message.expires),
        "NextVisibleTime": _moment(message.visible),
    }
    return converter("queueTrigger").decode(Datum(text, "string"), trigger_metadata=metadata)


def _moment(seconds: float) -> Datum:
    return Datum(json.dumps(datetime.fromtimestamp(seconds, UTC).isoformat()), "json")


def decoded(text: str, is_base64: bool) -> str | None:
    """A message's text as it goes to a function; None if it cannot be read."""
    if not is_base64:
        return text
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def encoded(text: str, queue: str, is_base64: bool) -> str:
    """A message's text as it is stored. Raises Refusal if it is too long."""
    stored = base64.b64encode(text.encode()).decode() if is_base64 else text
    if len(stored.encode()) > MESSAGE_BYTES:
        size, limit = len(text.encode()), MESSAGE_BYTES * 3 // 4 if is_base64 else MESSAGE_BYTES
        raise Refusal(f"a message of {size} bytes for {queue} is over Storage's limit of {limit}")
    return stored


def queue_texts(value: Any, is_list: bool) -> list[str]:
    """The messages that the value of one queue output makes. Raises Refusal."""
    if value is None:
        return []
    if is_list and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    # Azure reads a lone text in braces or brackets as JSON, and writes it anew.
    if not isinstance(value, str) or (value[:1], value[-1:]) in (("{", "}"), ("[", "]")):
        raise Refusal("a queue output of this host is a text that is not JSON, or a list of texts")
    return [value]


_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class Reply:
    """A response as it leaves the host."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


@functools.lru_cache(500)
def _can_be_sent(name: str, text: str) -> bool:
    return bool(_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(text))


def make_reply(value: Any, method: str) -> Reply:
    """Raises Refusal for a response that the real server would not send, and for any other value."""
    if not isinstance(value, func.HttpResponse):
        raise Refusal(f"the function returned a {type(value).__name__}: it must be an HttpResponse")
    fields = converter("http").encode(value, expected_type=None).value
    headers = [(name, str(datum.value)) for name, datum in fields["headers"].items()]
    headers = [(name, text) for name, text in headers if name.lower() != "transfer-encoding"]
    if fields["cookies"]:
        raise Refusal("this host sends no cookies")
    for name, text in headers:
        if not _can_be_sent(name, text):
            raise Refusal(f"the header {name!r} has a character that is not allowed: {text!r}")
    # The real host reads a status that is no number as 200.
    status = int(value.status_code) if re.fullmatch(r"[+-]?[0-9]+", str(value.status_code)) else 200
    body = value.get_body()
    if body and status in (204, 205, 304) and method != "HEAD":
        raise Refusal(f"a response with status {status} has no body")
    return Reply(status, headers, body)
