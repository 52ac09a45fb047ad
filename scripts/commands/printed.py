"""The output of commands: results to stdout, as a table or as JSON; progress and errors to stderr."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Any

from models.values import format_time


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    """Text in aligned columns, with numbers on the right."""
    texts = [[_cell(row[column]) for column in columns] for row in rows]
    widths = [max(len(line[n]) for line in [columns, *texts]) for n in range(len(columns))]
    numeric = [all(isinstance(row[column], int | float) for row in rows) for column in columns]
    lines = [columns, ["-" * width for width in widths], *texts]
    return "\n".join(
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    if value is None:
        return "never"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return format_time(value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def show(rows: list[dict[str, Any]], columns: list[str], *, as_json: bool, none: str) -> None:
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=2, default=_cell))
    elif rows:
        print(table(rows, columns))
    else:
        say(none)
