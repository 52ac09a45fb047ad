"""Reports logged errors to Sentry. Imported only if SENTRY_DSN is set.

A report has the log line, its level and, of an exception, the traceback: no local variables, requests or users.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import sentry_sdk
from sentry_sdk.integrations.logging import EventHandler

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint

LAST_SECONDS = 2.0


def begin(dsn: str, version: str) -> Callable[[], None]:
    """Starts reporting, in a thread of its own. The returned function sends the waiting reports and ends that
    thread."""
    sentry_sdk.init(
        dsn,
        release=f"toolpulse@{version}",
        default_integrations=False,
        auto_enabling_integrations=False,
        include_local_variables=False,
        max_breadcrumbs=0,
        auto_session_tracking=False,
        before_send=_by_event,
    )
    client = sentry_sdk.get_client()
    handler = EventHandler(level=logging.ERROR)
    logging.getLogger().addHandler(handler)

    def end() -> None:
        logging.getLogger().removeHandler(handler)
        client.close(timeout=LAST_SECONDS)

    return end


def _by_event(event: Event, hint: Hint) -> Event:
    """Groups the lines of one event into one issue, whatever their fields are."""
    name = getattr(hint.get("log_record"), "event", None)
    return {**event, "fingerprint": [str(event.get("logger")), name]} if name and "exception" not in event else event
