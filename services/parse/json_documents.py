"""Untrusted JSON, within limits, and JSON Feed 1.0 and 1.1 (https://www.jsonfeed.org/version/1.1/)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from services.parse.collected import Collected, Unreadable, as_html
from services.parse.dates import first_date
from services.parse.urls import resolved

MAX_VALUES = 1_000_000
_WINDOWS_1252 = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}
"""The characters of Windows-1252, by the surrogates that stand for bytes that are not UTF-8."""
_LONE_SURROGATE = re.compile(r"\\[uU][dD][89a-fA-F]")


def read_json_feed(body: bytes, base: str) -> Collected:
    """Raises Unreadable for a body that is not JSON, or JSON of another kind."""
    collected = Collected()
    document = load_json(body, collected.warnings)
    version = text_of(document, "version") if isinstance(document, dict) else ""
    if "jsonfeed.org/version/" not in version:
        raise Unreadable("not_a_feed", "JSON, but no JSON Feed")
    collected.version = "json" + version.rpartition("/")[2].replace(".", "")[:4]
    collected.title, collected.link = text_of(document, "title"), text_of(document, "home_page_url")
    collected.language = text_of(document, "language")
    items = document.get("items")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            _collect(item, base, collected)
        else:
            collected.skipped["not_an_entry"] += 1
    return collected


def load_json(body: bytes, warnings: Counter[str]) -> Any:
    """The parsed JSON, without characters that no store can store. Raises Unreadable for a body that is not JSON, or
    that would take too much memory.

    Bytes that are not UTF-8 are read as Windows-1252, and counted as a warning.
    """
    if not body.strip():
        raise Unreadable("empty", "the body is empty")
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise Unreadable("not_json", "more values than can be read")
    try:
        text = _decoded(body, warnings).removeprefix("\ufeff")
        document = json.loads(text)
        if _LONE_SURROGATE.search(text):
            # Pairs have become one character by now; half a pair cannot be written as UTF-8.
            document = json.loads(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise Unreadable("not_json", "not well-formed JSON") from None
    return document


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


def _collect(item: Mapping[str, Any], base: str, collected: Collected) -> None:
    article_id = text_of(item, "id")
    permalink = article_id if article_id.startswith(("http://", "https://")) else ""
    link = text_of(item, "url") or text_of(item, "external_url") or permalink
    dates = (text_of(item, "date_published"), text_of(item, "date_modified"))
    summary = as_html(text_of(item, "summary"), is_html=False)
    content = text_of(item, "content_html") or as_html(text_of(item, "content_text"), is_html=False)
    collected.add(
        title=text_of(item, "title"),
        title_is_html=False,
        link=resolved(base, link) if link else "",
        article_id=article_id,
        published=first_date(*dates),
        dates=dates,
        summary=summary or content,
        content=content,
        tags=texts_of(item, "tags"),
        language=text_of(item, "language"),
    )


def _decoded(body: bytes, warnings: Counter[str]) -> str:
    encoding = json.detect_encoding(body)
    try:
        return body.decode(encoding)
    except UnicodeDecodeError:
        warnings["encoding_guessed"] += 1
    return body.decode("utf-8", "surrogateescape").translate(_WINDOWS_1252)
