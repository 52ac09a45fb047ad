"""Tiingo and Finnhub: what is asked, and what an answer holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from types import ModuleType

import pytest

from models.headline import normalize_headline
from services.parse import finnhub, tiingo
from services.parse.news_api import within
from services.parse.publishers import strip_publisher
from services.parse.unreadable import Unreadable
from tests.unit.parse.judged import FEEDS

SINCE = datetime(2025, 12, 20, 23, tzinfo=UTC)
UNTIL = datetime(2025, 12, 21, 23, tzinfo=UTC)


def test_tiingo_is_asked_for_all_tickers_at_once() -> None:
    (request,) = tiingo.requests(["AAPL", "msft", "aapl"], SINCE, UNTIL, "secret", "http://127.0.0.1:9/")
    assert request.url == (
        "http://127.0.0.1:9/tiingo/news?tickers=aapl%2Cmsft&startDate=2025-12-20&endDate=2025-12-21"
        "&limit=100&sortBy=publishedDate"
    )
    assert request.headers["Authorization"] == "Token secret"
    assert "secret" not in repr(request)


def test_finnhub_is_asked_for_each_symbol_alone() -> None:
    requests = finnhub.requests(["aapl", "BRK.B"], SINCE, UNTIL, "secret")
    assert [request.url for request in requests] == [
        "https://finnhub.io/api/v1/company-news?symbol=AAPL&from=2025-12-20&to=2025-12-21",
        "https://finnhub.io/api/v1/company-news?symbol=BRK.B&from=2025-12-20&to=2025-12-21",
    ]
    assert requests[0].headers["X-Finnhub-Token"] == "secret"


@pytest.mark.parametrize("source", [tiingo, finnhub])
def test_nothing_is_asked_for_no_tickers(source: ModuleType) -> None:
    assert source.requests([], SINCE, UNTIL, "secret") == []


def test_many_tickers_are_asked_for_in_several_requests() -> None:
    assert len(tiingo.requests([f"t{number}" for number in range(101)], SINCE, UNTIL, "secret")) == 3


def test_days_are_those_of_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    (request,) = finnhub.requests(["x"], SINCE.astimezone(tokyo), UNTIL.astimezone(tokyo), "secret")
    assert request.url.endswith("from=2025-12-20&to=2025-12-21")


def test_the_example_of_the_specification_has_one_normalised_headline() -> None:
    theirs = tiingo.parse((FEEDS / "tiingo_news.json").read_bytes()).items[0]
    others = finnhub.parse((FEEDS / "finnhub_company_news.json").read_bytes()).items[0]
    assert theirs.headline == "Apple Reports Q4 Earnings Beat - Reuters"
    assert others.headline == "Apple reports Q4 earnings beat"
    keys = {normalize_headline(strip_publisher(item.headline, [item.publisher])) for item in (theirs, others)}
    assert keys == {"apple reports q4 earnings beat"}


def test_tiingo_articles_carry_tickers_tags_and_publisher() -> None:
    document = tiingo.parse((FEEDS / "tiingo_news.json").read_bytes())
    item = document.items[0]
    assert (item.article_id, item.publisher, item.tickers) == ("91144751", "fool.com.au", ("AAPL", "MSFT"))
    assert (item.tags, item.published) == (("Earnings", "Technology"), datetime(2025, 12, 21, 14, 20, tzinfo=UTC))
    assert [item.article_id for item in within(document.items, SINCE, UNTIL)] == ["91144751"]


def test_finnhub_articles_are_dated_in_unix_seconds_and_ids_of_zero_are_none() -> None:
    document = finnhub.parse((FEEDS / "finnhub_company_news.json").read_bytes())
    first, second = document.items
    assert (first.article_id, first.publisher, first.tickers) == ("137821233", "Reuters", ("AAPL",))
    assert first.published == datetime(2025, 12, 21, 14, 19, tzinfo=UTC)
    assert first.summary_html == "Sales &amp; profit rose."
    assert (second.article_id, second.published, second.published_flag) == (None, None, "missing")
    assert document.skipped == {"no_title": 1}
    assert within(document.items, SINCE, UNTIL) == document.items


def test_an_unknown_symbol_has_no_articles() -> None:
    assert finnhub.parse(b"[]").items == ()


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [(tiingo, "tiingo_error.json", "Tiingo answered: Invalid token."), (finnhub, "finnhub_error.json", "API limit")],
)
def test_an_error_of_the_provider_is_told_in_its_words(source: ModuleType, name: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words) as caught:
        source.parse((FEEDS / name).read_bytes())
    assert caught.value.kind == "refused"


@pytest.mark.parametrize("source", [tiingo, finnhub])
@pytest.mark.parametrize("body", [b"", b"<html>", b'"text"', b"12", b"null", b"[1, 2", b"\xff\xfe"])
def test_an_answer_that_is_no_list_is_unreadable(source: ModuleType, body: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        source.parse(body)
    assert caught.value.kind in ("empty", "not_json")


@pytest.mark.parametrize("source", [tiingo, finnhub])
def test_articles_of_another_form_are_counted_not_raised(source: ModuleType) -> None:
    odd = b'[1, null, [], {}, {"title": 1, "headline": [], "url": {}, "datetime": 1e300, "tickers": "x", "tags": {}}]'
    document = source.parse(odd)
    assert document.items == ()
    assert sum(document.skipped.values()) == 5
