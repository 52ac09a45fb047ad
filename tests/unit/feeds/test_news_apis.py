"""A news API as a feed: its document, its requests, and one result of several responses."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.raw_item import ParsedDocument, RawItem
from services.feeds.news_apis import (
    FIRST_WINDOW,
    OLDEST,
    OVERLAP,
    combined_document,
    combined_result,
    enabled_apis,
    is_refused_alone,
)
from services.fetch.outcome import FetchResult, FetchStatus, HeaderCredential
from services.settings import ApiAccess, Settings
from tests.documents import feed

NOW = datetime(2026, 2, 21, 20, tzinfo=UTC)
SETTINGS = Settings(
    store="sqlite",
    news_apis={"tiingo": ApiAccess("t", "http://127.0.0.1:9/"), "finnhub": ApiAccess("")},
    api_tickers=("AAPL",),
)
URL = "https://api.example/"


def result(status: FetchStatus = FetchStatus.FETCHED, **fields: Any) -> FetchResult:
    return FetchResult(status, URL, **fields)


def item(article_id: str | None = "1", **fields: Any) -> RawItem:
    return RawItem(
        **{"article_id": article_id, "url": "https://x.example/1", "headline": "One", "published": NOW, **fields}
    )


def document(*items: RawItem, **fields: Any) -> ParsedDocument:
    return ParsedDocument("tiingo", items, "Tiingo", **fields)


def test_the_apis_with_a_token_are_enabled() -> None:
    apis = enabled_apis(SETTINGS)
    assert apis.keys() == {"tiingo"}
    assert (apis["tiingo"].base_url, apis["tiingo"].tickers) == ("http://127.0.0.1:9/", ("AAPL",))
    assert "token" not in repr(apis["tiingo"])
    defaults = enabled_apis(Settings(store="sqlite", news_apis={"finnhub": ApiAccess("f")}))
    assert defaults["finnhub"].base_url == "https://finnhub.io/api/v1"
    assert enabled_apis(Settings(store="sqlite")) == {}


def test_the_feed_of_an_api_is_due_at_once() -> None:
    made = enabled_apis(SETTINGS)["tiingo"].feed(NOW)
    assert (made.feed_id, made.kind, made.source_name) == ("tiingo", "tiingo", "Tiingo")
    assert (made.feed_url, made.next_fetch_time) == ("http://127.0.0.1:9/tiingo/news", NOW)
    assert made.is_of_news_api


def test_a_request_is_for_the_time_since_the_last_success_with_a_day_more() -> None:
    api = enabled_apis(SETTINGS)["tiingo"]
    (first,) = api.requests(api.feed(NOW), NOW)
    assert "startDate=2026-02-13&endDate=2026-02-21" in first.url
    assert (first.credential, first.accept) == (HeaderCredential("Authorization", "Token t"), "application/json")
    polled = api.feed(NOW).changed(NOW, last_successful_fetch=NOW - timedelta(hours=1))
    (later,) = api.requests(polled, NOW)
    assert "startDate=2026-02-20&endDate=2026-02-21" in later.url
    assert (timedelta(days=7), timedelta(days=1), timedelta(days=1098)) == (FIRST_WINDOW, OVERLAP, OLDEST)


@pytest.mark.parametrize(
    ("status_code", "alone"),
    [(400, True), (403, True), (404, True), (422, True), (401, False), (429, False), (200, False)],
)
def test_some_statuses_refuse_one_request_only(status_code: int, alone: bool) -> None:
    assert is_refused_alone(result(status_code=status_code)) is alone


def test_the_first_failure_is_the_result_of_all() -> None:
    refused = result(FetchStatus.UNAUTHORIZED, status_code=403, duration_ms=1)
    failed = result(FetchStatus.RATE_LIMITED, status_code=429, duration_ms=2, body=b"x")
    good = result(status_code=200, duration_ms=4, body_hash="a")
    found = combined_result(feed(), [good, refused, failed])
    assert (found.status, found.duration_ms, found.body) == (FetchStatus.RATE_LIMITED, 7, None)
    assert combined_result(feed(), [refused, refused]).status is FetchStatus.UNAUTHORIZED
    assert combined_result(feed(), [refused, good]).status is FetchStatus.FETCHED


def test_a_success_has_a_hash_of_all_bodies_in_any_order_and_no_validators() -> None:
    one = result(body_hash="a", body=b"x", etag='"1"', last_modified="x", moved_to=URL, duration_ms=1)
    two = result(FetchStatus.UNCHANGED, body_hash="b", duration_ms=2)
    none = result(duration_ms=3)
    found = combined_result(feed(), [one, two, none])
    assert (found.status, found.body, found.duration_ms) == (FetchStatus.FETCHED, None, 6)
    assert (found.etag, found.last_modified, found.moved_to) == (None, None, None)
    assert found.body_hash == hashlib.sha256(b"|a|b").hexdigest()
    assert combined_result(feed(), [none, two, one]).body_hash == found.body_hash
    assert combined_result(feed(), [one, none]).body_hash != found.body_hash
    assert combined_result(feed(body_hash=found.body_hash), [one, two, none]).status is FetchStatus.UNCHANGED


def test_an_article_in_several_responses_is_one_item_with_all_tickers() -> None:
    first = document(item(tickers=("AAPL",)), item("2"), warnings={"a": 1}, skipped={"s": 1})
    second = document(
        item(tickers=("MSFT", "AAPL")), item("2"), item(None), warnings={"a": 2, "b": 3}, skipped={"s": 4}
    )
    found = combined_document([first, second], [result(status_code=200), result(status_code=403)], NOW)
    assert [(each.article_id, each.tickers) for each in found.items] == [
        ("1", ("AAPL", "MSFT")),
        ("2", ()),
        (None, ()),
    ]
    assert (found.version, found.title) == ("tiingo", "Tiingo")
    assert found.warnings == {"a": 3, "b": 3, "request_refused": 1}
    assert found.skipped == {"s": 5}


@pytest.mark.parametrize(
    ("published", "kept"),
    [
        (None, True),
        (NOW + OVERLAP, True),
        (NOW + OVERLAP + timedelta(seconds=1), False),
        (NOW - OLDEST, True),
        (NOW - OLDEST - timedelta(seconds=1), False),
    ],
)
def test_articles_from_an_archive_or_the_future_are_skipped_and_counted(published: datetime | None, kept: bool) -> None:
    found = combined_document([document(item(published=published), item("2"))], [result()], NOW)
    assert len(found.items) == 1 + kept
    assert found.skipped == ({} if kept else {"out_of_window": 1})
    assert found.warnings == {}
