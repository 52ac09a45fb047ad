"""JSON from strangers: to Python values within bounds, free of what no store can hold."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from services.parse.unreadable import Unreadable

MAX_VALUES = 1_000_000
_STRAY = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}
_LONE_SURROGATE = re.compile(r"\\[uU][dD][89a-fA-F]")


def load_json(body: bytes, warnings: Counter[str]) -> Any:
    """The document; Unreadable("not_json") if it is none, or one that is made to cost memory.

    Bytes that are no UTF-8 are taken for what they are in Windows-1252; that this had to be done is counted.
    """
    if not body.strip():
        raise Unreadable("empty", "nothing in it")
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise Unreadable("not_json", "more values than can be read")
    try:
        text = _decoded(body, warnings).removeprefix("\ufeff")
        document = json.loads(text)
        if _LONE_SURROGATE.search(text):
            # Pairs have become one character by now; a half of one cannot be written as UTF-8.
            document = json.loads(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise Unreadable("not_json", "not well-formed JSON") from None
    return document


def _decoded(body: bytes, warnings: Counter[str]) -> str:
    encoding = json.detect_encoding(body)
    try:
        return body.decode(encoding)
    except UnicodeDecodeError:
        warnings["encoding_guessed"] += 1
    if not encoding.startswith("utf-8"):
        return body.decode(encoding, "replace")
    return body.decode("utf-8", "surrogateescape").translate(_STRAY)


def text_of(fields: Mapping[str, Any], name: str) -> str:
    """A field as text; some ids are numbers."""
    value = fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def texts_of(fields: Mapping[str, Any], name: str) -> list[str]:
    """The texts in a list."""
    value = fields.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
