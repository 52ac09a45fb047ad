"""Redirects: followed a little way, remembered if they are for good, never with a secret to strangers."""

import pytest

from services.fetch.outcome import BasicCredential, FetchRequest, FetchStatus, HeaderCredential
from tests.functional.fetch.conftest import Make, Server, response


def to(location: str, code: int = 301) -> bytes:
    return response(code, b"", Location=location)


async def test_a_chain_that_is_permanent_all_the_way_says_where_the_feed_moved(server: Server, make: Make) -> None:
    server.answers |= {"/feed": to("/b"), "/b": to(server.url("/c?x=1#top"), 308), "/c": response()}
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.url) == (FetchStatus.FETCHED, server.url("/c?x=1"))
    assert result.moved_to == server.url("/c?x=1")


@pytest.mark.parametrize("codes", [(302, 301), (301, 302), (303, 308), (307, 307)])
async def test_one_temporary_step_makes_the_chain_temporary(server: Server, make: Make, codes: tuple[int, int]) -> None:
    server.answers |= {"/feed": to("/b", codes[0]), "/b": to("c", codes[1]), "/c": response()}
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.moved_to) == (FetchStatus.FETCHED, None)


async def test_a_permanent_redirect_to_nothing_is_not_remembered(server: Server, make: Make) -> None:
    server.answers["/feed"] = to("/nowhere")
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.moved_to) == (FetchStatus.NOT_FOUND, None)


async def test_a_304_after_a_redirect_is_not_modified_and_moved(server: Server, make: Make) -> None:
    server.answers |= {"/feed": to("/b"), "/b": response(304)}
    result = await make().fetch(FetchRequest(server.url(), etag='"1"'))
    assert (result.status, result.moved_to) == (FetchStatus.NOT_MODIFIED, server.url("/b"))


async def test_a_circle_is_noticed_at_its_first_round(server: Server, make: Make) -> None:
    server.answers |= {"/feed": to("/b", 302), "/b": to("/feed", 302)}
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.attempts, len(server.requests)) == (FetchStatus.REDIRECT_LOOP, 1, 2)


@pytest.mark.parametrize(
    ("location", "status"),
    [
        ("", FetchStatus.BAD_RESPONSE),
        ("javascript:alert(1)", FetchStatus.INVALID_URL),
        ("file:///etc/passwd", FetchStatus.INVALID_URL),
        ("ftp://example.com/", FetchStatus.INVALID_URL),
        ("http://user:secret@127.0.0.1/", FetchStatus.INVALID_URL),
        ("http://[::1", FetchStatus.INVALID_URL),
        ("http://][@/", FetchStatus.INVALID_URL),
        ("http://127.0.0.1:99999/", FetchStatus.INVALID_URL),
        ("http://2130706433/", FetchStatus.REFUSED_ADDRESS),
    ],
)
async def test_a_redirect_to_where_nobody_should_go_is_not_followed(
    server: Server, make: Make, location: str, status: FetchStatus
) -> None:
    server.answers["/feed"] = to(location)
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, len(server.requests)) == (status, 1)
    assert "secret" not in str(result.error)


async def test_a_location_in_raw_utf8_is_understood(server: Server, make: Make) -> None:
    server.answers |= {
        "/feed": b"HTTP/1.1 302 x\r\nContent-Length: 0\r\nLocation: /caf\xc3\xa9\r\n\r\n",
        "/caf%C3%A9": response(),
    }
    assert (await make().fetch(FetchRequest(server.url()))).ok


@pytest.mark.parametrize("credential", [BasicCredential("u", "p"), HeaderCredential("X-Key", "k")])
async def test_a_credential_stays_at_its_origin_even_if_the_way_leads_back(
    server: Server, make: Make, credential: BasicCredential | HeaderCredential
) -> None:
    abroad = server.url("/abroad", host="localhost")
    server.answers |= {"/feed": to("/home", 302), "/home": to(abroad, 302)}
    server.answers |= {"/abroad": to(server.url("/trap"), 302), "/trap": response()}
    assert (await make().fetch(FetchRequest(server.url(), credential=credential))).ok
    name = "authorization" if isinstance(credential, BasicCredential) else "x-key"
    assert [each.path for each in server.requests if name in each.headers] == ["/feed", "/home"]
