"""Decodes requests, encodes responses, and turns every error into one shape.

Errors are RFC 9457 problem documents that name the field and what is allowed. An unexpected error is an opaque 500 with
a correlation id, under which the log has the traceback. Services know nothing of HTTP, and handlers nothing of errors.
"""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
import logging
import math
import re
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar
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
from models.request import Request
from models.resources.base import Resource, Shape
from models.run import JobRun
from services.logs import log_unreadable
from services.ports import Listed

P = ParamSpec("P")
Item = TypeVar("Item")
Sent = TypeVar("Sent", bound=Request)
Handler = Callable[P, Awaitable[func.HttpResponse]]

MAX_BODY_BYTES = 1024 * 1024
MAX_URL_CHARACTERS = 8 * 1024
WORTH_BYTES = 1400
"""What fits into one packet anyway is left as it is."""
LEVEL = 5

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
    if not req.get_body() or (given := _media_type(req)) in accepted:
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


def compressed(handler: Callable[P, Awaitable[func.HttpResponse]]) -> Callable[P, Awaitable[func.HttpResponse]]:
    """A response with an ETag stays as it is: the tag names these bytes."""

    @functools.wraps(handler)
    async def response(*args: P.args, **kwargs: P.kwargs) -> func.HttpResponse:
        req: Any = kwargs.get("req") or args[0]
        plain = await handler(*args, **kwargs)
        body = plain.get_body()
        if len(body) < WORTH_BYTES or "ETag" in plain.headers or "Content-Encoding" in plain.headers:
            return plain
        headers = {**plain.headers, "Vary": "Accept-Encoding"}
        if accepts_gzip(req.headers.get("Accept-Encoding", "")):
            body, headers["Content-Encoding"] = gzip.compress(body, LEVEL, mtime=0), "gzip"
        return func.HttpResponse(
            body, status_code=plain.status_code, headers=headers, mimetype=plain.mimetype, charset=plain.charset
        )

    return response


def accepts_gzip(header: str) -> bool:
    """Whether `Accept-Encoding` names gzip, and not with the weight 0."""
    for each in header.lower().split(","):
        name, _, weight = each.replace(" ", "").partition(";")
        if name in ("gzip", "*"):
            return weight not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def resources_response(page: Listed[Item], of: Callable[[Item], Resource], **more: Any) -> func.HttpResponse:
    """A page of what is stored as a list of resources, each made by `of`."""
    return list_response([of(item).shown() for item in page.items], page.next, page.unreadable, **more)


@dataclass(frozen=True, slots=True)
class SentChange:
    """The fields of a body that changes a resource. `is_resource`: the body is a resource that was sent back, since it
    has fields that cannot be changed."""

    fields: Mapping[str, Any]
    is_resource: bool

    def differing_from(self, present: Resource) -> dict[str, Any]:
        """The fields of a resource that was sent back which have another value than the present one. What was not
        touched is not checked and does nothing, as a field that is given alone may do: the same `url` again, say."""
        shown = present.shown()
        return {name: value for name, value in self.fields.items() if name not in shown or value != shown[name]}


def sent(req: func.HttpRequest, body: type[Sent]) -> Sent:
    """The body of the request. An empty body is an empty object. Raises InvalidInput."""
    return body.checked(json_object(req))


def sent_change(req: func.HttpRequest, change: type[Request]) -> SentChange:
    """The fields to change. Those that a resource has and that cannot be changed are left out. Raises InvalidInput for
    a field that it does not have, and for a body with nothing that can be changed."""
    body = json_object(req)
    can = f"what can be changed: {', '.join(change.model_fields)}"
    others = change.CHANGES.model_fields if change.CHANGES else {}
    for name in body:
        if name not in change.model_fields and name not in others:
            raise InvalidInput(name, f"no such field; {can}")
    fields = {name: value for name, value in body.items() if name in change.model_fields}
    if body and not fields:
        raise InvalidInput(", ".join(body), f"cannot be changed; {can}")
    return SentChange(fields, len(fields) < len(body))


def applied(named: Mapping[str, Any], refused: Sequence[Shape], runs: Sequence[JobRun]) -> func.HttpResponse:
    """What came of a list: its entries by what happened to them, and the runs that follow."""
    told = [each.shown() for each in refused]
    return json_response({**named, "refused": told, "runs": [run.run_id for run in runs]})


_FORMULA = re.compile(r'\A(?=[\t\r\n]| *[=+\-@])|(?<=[;\t\r\n])(?=[ "]*[=+\-@])')
"""Where a spreadsheet may begin a formula: at the start of a text, and after what may separate cells."""


def csv_text(names: Sequence[str], rows: Iterable[Mapping[str, Any]], *, with_header: bool) -> str:
    """These fields of the rows as CSV (RFC 4180), each row ended by CR LF.

    Every cell is quoted. What a spreadsheet would take for a formula gets an apostrophe before it, wherever the
    spreadsheet separates cells: by `;` in many languages, or by tabs. Lists and objects are JSON.
    """
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    if with_header:
        writer.writerow(names)
    writer.writerows([cell(row.get(name)) for name in names] for row in rows)
    return text.getvalue()


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _FORMULA.sub("'", text)
