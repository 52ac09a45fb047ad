"""Decodes requests, encodes responses, and turns every error into one shape.

Errors are RFC 9457 problem documents that name the field and what is allowed. An unexpected error is an opaque 500 with
a correlation id, under which the log has the traceback. Services know nothing of HTTP, and handlers nothing of errors.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, ParamSpec
from urllib.parse import urlsplit

import azure.functions as func

from models.errors import (
    ChangedMeanwhile,
    Conflict,
    InvalidInput,
    InvalidTransition,
    NotAllowed,
    NotFound,
    ToolpulseError,
    Unavailable,
    UnreadableDocument,
    WrongSettings,
)
from services.logs import log_unreadable
from services.ports import Listed

P = ParamSpec("P")
Handler = Callable[P, Awaitable[func.HttpResponse]]

MAX_BODY_BYTES = 1024 * 1024
MAX_URL_CHARACTERS = 8 * 1024

log = logging.getLogger("toolpulse.http")

_STATUS: dict[type[ToolpulseError], tuple[int, str]] = {
    InvalidInput: (400, "Invalid input"),
    NotAllowed: (401, "Not allowed"),
    NotFound: (404, "Not found"),
    Conflict: (409, "Conflict"),
    InvalidTransition: (409, "Not in this state"),
    ChangedMeanwhile: (412, "Changed meanwhile"),
    Unavailable: (503, "Unavailable"),
    WrongSettings: (503, "Not configured"),
}


def with_problem_responses(handler: Handler[P]) -> Handler[P]:
    """Turns an error of the handler into a problem document, and refuses a request that is too large.

    Goes below the trigger decorator: above it, it would never run.
    """

    @functools.wraps(handler)
    async def response(*args: P.args, **kwargs: P.kwargs) -> func.HttpResponse:
        try:
            req: Any = kwargs.get("req") or args[0]
            return _oversize(req) or await handler(*args, **kwargs)
        except ToolpulseError as error:
            return _known(error)
        except UnreadableDocument as error:
            log_unreadable(error)
            return problem(500, "Unreadable", str(error), kind=error.kind, key=error.key)
        except Exception:
            correlation_id = uuid.uuid4().hex
            log.exception("request_failed handler=%s correlation_id=%s", handler.__name__, correlation_id)
            return problem(
                500,
                "Internal error",
                "An unexpected error. The log has its traceback under this correlation id.",
                correlation_id=correlation_id,
            )

    return response


def _oversize(req: func.HttpRequest) -> func.HttpResponse | None:
    """The problem of a request with a too long URL or body. The Functions host limits headers itself, to 32 KB."""
    if len(req.url) > MAX_URL_CHARACTERS:
        return problem(414, "URL too long", f"url: at most {MAX_URL_CHARACTERS:,} characters, not {len(req.url):,}")
    if (size := len(req.get_body())) > MAX_BODY_BYTES:
        return problem(413, "Content too large", f"body: at most {MAX_BODY_BYTES:,} bytes, not {size:,}")
    return None


JSON = ("application/json",)
PROBLEM = "application/problem+json"
OPML = ("text/x-opml", "text/xml", "application/xml")
YAML = ("application/yaml", "application/x-yaml", "text/yaml")
FORM = "multipart/form-data"
FILE_FIELD = "file"


def wrong_media_type(req: func.HttpRequest, accepted: Sequence[str]) -> func.HttpResponse | None:
    """The problem of a body of another media type. A page of another site can send some types, such as text/plain,
    without asking; with those that are accepted, the browser asks first, and is refused."""
    given = _media_type(req)
    if given in accepted or not req.get_body():
        return None
    allowed = " or ".join(accepted)
    return problem(415, "Unsupported media type", f"Content-Type: must be {allowed}, not {given or 'absent'}")


def uploaded(req: func.HttpRequest) -> bytes:
    """The body, or the file in the field `file` of a form (multipart/form-data).

    A page of another site can send a form without asking. A browser says so in `Origin`: such a form is refused.
    """
    if _media_type(req) != FORM:
        return req.get_body()
    origin = req.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc.lower() != req.headers.get("Host", "").lower():
        raise InvalidInput("Origin", "a form of another site is refused; send the file as the body, as text/x-opml")
    contents: list[bytes] = [text.encode() for text in req.form.getlist(FILE_FIELD)]  # a file without a name
    others = [each for each in req.form if each != FILE_FIELD]
    for field, file in req.files.items(multi=True):  # none if the form cannot be read
        with closing(file):
            if field == FILE_FIELD:
                contents.append(file.read())
            else:
                others.append(field)
    if others:
        raise InvalidInput(others[0][:200], f"unknown: the only field is {FILE_FIELD}, a file")
    if len(contents) != 1:
        raise InvalidInput(FILE_FIELD, f"a form with one file in the field {FILE_FIELD}, not {len(contents)}")
    return contents[0]


def _media_type(req: func.HttpRequest) -> str:
    given: str = req.headers.get("Content-Type", "")
    return given.partition(";")[0].strip().lower()


def _known(error: ToolpulseError) -> func.HttpResponse:
    status, title = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), (500, "Internal error"))
    headers = {}
    extra = {}
    if isinstance(error, InvalidInput):
        extra = {"field": error.field, "allowed": error.allowed}
    if isinstance(error, Unavailable):
        headers["Retry-After"] = str(math.ceil(error.retry_after or 5))
        log.warning("request_unavailable error=%s", error)
    return problem(status, title, str(error), headers, **extra)


def problem(
    status: int, title: str, detail: str, headers: Mapping[str, str] | None = None, **extra: str
) -> func.HttpResponse:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **extra}
    return text_response(json.dumps(body, ensure_ascii=False), PROBLEM, headers, status)


def json_response(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> func.HttpResponse:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text_response(text, "application/json", headers, status)


def text_response(
    body: str | bytes, mimetype: str, headers: Mapping[str, str] | None = None, status: int = 200
) -> func.HttpResponse:
    return func.HttpResponse(
        body,
        status_code=status,
        headers={"Cache-Control": "no-store", **(headers or {})},
        mimetype=mimetype,
        charset="utf-8",
    )


def no_content() -> func.HttpResponse:
    return func.HttpResponse(status_code=204, headers={"Cache-Control": "no-store"})


def accepted(run_id: str, **more: Any) -> func.HttpResponse:
    """The response to a request whose work a run does. `Location` is the URL of the run's progress."""
    return json_response({"run_id": run_id, **more}, 202, {"Location": f"/api/v1/runs/{run_id}"})


def list_response(
    items: Sequence[Any], cursor: str | None, unreadable: Sequence[str] = (), **more: Any
) -> func.HttpResponse:
    """The one shape of every list."""
    return json_response({"items": list(items), "next": cursor, **left_out(unreadable), **more})


def lines_response(page: Listed[dict[str, Any]]) -> func.HttpResponse:
    """One page of labelled data as NDJSON."""
    headers = {"X-Next-Cursor": page.next} if page.next is not None else {}
    if page.unreadable:
        headers["X-Unreadable"] = str(len(page.unreadable))
    return text_response(json_lines(page.items), "application/x-ndjson", headers)


def json_lines(items: Sequence[Any]) -> str:
    """Each item as JSON in a line of its own."""
    return "".join(json.dumps(item, ensure_ascii=False, separators=(",", ":")) + "\n" for item in items)


def left_out(unreadable: Sequence[str]) -> dict[str, list[str]]:
    """`unreadable` names the documents that cannot be read; a list without any has no such field."""
    return {"unreadable": list(unreadable)} if unreadable else {}


def _number(text: str) -> float:
    """JSON has one kind of number: 5.0 is the whole number 5."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def json_object(req: func.HttpRequest) -> dict[str, Any]:
    """The JSON object in the body; an empty body is an empty object."""
    body = req.get_body()
    if not body.strip():
        return {}
    try:
        value = json.loads(body, parse_float=_number)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair cannot be encoded
    except (ValueError, RecursionError) as error:
        raise InvalidInput("body", f"a JSON object; this is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise InvalidInput("body", f"a JSON object, not {type(value).__name__}")
    return value
