"""The table of news APIs: what Tiingo and Finnhub are asked, and what their responses hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from models.raw_item import RawItem
from services.articles.identity import normalize_headline
from services.parse.collected import Collected, Unreadable
from services.parse.news_apis import NEWS_APIS, NewsApi, finnhub_collect, tiingo_collect
from services.parse.text import strip_publisher
from tests.unit.parse.feedparser_reading import FEEDS

TIINGO, FINNHUB = NEWS_APIS
SINCE = datetime(2025, 12, 20, 23, tzinfo=UTC)
UNTIL = datetime(2025, 12, 21, 23, tzinfo=UTC)

each_api = pytest.mark.parametrize("api", NEWS_APIS, ids=lambda api: api.name)


def urls(api: NewsApi, *tickers: str, since: datetime = SINCE, until: datetime = UNTIL) -> list[str]:
    return api.request_urls(tickers, since, until, api.base_url)


def test_tiingo_is_asked_about_all_tickers_at_once() -> None:
    assert TIINGO.request_urls(["AAPL", "msft", "aapl"], SINCE, UNTIL, "http://127.0.0.1:9/") == [
        "http://127.0.0.1:9/tiingo/news?tickers=aapl%2Cmsft&startDate=2025-12-20&endDate=2025-12-21"
        "&limit=100&sortBy=publishedDate"
    ]
    assert (TIINGO.auth_header, TIINGO.auth_format.format("secret")) == ("Authorization", "Token secret")


def test_finnhub_is_asked_about_each_symbol_alone() -> None:
    assert urls(FINNHUB, "aapl", "BRK.B") == [
        "https://finnhub.io/api/v1/company-news?symbol=AAPL&from=2025-12-20&to=2025-12-21",
        "https://finnhub.io/api/v1/company-news?symbol=BRK.B&from=2025-12-20&to=2025-12-21",
    ]
    assert (FINNHUB.auth_header, FINNHUB.auth_format.format("secret")) == ("X-Finnhub-Token", "secret")


@each_api
def test_nothing_is_asked_about_no_tickers(api: NewsApi) -> None:
    assert urls(api) == urls(api, " ") == []


@pytest.mark.parametrize(("tickers", "requests"), [(1, 1), (50, 1), (51, 2), (101, 3)])
def test_many_tickers_are_asked_about_in_several_requests(tickers: int, requests: int) -> None:
    asked = urls(TIINGO, *(f"t{number}" for number in range(tickers)))
    assert len(asked) == requests
    assert sum(url.count("%2C") + 1 for url in asked) == tickers


def test_days_are_those_of_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    (url,) = urls(FINNHUB, "x", since=SINCE.astimezone(tokyo), until=UNTIL.astimezone(tokyo))
    assert url.endswith("from=2025-12-20&to=2025-12-21")


def test_a_window_that_ends_before_it_begins_is_its_first_day() -> None:
    (url,) = urls(FINNHUB, "x", until=SINCE - timedelta(days=3))
    assert url.endswith("from=2025-12-20&to=2025-12-20")


def test_the_example_of_the_specification_has_one_normalised_headline() -> None:
    theirs = TIINGO.parse((FEEDS / "tiingo_news.json").read_bytes()).items[0]
    others = FINNHUB.parse((FEEDS / "finnhub_company_news.json").read_bytes()).items[0]
    assert theirs.headline == "Apple Reports Q4 Earnings Beat - Reuters"
    assert others.headline == "Apple reports Q4 earnings beat"
    keys = {normalize_headline(strip_publisher(item.headline, [item.publisher])) for item in (theirs, others)}
    assert keys == {"apple reports q4 earnings beat"}


@pytest.mark.parametrize(
    ("api", "body", "quoted"),
    [
        (TIINGO, (FEEDS / "tiingo_error.json").read_bytes(), "Tiingo answered: Invalid token."),
        (FINNHUB, (FEEDS / "finnhub_error.json").read_bytes(), "API limit"),
        (TIINGO, b'{"message": "three", "detail": "two", "error": "one"}', ": one$"),
        (TIINGO, b'{"message": "three", "detail": "two", "error": 1}', ": two$"),
        (TIINGO, b'{"message": "th  ree", "detail": []}', ": th ree$"),
        (TIINGO, b'{"other": "words"}', ": no articles$"),
        (TIINGO, b'{"error": "%s"}' % (b"x" * 300), ": x{200}$"),
    ],
)
def test_of_an_error_the_first_field_with_words_is_quoted_at_most_200_characters(
    api: NewsApi, body: bytes, quoted: str
) -> None:
    with pytest.raises(Unreadable, match=quoted) as caught:
        api.parse(body)
    assert caught.value.kind == "refused"


@each_api
@pytest.mark.parametrize("body", [b"", b"<html>", b'"text"', b"12", b"null", b"[1, 2", b"\xff\xfe"])
def test_a_response_that_is_no_list_is_unreadable(api: NewsApi, body: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        api.parse(body)
    assert caught.value.kind in ("empty", "not_json")


@each_api
def test_articles_of_another_form_are_counted_not_raised(api: NewsApi) -> None:
    odd = b'[1, null, [], {}, {"title": 1, "headline": [], "url": {}, "datetime": 1e300, "tickers": "x", "tags": {}}]'
    document = api.parse(odd)
    assert document.items == ()
    assert sum(document.skipped.values()) == 5
    assert document.skipped["not_an_entry"] == 3


FINNHUB_ARTICLE = {
    "id": 7,
    "headline": "A <thing> B",
    "url": "https://x.example/1",
    "summary": "a < b",
    "datetime": 1771668000,
    "source": "X",
    "category": "company",
    "related": "AAPL,msft",
}


TIINGO_ARTICLE = {
    "id": 7,
    "title": "A &amp; B",
    "url": "https://x.example/1",
    "description": "a < b",
    "publishedDate": "2026-02-21T10:00:00Z",
    "crawlDate": "2026-02-21T11:00:00Z",
    "source": "x.example",
    "tags": ["News"],
    "tickers": ["aapl"],
}


def of_finnhub(**changes: Any) -> RawItem:
    return one(finnhub_collect, {**FINNHUB_ARTICLE, **changes})


def of_tiingo(**changes: Any) -> RawItem:
    return one(tiingo_collect, {**TIINGO_ARTICLE, **changes})


def one(collect: Callable[[Mapping[str, Any], Collected], None], article: Mapping[str, Any]) -> RawItem:
    collected = Collected()
    collect(article, collected)
    (item,) = collected.items()
    return item


@pytest.mark.parametrize(
    ("item", "headline", "of_source", "date"),
    [
        (of_finnhub(), "A <thing> B", (("company",), ("AAPL", "MSFT"), "X"), "1771668000"),
        (of_tiingo(), "A & B", (("News",), ("AAPL",), "x.example"), "2026-02-21T10:00:00Z"),
    ],
)
def test_an_article_of_an_api_has_plain_texts(
    item: RawItem, headline: str, of_source: tuple[object, ...], date: str
) -> None:
    assert (item.article_id, item.url, item.headline) == ("7", "https://x.example/1", headline)
    assert (item.summary_html, item.date_text) == ("a &lt; b", date)
    assert (item.tags, item.tickers, item.publisher) == of_source
    assert item.published == datetime(2026, 2, 21, 10, tzinfo=UTC)


def test_the_id_0_identifies_nothing_and_the_date_0_is_none() -> None:
    item = of_finnhub(id=0, datetime=0)
    assert (item.article_id, item.date_text) == (None, "")


def test_an_article_without_a_date_of_publication_has_that_of_its_discovery() -> None:
    item = of_tiingo(publishedDate=None, title="A <thing> B")
    assert (item.published, item.headline) == (datetime(2026, 2, 21, 11, tzinfo=UTC), "A <thing> B")
