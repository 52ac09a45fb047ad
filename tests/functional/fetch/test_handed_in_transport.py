"""With httpx's own way to stand in for the network, all rules but those about addresses hold as they do on it."""

import gzip

import httpx
import pytest

from services.fetch.outcome import FetchRequest, FetchStatus
from tests.functional.fetch.conftest import Make

FEED = b"<rss/>"


async def test_answers_may_be_made_up_without_any_network(make: Make) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/old":
            return httpx.Response(301, headers={"Location": "https://new.test/feed?x=1"})
        assert (str(request.url), request.headers["If-None-Match"]) == ("https://new.test/feed?x=1", '"1"')
        packed = {"Content-Encoding": "gzip", "ETag": '"2"'}
        return httpx.Response(200, headers=packed, stream=httpx.ByteStream(gzip.compress(FEED)))

    fetcher = make(tools={"transport": httpx.MockTransport(answer)}, allow_private_addresses=False)
    result = await fetcher.fetch(FetchRequest("https://old.test/old", etag='"1"'))
    assert (result.status, result.body, result.etag) == (FetchStatus.FETCHED, FEED, '"2"')
    assert result.moved_to == "https://new.test/feed?x=1"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (httpx.ReadTimeout("late"), FetchStatus.TIMEOUT),
        (httpx.ConnectError("no"), FetchStatus.CONNECTION),
        (httpx.ReadError("no more"), FetchStatus.CONNECTION),
        (httpx.RemoteProtocolError("what?"), FetchStatus.BAD_RESPONSE),
    ],
)
async def test_httpxs_own_errors_are_outcomes(make: Make, error: httpx.TransportError, status: FetchStatus) -> None:
    def fail(_request: httpx.Request) -> httpx.Response:
        raise error

    result = await make(tools={"transport": httpx.MockTransport(fail)}).fetch(FetchRequest("https://any.test/"))
    assert result.status is status
