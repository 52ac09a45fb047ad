"""JSON from strangers: to Python values within bounds, free of what no store can hold."""

from __future__ import annotations

import json
import re
from typing import Any

from services.ingest.sources.unreadable import Unreadable

MAX_VALUES = 1_000_000
_LONE_SURROGATE = re.compile(r"\\[uU][dD][89a-fA-F]")


def load_json(body: bytes) -> Any:
    """The document; Unreadable("not_json") if it is none, or one that is made to cost memory."""
    if not body.strip():
        raise Unreadable("empty", "nothing in it")
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise Unreadable("not_json", "more values than can be read")
    try:
        text = body.decode(json.detect_encoding(body)).removeprefix("\ufeff")
        document = json.loads(text)
        if _LONE_SURROGATE.search(text):
            # Pairs have become one character by now; a half of one cannot be written as UTF-8.
            document = json.loads(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise Unreadable("not_json", "not well-formed JSON") from None
    return document
