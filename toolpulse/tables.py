"""Values as text: tables that fit the terminal, aligned columns for pipes, CSV, sparklines. Pure."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "  "
_NARROWEST = 12
NONE = "-"
"""What a table has for a share or a mean of nothing."""
_COUNTS = ("positive_count", "negative_count", "neutral_count")
_OF_MENTIONS = ("average_sentiment", "positive_percentage", "negative_percentage", "neutral_percentage")
_FORMULA = re.compile(r'\A(?=[\t\r\n]| *[=+\-@])|(?<=[;\t\r\n])(?=[ "]*[=+\-@])')
"""Where a spreadsheet may begin a formula: at the start of a text, and after what may separate cells."""

Row = Mapping[str, Any]


def value_at(row: Row, column: str) -> Any:
    """The value of a column, which may name a field within a field: `metrics.articles_stored`."""
    value: Any = row
    for name in column.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def cell_at(row: Row, column: str) -> str:
    """The value of a column for a person: the API has 0 for the mean of no mentions, which is none."""
    return NONE if column in _OF_MENTIONS and mentions_of(row) == 0 else cell(value_at(row, column))


def mentions_of(row: Row) -> int | None:
    """How many scored mentions the figures of a row are of; None if it does not say."""
    if all(isinstance(row.get(name), int) for name in _COUNTS):
        return sum(int(row[name]) for name in _COUNTS)
    found: list[int] = [row[name] for name in ("total_mentions", "mentions") if isinstance(row.get(name), int)]
    return found[0] if found else None


def average(figures: Row, form: str = "{}") -> str:
    """The average of some figures, in a sentence; some have null for none."""
    value = figures["average_sentiment"]
    return "none" if value is None or mentions_of(figures) == 0 else form.format(value)


def cell(value: Any) -> str:
    """A value for a person. Texts of others must not control the terminal."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < 1 else f"{value:,.2f}"
    if isinstance(value, list | tuple):
        simple = all(isinstance(each, str | int | float) for each in value)
        return ", ".join(cell(each) for each in value) if simple else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {cell(each)}" for name, each in value.items() if each is not None)
    return printable(" ".join(str(value).split()))


def printable(text: str) -> str:
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def heading(column: str) -> str:
    return column.rpartition(".")[2]


def aligned(rows: Sequence[Row], columns: Sequence[str], width: int | None = None) -> list[str]:
    """The table as lines, heads first. With a width, the rightmost columns that do not fit are left out, and the last
    that is left is cut."""
    texts = [[cell_at(row, column) for column in columns] for row in rows]
    heads = [heading(column) for column in columns]
    widths = [max(map(len, each)) for each in zip(heads, *texts, strict=True)]
    right = [_is_numeric(row, rows) for row in columns]
    if width is not None:
        widths = _fitted(widths, width)
    return [_line(line, widths, right) for line in (heads, ["-" * each for each in widths], *texts)]


def _is_numeric(column: str, rows: Sequence[Row]) -> bool:
    values = [value for row in rows if (value := value_at(row, column)) is not None]
    return bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _fitted(widths: Sequence[int], width: int) -> list[int]:
    """As many columns as fit; the widest is cut first, the last is left out if that is not enough."""
    found = list(widths)
    while found and sum(found) + len(_GAP) * (len(found) - 1) > width:
        over = sum(found) + len(_GAP) * (len(found) - 1) - width
        widest = max(range(len(found)), key=lambda n: found[n])
        if found[widest] - over >= _NARROWEST or len(found) == 1:
            found[widest] = max(1, found[widest] - over)
            break
        if found[widest] > 2 * _NARROWEST:
            found[widest] -= min(over, found[widest] - 2 * _NARROWEST)
            continue
        found.pop()
    return found


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = []
    for text, width, is_right in zip(texts, widths, right, strict=False):
        shown = text if len(text) <= width else text[: max(0, width - 1)] + "…"
        parts.append(shown.rjust(width) if is_right else shown.ljust(width))
    return _GAP.join(parts).rstrip()


def as_csv(rows: Sequence[Row]) -> str:
    """Every field of the rows; lists and objects are JSON. No text is a formula to a spreadsheet."""
    names = list(dict.fromkeys(name for row in rows for name in row if name != "links"))
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    if names:
        writer.writerow(names)
    writer.writerows([_csv_cell(row.get(name)) for name in names] for row in rows)
    return out.getvalue()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, list | Mapping) else value
    return _FORMULA.sub("'", text) if isinstance(text, str) else text


def sparkline(values: Sequence[float | None]) -> str:
    """One bar for each value, from the lowest to the highest; a gap where none is known."""
    known = [each for each in values if each is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return "".join(" " if each is None else _BARS[_level(each, low, high)] for each in values)


def _level(value: float, low: float, high: float) -> int:
    if high == low:
        return 0 if value == 0 else len(_BARS) // 2
    return round((value - low) / (high - low) * (len(_BARS) - 1))
