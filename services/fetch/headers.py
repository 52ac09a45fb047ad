"""What response headers say about when to come back and what to come back with. Pure.

Dates are judged against the server's own Date where it sends one, so that a wrong clock on either side cancels out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_VALIDATOR = 1024
MOST_SECONDS = 10 * 365 * 86400.0

_MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?(\d+)", re.IGNORECASE)
_MUST_ASK = re.compile(r"(?:^|[,\s])no-(?:store|cache)(?:$|[,\s])", re.IGNORECASE)
_SENDABLE = re.compile(r"[\x20-\x7e\x80-\xff]+")


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Retry-After in seconds from now, never negative; None if there is none that can be read."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:12]), MOST_SECONDS)
    return _seconds_until(value, headers, now)


def max_age_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """For how long the answer says it stays fresh; None if it does not say. The time spent in caches is taken off."""
    control = headers.get("Cache-Control", "")
    if _MUST_ASK.search(control):
        return None
    if found := _MAX_AGE.search(control):
        age = headers.get("Age", "").strip()
        spent = float(age[:12]) if age.isascii() and age.isdigit() else 0.0
        return max(0.0, min(float(found[1][:12]), MOST_SECONDS) - spent)
    return _seconds_until(headers.get("Expires", "").strip(), headers, now)


def validator(value: str | None) -> str | None:
    """An ETag or Last-Modified that can be sent back as it came; None for what cannot."""
    if value is None or len(value) > LONGEST_VALIDATOR or not _SENDABLE.fullmatch(value):
        return None
    return value.strip() or None


def _seconds_until(value: str, headers: Mapping[str, str], now: datetime) -> float | None:
    moment = _http_date(value)
    if moment is None:
        return None
    seconds = (moment - (_http_date(headers.get("Date", "")) or now)).total_seconds()
    return min(max(0.0, seconds), MOST_SECONDS)


def _http_date(value: str) -> datetime | None:
    if not value or len(value) > 64:
        return None
    try:
        moment = parsedate_to_datetime(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
