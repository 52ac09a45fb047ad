"""The records of an export as CSV (RFC 4180), safe to open in a spreadsheet. Pure.

A text that a spreadsheet would take for a formula gets an apostrophe before it; numbers stay as they are. Lists and
objects are JSON. The columns of a layer are the fields of its records, always in the same order.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from models.article import Article
from models.mention import SentimentScore
from models.observation import Observation
from models.story import Story
from services.operations.export import Layer

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_COMMON = ("entity_type", "schema_version", "created_at", "updated_at", "ttl_timestamp")
_REMOVAL = ("removed", "removed_at")
_NEVER_SHOWN: Mapping[Layer, frozenset[str]] = {
    "canonical": frozenset(
        {
            *("tool_ids_ever_detected", "muted_tool_ids", "has_further_sources", "split_links", "other_words"),
            "words",
        }
    ),
    "raw": frozenset({"article_timestamp", "deleted_at"}),
    "mentions": frozenset({"removal_counted"}),
    "stories": frozenset({"words"}),
}


def _columns(layer: Layer, fields: Iterable[str], first: Sequence[str]) -> tuple[str, ...]:
    own = [each for each in fields if each not in _NEVER_SHOWN[layer]]
    return tuple(dict.fromkeys((*first, *_REMOVAL, *own, *_COMMON)))


COLUMNS: Mapping[Layer, tuple[str, ...]] = {
    "canonical": _columns("canonical", Article.model_fields, ("source_id",)),
    "raw": _columns("raw", Observation.model_fields, ("source_id", "source", "observed_day")),
    "mentions": _columns("mentions", SentimentScore.model_fields, ("tool_id", "source_id")),
    "stories": _columns("stories", Story.model_fields, ("event_id",)),
}


def csv_lines(layer: Layer, items: Iterable[Mapping[str, Any]], *, with_header: bool) -> str:
    """The records, each ended by CR LF; before them the names of the columns, if they are wanted."""
    text = io.StringIO()
    writer = csv.writer(text)
    if with_header:
        writer.writerow(COLUMNS[layer])
    for item in items:
        writer.writerow([cell(item.get(name)) for name in COLUMNS[layer]])
    return text.getvalue()


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    if isinstance(value, int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
