"""Prints all settings, as a table or as local.settings.json.sample.

.venv/bin/python -m scripts.settings            the table in Markdown
.venv/bin/python -m scripts.settings sample     the content of local.settings.json.sample
"""

from __future__ import annotations

import json
import sys

from services.setting import default_text
from services.settings import HOST, table


def sample() -> str:
    """The content of local.settings.json.sample: the settings for development, with their defaults."""
    values = {"FUNCTIONS_WORKER_RUNTIME": "python"}
    host_first = sorted(table(), key=lambda row: row.name != HOST)
    values |= {row.name: row.sample for row in host_first if row.sample is not None}
    return json.dumps({"IsEncrypted": False, "Values": values}, indent=2) + "\n"


def markdown() -> str:
    """The table in Markdown."""
    lines = ["| setting | default | allowed | description |", "|---|---|---|---|"]
    for row in table():
        default = f"`{default_text(row)}`" if row.default not in ("", ()) else ""
        secret = " (secret)" if row.secret else ""
        allowed = row.allowed.removeprefix("must be ").replace("|", "\\|")
        lines.append(f"| `{row.name}` | {default} | {allowed} | {row.description}{secret} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(sample() if sys.argv[1:] == ["sample"] else markdown())
