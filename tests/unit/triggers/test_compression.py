"""What is long enough is sent in gzip to those who accept it."""

import gzip

import azure.functions as func
import pytest

from triggers.http_codec import WORTH_BYTES, compressed

LONG = b"a" * WORTH_BYTES


async def answered(body: bytes, accepted: str | None, **headers: str) -> func.HttpResponse:
    @compressed
    async def handler(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse(body, status_code=207, headers=headers, mimetype="application/json", charset="utf-8")

    asked = {} if accepted is None else {"Accept-Encoding": accepted}
    return await handler(func.HttpRequest("GET", "http://localhost/api/v1/tools", headers=asked, body=b""))


async def test_a_long_body_is_sent_in_gzip() -> None:
    response = await answered(LONG, "br, gzip", Location="/there")
    assert gzip.decompress(response.get_body()) == LONG
    assert (response.headers["Content-Encoding"], response.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert (response.status_code, response.mimetype, response.charset) == (207, "application/json", "utf-8")
    assert response.headers["Location"] == "/there"


@pytest.mark.parametrize("accepted", [None, "br", "gzip;q=0"])
async def test_a_client_that_accepts_no_gzip_gets_none(accepted: str | None) -> None:
    response = await answered(LONG, accepted)
    assert response.get_body() == LONG
    assert "Content-Encoding" not in response.headers
    assert response.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    ("body", "headers"), [(LONG[1:], {}), (LONG, {"ETag": '"1"'}), (LONG, {"Content-Encoding": "br"})]
)
async def test_what_is_short_tagged_or_encoded_stays_as_it_is(body: bytes, headers: dict[str, str]) -> None:
    response = await answered(body, "gzip", **headers)
    assert response.get_body() == body
    assert response.headers.get("Content-Encoding") == headers.get("Content-Encoding")
