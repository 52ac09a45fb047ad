"""What the news APIs have in common: a request as a value, a window, an answer in JSON. Who sends it is the fetcher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from models.raw_item import RawItem
from services.parse.json_body import load_json
from services.parse.unreadable import Unreadable

_LONGEST_QUOTE = 200


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A GET. The token is in `headers` and never in `url`, which is logged; `headers` is kept out of `repr`."""

    url: str
    headers: Mapping[str, str] = field(repr=False)


def get(base_url: str, path: str, params: Mapping[str, str], headers: Mapping[str, str]) -> ApiRequest:
    return ApiRequest(f"{base_url.rstrip('/')}{path}?{urlencode(params)}", headers)


def days(since: datetime, until: datetime) -> tuple[date, date]:
    """The UTC days, first and last, that a window touches: both APIs take days only."""
    return since.astimezone(UTC).date(), max(since, until).astimezone(UTC).date()


def within(items: Iterable[RawItem], since: datetime, until: datetime) -> tuple[RawItem, ...]:
    """Those published in the window, ends included, and those without a date: an API may ignore what was asked."""
    return tuple(item for item in items if item.published is None or since <= item.published <= until)


def load_articles(body: bytes, provider: str, warnings: Counter[str]) -> list[Any]:
    """The list that `provider` should have answered with.

    Unreadable("refused") with the provider's own words if it answered with an error, Unreadable("not_json") otherwise.
    """
    document = load_json(body, warnings)
    if isinstance(document, dict):
        words = next(
            (document[name] for name in ("error", "detail", "message") if isinstance(document.get(name), str)), ""
        )
        raise Unreadable("refused", f"{provider} answered: {' '.join(words.split())[:_LONGEST_QUOTE] or 'no articles'}")
    if not isinstance(document, list):
        raise Unreadable("not_json", f"{provider} answered with neither articles nor an error")
    return document


def text_of(article: Mapping[str, Any], name: str) -> str:
    """A field as text; numbers are what ids are in both APIs."""
    value = article.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def moment_of(seconds: object) -> datetime | None:
    """Unix seconds as a moment; 0 is how an API says that it does not know."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(seconds))
    except (OverflowError, ValueError):
        return None


def texts_of(article: Mapping[str, Any], name: str) -> list[str]:
    """A list of texts; whatever else is in it is left out."""
    value = article.get(name)
    return [each.strip() for each in value if isinstance(each, str) and each.strip()] if isinstance(value, list) else []


def tickers_of(symbols: Iterable[str]) -> tuple[str, ...]:
    """Upper case, each once."""
    return tuple(dict.fromkeys(symbol.strip().upper() for symbol in symbols if symbol.strip()))
