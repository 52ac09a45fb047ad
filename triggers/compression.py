"""Responses in gzip for clients that accept it: a list of 500 tools is a tenth as long."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

import azure.functions as func

P = ParamSpec("P")

WORTH_BYTES = 1400
"""What fits into one packet anyway is left as it is."""
LEVEL = 5


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
