"""One log line for each outcome: an event's name and its fields, as JSON or as text.

The Functions worker forwards only the text and the level of a line, so the fields are in the text. Callers keep
payloads, keys and query strings out of the fields.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from models.errors import UnreadableDocument
from services import telemetry

ROOT_LOGGER = "toolpulse"
ROUTINE = frozenset({"feed_fetched", "work_done"})
"""Events of success that are most of the log, and that no alert counts. With telemetry they are logged for sampled
traces only, with the field `share`: a line stands for 1 / share of them. What went wrong is always logged."""
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
    if event in ROUTINE and level <= logging.INFO:
        share = telemetry.kept_share()
        if share is None:
            return
        if share < 1:
            fields["share"] = share
    if _Layout.structured:
        text = json.dumps({"event": event, **fields}, ensure_ascii=False, default=str)
    else:
        text = " ".join([event, *(f"{name}={value}" for name, value in fields.items())])
    logger.log(level, "%s", text, extra={"event": event})


def log_unreadable(error: UnreadableDocument) -> None:
    log_event(_stored, logging.ERROR, "document_unreadable", kind=error.kind, key=error.key, why=error.why)
