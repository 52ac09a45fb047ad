"""An HTTP function's return value as a response, by the rules of the host's HTTP binding. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from http.cookies import Morsel
from typing import Any
from urllib.parse import quote

import azure.functions as func

from scripts.host.values import Refusal, converter, net_text

_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_EXPIRES = "%a, %d %b %Y %H:%M:%S GMT"


@dataclass(frozen=True, slots=True)
class Reply:
    """A response as it leaves the host."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def make_reply(value: Any, method: str) -> Reply:
    """Raises Refusal for what the real server would not send, and for what is no response (None too)."""
    if value is None:
        raise Refusal("the function returned None: an HTTP function must return a response")
    if isinstance(value, str):
        return _from_text(value)
    if not isinstance(value, func.HttpResponse):
        raise Refusal(f"the function returned a {type(value).__name__}: it must be an HttpResponse or a str")
    fields = converter("http").encode(value, expected_type=None).value
    headers = [(name, str(datum.value)) for name, datum in fields["headers"].items()]
    headers = [(name, text) for name, text in headers if name.lower() != "transfer-encoding"]
    for cookie in fields["cookies"] or ():
        headers += [("set-cookie", _cookie(morsel)) for morsel in cookie.values()]
    for name, text in headers:
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(text):
            raise Refusal(f"the header {name!r} has a character that is not allowed: {text!r}")
    # The real host reads a status that is no number as 200.
    status = int(value.status_code) if re.fullmatch(r"[+-]?[0-9]+", str(value.status_code)) else 200
    body = value.get_body()
    if body and status in (204, 205, 304) and method != "HEAD":
        raise Refusal(f"a response with status {status} has no body")
    return Reply(status, headers, body)


def _from_text(text: str) -> Reply:
    """Text that is JSON is read as JSON, and an object with a body as a whole response."""
    plain = [("content-type", "text/plain; charset=utf-8")]
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, dict):
        lower = {name.lower(): each for name, each in value.items()}
        if "body" in lower:
            headers = [(name, str(each)) for name, each in (lower.get("headers") or {}).items()]
            status = int(lower.get("statuscode", lower.get("status", 200)))
            return Reply(status, headers or plain, net_text(lower["body"]).encode())
    return Reply(200, plain, net_text(value).encode())


def _cookie(morsel: Morsel[str]) -> str:
    """A Set-Cookie header in ASP.NET Core's form, which percent-encodes the value."""
    parts = [f"{morsel.key}={quote(morsel.value, safe='-._~')}"]
    if morsel["expires"]:
        moment = datetime.strptime(morsel["expires"], _EXPIRES).replace(tzinfo=UTC)
        parts.append(f"expires={moment:{_EXPIRES}}")
    if morsel["max-age"]:
        parts.append(f"max-age={int(float(morsel['max-age']))}")
    parts += [f"{name}={morsel[name]}" for name in ("domain", "path") if morsel[name]]
    if morsel["secure"]:
        parts.append("secure")
    if morsel["samesite"].lower() in ("lax", "strict", "none"):
        parts.append(f"samesite={morsel['samesite'].lower()}")
    if morsel["httponly"]:
        parts.append("httponly")
    return "; ".join(parts)
