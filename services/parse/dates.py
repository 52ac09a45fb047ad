"""Parses the dates of feeds to aware UTC: the two common formats directly, all others by feedparser's parsers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_LONGEST = 100
_DAYS = frozenset({"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"})
_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: f"{number:02}" for number, name in enumerate(_MONTH_NAMES, start=1)}
_OFFSETS = {
    f"{sign}{minutes // 60:02}{colon}{minutes % 60:02}": timedelta(minutes=minutes if sign == "+" else -minutes)
    for minutes in range(0, 15 * 60, 15)
    for sign in "+-"
    for colon in ("", ":")
}
_OFFSETS["GMT"] = timedelta(0)


def parse_date(text: str) -> datetime | None:
    """The date in whole seconds, in UTC if it has no zone; None for text that is not a date, such as "yesterday"."""
    try:
        moment = _parse_rfc822(text) if text[3:5] == ", " else _parse_iso8601(text)
    except (ValueError, OverflowError, IndexError):
        moment = None
    return moment or _parse_as_feedparser(text)


def first_date(*texts: str) -> datetime | None:
    """The first of the texts that is a date."""
    for text in texts:
        moment = parse_date(text) if text else None
        if moment is not None:
            return moment
    return None


def from_unix_seconds(seconds: object) -> datetime | None:
    """The time of a number of seconds; None for 0, which APIs send for an unknown time."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(seconds))
    except (OverflowError, ValueError):
        return None


def _parse_rfc822(text: str) -> datetime | None:
    """`Mon, 30 Jun 2025 12:00:00 GMT` or with an offset as `+0200`; None for any other format."""
    if text[6] == " ":
        text = f"{text[:5]}0{text[5:]}"
    month = _MONTHS.get(text[8:11])
    offset = _OFFSETS.get(text[26:])
    spaces = text[7::9] == "   " and text[11] == " "
    if month is None or offset is None or not spaces or text[19:23:3] != "::" or text[:3] not in _DAYS:
        return None
    moment = datetime.fromisoformat(f"{text[12:16]}-{month}-{text[5:7]}T{text[17:25]}+00:00")
    return moment - offset if offset else moment


def _parse_iso8601(text: str) -> datetime | None:
    """`2025-06-30T12:00:00Z`, with a fraction, or with an offset as `+02:00`; None for any other format."""
    if text[4:8:3] != "--" or text[13:17:3] != "::" or text[10] != "T":
        return None
    zone = text[19:]
    if zone[:1] == ".":
        zone = zone[1:].lstrip("0123456789")
    moment = datetime.fromisoformat(text[:19] + "+00:00")
    if zone == "Z":
        return moment
    offset = _OFFSETS.get(zone)
    return None if offset is None or zone[3:4] != ":" else moment - offset


def _parse_as_feedparser(text: str) -> datetime | None:
    if not text or len(text) > _LONGEST:
        return None
    from feedparser.datetimes import _parse_date

    parts = _parse_date(text)
    return from_time_tuple(parts) if parts else None


def from_time_tuple(parts: tuple[int, ...]) -> datetime | None:
    """The time of a date as feedparser returns it, in UTC."""
    year, month, day, hour, minute, second = parts[:6]
    try:
        return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None
