"""What servers answer, and what the fetcher makes of it."""

import hashlib
import logging

import pytest

from services.fetch.outcome import BasicCredential, FetchRequest, FetchStatus, HeaderCredential
from tests.functional.fetch.conftest import Make, Server, response

FEED = b"<rss version='2.0'><channel/></rss>"
DATE = "Wed, 18 Feb 2026 10:00:00 GMT"


async def test_a_body_comes_with_its_type_validators_hash_and_freshness(server: Server, make: Make) -> None:
    server.answers["/feed"] = response(
        body=FEED,
        Content_Type="text/xml; charset=koi8-r",
        ETag='W/"1"',
        Last_Modified=DATE,
        Cache_Control="public, max-age=600",
        Age="100",
    )
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.status_code, result.body, result.attempts) == (FetchStatus.FETCHED, 200, FEED, 1)
    assert (result.content_type, result.etag, result.last_modified) == ("text/xml; charset=koi8-r", 'W/"1"', DATE)
    assert (result.max_age, result.body_hash) == (500, hashlib.sha256(FEED).hexdigest())
    assert (result.moved_to, result.error, result.ok) == (None, None, True)


async def test_it_says_honestly_who_asks_and_asks_for_what_can_be_bounded(server: Server, make: Make) -> None:
    await make().fetch(FetchRequest(server.url("/feed?token=1")))
    asked = server.requests[0]
    assert asked.path == "/feed?token=1"
    assert asked.headers["user-agent"] == "toolpulse-test (test@example.com)"
    assert asked.headers["accept-encoding"] == "gzip, deflate"
    assert "application/rss+xml" in asked.headers["accept"]
    assert "if-none-match" not in asked.headers


async def test_a_304_keeps_validators_and_hash_and_takes_new_ones(server: Server, make: Make) -> None:
    server.answers["/feed"] = [response(304), response(304, ETag='"2"', Cache_Control="max-age=60")]
    request = FetchRequest(server.url(), etag='"1"', last_modified=DATE, body_hash="0" * 64)
    first, second = [await make().fetch(request) for _ in range(2)]
    assert (first.status, first.etag, first.last_modified) == (FetchStatus.NOT_MODIFIED, '"1"', DATE)
    assert (first.body_hash, first.max_age, first.body) == ("0" * 64, None, None)
    assert (second.etag, second.last_modified, second.max_age) == ('"2"', DATE, 60)
    assert server.requests[0].headers["if-none-match"] == '"1"'
    assert server.requests[0].headers["if-modified-since"] == DATE


async def test_a_304_that_nobody_asked_for_is_no_answer(server: Server, make: Make) -> None:
    server.answers["/feed"] = response(304)
    assert (await make().fetch(FetchRequest(server.url()))).status is FetchStatus.BAD_RESPONSE


async def test_the_same_body_again_is_unchanged_and_not_handed_on(server: Server, make: Make) -> None:
    server.answers["/feed"] = response(body=FEED, ETag='"new"')
    known = hashlib.sha256(FEED).hexdigest()
    result = await make().fetch(FetchRequest(server.url(), etag='"old"', last_modified=DATE, body_hash=known))
    assert (result.status, result.body, result.body_hash) == (FetchStatus.UNCHANGED, None, known)
    assert (result.etag, result.last_modified) == ('"new"', None)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (204, FetchStatus.FETCHED),
        (206, FetchStatus.BAD_RESPONSE),
        (403, FetchStatus.UNAUTHORIZED),
        (404, FetchStatus.NOT_FOUND),
        (408, FetchStatus.TIMEOUT),
        (410, FetchStatus.GONE),
        (429, FetchStatus.RATE_LIMITED),
        (451, FetchStatus.CLIENT_ERROR),
        (599, FetchStatus.SERVER_ERROR),
    ],
)
async def test_each_status_code_has_one_meaning(server: Server, make: Make, code: int, status: FetchStatus) -> None:
    server.answers["/feed"] = response(code, body=b"")
    result = await make().fetch(FetchRequest(server.url("/feed?key=secret"), etag='"1"'))
    assert (result.status, result.status_code) == (status, code)
    assert result.ok or result.fingerprint == f"{status}:{code}"
    assert "secret" not in f"{result.error} {result!r}"


async def test_a_429_is_never_tried_again_at_once_and_a_503_not_if_it_says_when(server: Server, make: Make) -> None:
    server.answers |= {"/429": response(429), "/503": response(503, Retry_After="120"), "/plain": response(503)}
    rate_limited, with_retry_after, plain = [
        await make().fetch(FetchRequest(server.url(p))) for p in ("/429", "/503", "/plain")
    ]
    assert (rate_limited.attempts, rate_limited.retry_after) == (1, None)
    assert (with_retry_after.attempts, with_retry_after.status, with_retry_after.retry_after) == (
        1,
        FetchStatus.SERVER_ERROR,
        120,
    )
    assert plain.attempts == 3


async def test_server_errors_are_retried_with_growing_waits_that_jitter_shortens(server: Server, make: Make) -> None:
    server.answers["/feed"] = [response(500), response(502), response(body=FEED)]
    waits: list[float] = []
    chances = iter([0.0, 0.5])
    result = await make(waits, tools={"chance": lambda: next(chances)}).fetch(FetchRequest(server.url()))
    assert (result.status, result.attempts, waits) == (FetchStatus.FETCHED, 3, [1.0, 1.5])


async def test_credentials_are_sent_and_never_shown(server: Server, make: Make) -> None:
    basic = FetchRequest(server.url(), credential=BasicCredential("user", "pässword"))
    header = FetchRequest(server.url(), credential=HeaderCredential("X-Api-Key", "s3cret\n"))
    for request in (basic, header):
        await make().fetch(request)
        assert not any(secret in repr(request) for secret in ("pässword", "s3cret"))
    assert server.requests[0].headers["authorization"] == "Basic dXNlcjpww6Rzc3dvcmQ="
    assert server.requests[1].headers["x-api-key"] == "s3cret"


async def test_a_validator_goes_back_in_the_bytes_it_came_in(server: Server, make: Make) -> None:
    server.answers["/feed"] = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: "caf\xc3\xa9"\r\n\r\nok'
    first = await make().fetch(FetchRequest(server.url()))
    await make().fetch(FetchRequest(server.url(), etag=first.etag))
    assert server.requests[1].headers["if-none-match"].encode("latin-1") == b'"caf\xc3\xa9"'


async def test_nothing_of_a_url_is_logged(server: Server, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await make().fetch(FetchRequest(server.url("/feed?key=secret")))
    assert "feed" not in caplog.text


async def test_connections_are_kept_and_cookies_are_not(server: Server, make: Make) -> None:
    server.answers["/feed"] = response(Set_Cookie="id=1")
    fetcher = make()
    for _ in range(3):
        await fetcher.fetch(FetchRequest(server.url()))
    assert server.connections == 1
    assert all("cookie" not in each.headers for each in server.requests)
