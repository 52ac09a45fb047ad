"""The types of the fields of documents, each with its rule, and the one form of times.

A time is an aware datetime in UTC with whole seconds. Documents have it as `2026-02-21T20:00:00Z`, so that the order of
texts is the order of times. Unix seconds are integers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

CLOCKS_DIFFER = timedelta(minutes=1)
"""By how much the clocks of two workers of an app may differ."""

_AWARE = "must be a time in ISO 8601 with its offset, such as 2026-02-21T20:00:00Z"


def parse_time(value: object) -> datetime:
    """A text or datetime as a time in UTC, without fractions of a second. Raises ValueError if it has no offset."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(_AWARE) from None
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise ValueError(_AWARE)
    if value.tzinfo is UTC and not value.microsecond:
        return value
    try:
        return value.astimezone(UTC).replace(microsecond=0)
    except OverflowError:
        raise ValueError(_AWARE) from None


def format_time(moment: datetime) -> str:
    """The time as documents, responses and filters have it."""
    return (moment if moment.tzinfo is UTC else parse_time(moment)).isoformat()[:19] + "Z"


def is_ahead(recorded: datetime, now: datetime) -> bool:
    """Whether a time that a worker recorded as its present lies so far in the future that its clock was wrong."""
    return recorded > now + CLOCKS_DIFFER


def is_over(until: datetime, now: datetime, at_most: timedelta) -> bool:
    """Whether a stored end has passed. `at_most` is the longest time after which a worker sets it: an end that lies
    further ahead was set by a wrong clock, and does not count."""
    return until <= now or is_ahead(until - at_most, now)


def unix_seconds(moment: datetime) -> int:
    return int((moment if moment.tzinfo is UTC else parse_time(moment)).timestamp() // 1)


def unix_milliseconds(moment: datetime) -> int:
    """Unix milliseconds of an aware moment, with its fraction of a second."""
    return round(moment.timestamp() * 1000)


def hour_key(moment: datetime) -> str:
    """`yyyymmddhh`, the UTC hour of the time."""
    text = parse_time(moment).isoformat()
    return text[:4] + text[5:7] + text[8:10] + text[11:13]


def hour_start(hour: str) -> datetime:
    """The start of the hour with this key. Raises ValueError for other texts."""
    try:
        if len(hour) == 10:
            return datetime.fromisoformat(f"{hour[:4]}-{hour[4:6]}-{hour[6:8]}T{hour[8:]}:00:00Z")
    except ValueError:
        pass
    raise ValueError("must be an hour as yyyymmddhh, such as 2026022120")


def lives(**span: float) -> Any:
    """A `ttl_timestamp` that defaults to this time after the creation of the document."""
    seconds = int(timedelta(**span).total_seconds())
    return Field(default_factory=lambda data: unix_seconds(data["created_at"]) + seconds)


INTERNAL = {"x-view": "full"}
"""Marks, in the JSON schema too, the fields that only the full view of a resource has."""


def internal(description: str, default: Any = None) -> Any:
    """A field of a document that only the full view of its resource has: what the app needs for its own work."""
    return Field(default=default, description=description, json_schema_extra={**INTERNAL})


def optional(description: str) -> Any:
    """A field that is null if there is nothing to say."""
    return Field(default=None, description=description)


_REFUSED_IN_IDS = re.compile(r"[/\\?#\x00-\x1f\x7f]")
_WEB_URL = re.compile(
    r"https?://(?:[^\s/?#@]*@)?(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:\[\]]+)(?::[0-9]{0,5})?(?:[/?#]\S*)?", re.I
)
_FEED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LONGEST_ID = 255


@lru_cache(maxsize=4096)
def _id_part(text: str) -> str:
    if not text or len(text.encode()) > LONGEST_ID or _REFUSED_IN_IDS.search(text):
        raise ValueError(rf"must be 1 to {LONGEST_ID} bytes without / \ ? # or control characters")
    return text


def is_web_url(text: str) -> bool:
    return _WEB_URL.fullmatch(text) is not None


def _web_url(text: str) -> str:
    if _WEB_URL.fullmatch(text) is None:
        raise ValueError("must be an http or https URL with a host and without spaces")
    return text


def is_source_key(value: Any) -> bool:
    return isinstance(value, str) and _FEED_ID.fullmatch(value) is not None


@lru_cache(maxsize=4096)
def _source_key(text: str) -> str:
    if not is_source_key(text):
        raise ValueError("must be 1 to 64 letters, digits, dots, hyphens or underscores, the first a letter or digit")
    return text


def _hour(text: str) -> str:
    hour_start(text)
    return text


def _day(text: str) -> str:
    try:
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise ValueError("must be a day as YYYY-MM-DD")


def _hex_of(length: int) -> AfterValidator:
    form = re.compile(f"[0-9a-f]{{{length}}}")

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError(f"must be {length} hexadecimal characters in lower case")
        return text

    return AfterValidator(check)


# Documents that are read together have many times in common. A list or an object instead of a time is a TypeError.
Time = Annotated[datetime, BeforeValidator(lru_cache(maxsize=4096)(parse_time))]
UnixSeconds = Annotated[int, Field(strict=True, ge=0)]
Day = Annotated[str, AfterValidator(_day)]
Hour = Annotated[str, AfterValidator(_hour)]

Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=0)]
Amount = Annotated[float, Field(strict=True, ge=0.0)]
Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
Percentage = Annotated[float, Field(strict=True, ge=0.0, le=100.0)]
Polarity = Annotated[float, Field(strict=True, ge=-1.0, le=1.0)]

Text = Annotated[str, Field(min_length=1)]
IdPart = Annotated[str, AfterValidator(_id_part)]
WebUrl = Annotated[str, AfterValidator(_web_url)]
SourceKey = Annotated[str, AfterValidator(_source_key)]
"""The id of a feed; of a news API, its name."""
Hex32 = Annotated[str, _hex_of(32)]
Sha256 = Annotated[str, _hex_of(64)]

UNKNOWN_LANGUAGE = "und"
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
"""The primary subtag of BCP 47 (`en`, `pt`), `und` if the language is unknown."""

Sentiment = Literal["positive", "negative", "neutral"]
UnscoredReason = Literal["LANGUAGE"]
"""Why a text has no sentiment: the analyzer cannot judge its language."""

SIGNS: Mapping[Sentiment, int] = {"positive": 1, "negative": -1, "neutral": 0}


def agrees(sentiment: Sentiment, polarity: float) -> bool:
    """Whether the polarity is above 0 for positive, below 0 for negative, exactly 0 for neutral."""
    return (polarity > 0) - (polarity < 0) == SIGNS[sentiment]


class Value(BaseModel):
    """Part of a document. Frozen; keeps unknown fields, which a later version may have written."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
    )
