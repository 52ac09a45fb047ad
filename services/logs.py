"""One log line for each outcome: an event's name and its fields, as JSON or as text.

The Functions worker forwards only the text and the level of a line, so the fields are in the text. Callers keep
payloads, keys and query strings out of the fields.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from models.errors import UnreadableDocument

ROOT_LOGGER = "toolpulse"
_stored = logging.getLogger("toolpulse.stored")


class _Layout:
    """The layout of log lines in this process."""

    structured = True


def configure(level: str, structured: bool) -> None:
    """Sets the level and the form of the log for this process."""
    logging.getLogger(ROOT_LOGGER).setLevel(level)
    logging.getLogger("azure").setLevel(logging.WARNING)  # otherwise every request of the SDKs is a dozen lines
    _Layout.structured = structured


def log_event(logger: logging.Logger, level: int, event: str, **fields: Any) -> None:
    if not logger.isEnabledFor(level):
        return
    if _Layout.structured:
        text = json.dumps({"event": event, **fields}, ensure_ascii=False, default=str)
    else:
        text = " ".join([event, *(f"{name}={value}" for name, value in fields.items())])
    logger.log(level, "%s", text, extra={"event": event})


def log_unreadable(error: UnreadableDocument) -> None:
    log_event(_stored, logging.ERROR, "document_unreadable", kind=error.kind, key=error.key, why=error.why)
