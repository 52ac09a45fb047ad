"""How a feed is asked, and where it may have moved."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from models.raw_item import ParsedDocument
from services import deadline
from services.articles.poll import (
    CHECKED_EVERY,
    ERRORS_OF_MOVED,
    POSTPONED_SECONDS,
    FeedPoller,
    is_checked,
    may_be_page,
    moved_to,
    request_for,
    tries_own_url,
)
from services.feeds.outcome import PollResult, failure_of
from services.fetch.limits import MAX_PARSED_BYTES
from services.fetch.outcome import BasicCredential, FetchRequest, FetchResult, FetchStatus, credentials_in
from tests.documents import NOW, feed
from tests.unit.articles.builders import no_tickers, not_registered

VALIDATORS = {"etag": '"1"', "last_modified": "yesterday", "body_hash": "0" * 64}


def test_a_request_has_the_feeds_validators_and_the_hash_of_its_last_body() -> None:
    request = request_for(feed(**VALIDATORS, redirect_url="https://new.example/feed"))
    assert (request.etag, request.last_modified, request.body_hash) == ('"1"', "yesterday", "0" * 64)
    assert request.url == "https://new.example/feed"


@pytest.mark.parametrize("changes", [{"validators_trusted": False}, {"fetch_count": 23}])
def test_a_request_has_no_validators_if_they_are_not_trusted_or_are_checked(changes: dict[str, Any]) -> None:
    request = request_for(feed(**VALIDATORS, **changes))
    assert (request.etag, request.last_modified, request.body_hash) == (None, None, "0" * 64)


def test_a_credential_goes_to_the_origin_that_the_feed_was_registered_with_only() -> None:
    secret = BasicCredential("u", "p")
    assert request_for(feed(), secret).credential is secret
    origin = "https://www.reuters.com"
    assert request_for(feed(redirect_url=f"{origin}/other"), secret).credential is secret
    for elsewhere in ("https://evil.example/feed", "http://www.reuters.com/feed", "https://www.reuters.com:444/"):
        assert request_for(feed(redirect_url=elsewhere), secret).credential is None


@pytest.mark.parametrize(
    ("changes", "tried"),
    [
        ({"body_hash": "0" * 64, "consecutive_errors": 2}, False),
        ({"body_hash": "0" * 64, "consecutive_errors": 3}, True),
        ({}, True),
        ({"redirect_url": None, "consecutive_errors": 9}, False),
    ],
)
def test_a_feed_that_moved_is_tried_at_its_own_url_after_three_errors_or_without_a_known_body(
    changes: dict[str, Any], tried: bool
) -> None:
    assert ERRORS_OF_MOVED == 3
    assert tries_own_url(feed(**{"redirect_url": "https://b.example/"} | changes)) is tried


def test_one_fetch_in_24_is_checked() -> None:
    assert CHECKED_EVERY == 24
    checked = [count for count in range(72) if is_checked(feed(fetch_count=count))]
    assert checked == [23, 47, 71]


def polled(moved: str | None = None, **fields: Any) -> PollResult:
    result = FetchResult(FetchStatus.FETCHED, "https://old.example/feed", moved_to=moved)
    return PollResult(result, ParsedDocument("rss20", ()), **fields)


def test_a_feed_moves_where_its_server_says() -> None:
    assert moved_to(feed(), polled("https://a.example/f")) == "https://a.example/f"
    assert moved_to(feed(), PollResult(polled("https://a.example/f").result)) == "https://a.example/f"
    assert moved_to(feed(), polled()) is None


def test_a_url_that_cannot_be_fetched_or_is_known_already_is_no_move() -> None:
    assert moved_to(feed(), polled("javascript:alert(1)")) is None
    assert moved_to(feed(redirect_url="https://a.example/f"), polled("https://a.example/f")) is None
    assert moved_to(feed(), polled("https://a.example/f", found_at="https://a.example/f")) is None


def test_where_a_feed_moved_before_is_looked_up_again_at_a_checked_fetch_that_succeeded() -> None:
    moved = feed(redirect_url="https://a.example/f", fetch_count=23)
    assert moved_to(moved, polled()) == "https://a.example/f"
    assert moved_to(feed(redirect_url="https://a.example/f", fetch_count=22), polled()) is None
    assert moved_to(moved, PollResult(FetchResult(FetchStatus.TIMEOUT, "https://a.example/f"))) is None


def test_a_page_is_searched_for_its_feed_only_where_no_feed_has_been() -> None:
    assert may_be_page(feed(last_successful_fetch=None))
    succeeded = feed(last_successful_fetch=NOW - timedelta(days=1))
    assert not may_be_page(succeeded)
    assert may_be_page(succeeded.changed(NOW, last_error_fingerprint="duplicate"))


class Bodies:
    """A fetcher of one body. `seconds` is how long a fetch takes."""

    def __init__(self, size: int, seconds: float = 0.0) -> None:
        self._body = b"<rss version='2.0'><channel><title>T</title></channel></rss>".ljust(size)
        self._seconds = seconds

    async def fetch(self, request: FetchRequest) -> FetchResult:
        await asyncio.sleep(self._seconds)
        return FetchResult(FetchStatus.FETCHED, request.url, body=self._body, body_hash="1" * 64, etag='"2"')


def poller(fetcher: Bodies) -> FeedPoller:
    return FeedPoller(fetcher, {}, credentials_in({}), no_tickers, not_registered)


async def test_near_the_deadline_neither_a_fetch_nor_a_body_waits_any_longer() -> None:
    polling = poller(Bodies(MAX_PARSED_BYTES + 1))
    async with polling.polled(feed(), NOW):
        with deadline.within(0.05):
            async with polling.polled(feed(**VALIDATORS), NOW) as second:
                assert (second.result.status, second.result.retry_after) == (FetchStatus.POSTPONED, POSTPONED_SECONDS)
            failure = failure_of(second)
            assert failure is not None
            assert (failure.counts, failure.permanent) == (False, False)
    with deadline.within(0.05):
        async with poller(Bodies(100, seconds=5.0)).polled(feed(), NOW) as slow:
            assert slow.result.status is FetchStatus.POSTPONED


async def test_a_setting_that_was_removed_after_its_feed_was_added_is_named_by_the_failed_poll() -> None:
    async with poller(Bodies(100)).polled(feed(credential="FEED_CREDENTIAL_GONE"), NOW) as polled:
        assert polled.result.status == FetchStatus.UNAUTHORIZED
        assert "FEED_CREDENTIAL_GONE" in str(polled.result.error)
