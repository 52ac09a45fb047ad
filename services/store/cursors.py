"""The port's own cursors: where a page ended, as text that fits in a URL.

A cursor holds the sort values of the last document and a fingerprint of the query that it belongs to. It holds nothing
of the store, so it survives restarts and concurrent queries, and one store reads what the other wrote.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from models.errors import InvalidInput

MAXIMUM_LENGTH = 16_384

SortValue = str | int | float


def fingerprint(parts: Sequence[Any]) -> str:
    """Tells queries apart; `parts` is whatever JSON holds."""
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def encode(query: str, values: Sequence[SortValue]) -> str:
    text = json.dumps([query, *values], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(query: str, cursor: str, numeric: Sequence[bool]) -> tuple[SortValue, ...]:
    """The sort values, one for each of `numeric`, which says whether it is a number."""
    refused = InvalidInput("cursor", "must be the `next` of a page of the same query")
    if not isinstance(cursor, str) or len(cursor) > MAXIMUM_LENGTH:
        raise refused
    try:
        found = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise refused from None
    if not isinstance(found, list) or len(found) != len(numeric) + 1 or found[0] != query:
        raise refused
    values = found[1:]
    for value, is_number in zip(values, numeric, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float if is_number else str):
            raise refused
    return tuple(values)
