"""Each request of a fetch is counted for the host that it was sent to."""

from __future__ import annotations

from services.fetch.outcome import FetchRequest
from services.fetch.traffic import counted
from tests.functional.fetch.conftest import Make, Server, response

FEED = b"<rss version='2.0'><channel/></rss>"


async def test_every_try_and_redirect_counts_with_its_bytes_and_status(server: Server, make: Make) -> None:
    server.answers["/old"] = response(301, Location=server.url("/feed"))
    server.answers["/feed"] = [response(429, Retry_After="9"), response(body=FEED, ETag='"1"'), response(304)]
    with counted() as traffic:
        await make().fetch(FetchRequest(server.url("/old")))
        await make().fetch(FetchRequest(server.url()))
        await make().fetch(FetchRequest(server.url(), etag='"1"'))
    assert traffic == {
        f"127.0.0.1:{server.port}": {
            "requests": 4,
            "bytes": len(FEED),
            "not_modified": 1,
            "rate_limited": 1,
            "failed": 1,
        }
    }


async def test_a_host_that_does_not_answer_failed_and_a_refused_address_got_no_request(make: Make) -> None:
    with counted() as traffic:
        await make(retry_attempts=1).fetch(FetchRequest("http://127.0.0.1:1/feed"))
        await make(retry_attempts=1, allow_private_addresses=False).fetch(FetchRequest("http://127.0.0.1:2/feed"))
    assert traffic == {"127.0.0.1:1": {"requests": 1, "failed": 1}}


async def test_without_a_counter_nothing_is_counted(server: Server, make: Make) -> None:
    server.answers["/feed"] = response(body=FEED)
    with counted() as outer:
        pass
    assert (await make().fetch(FetchRequest(server.url()))).ok
    assert outer == {}
