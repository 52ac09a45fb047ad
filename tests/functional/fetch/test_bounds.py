"""Size, time and concurrency have ends, whatever the other side does."""

import asyncio
import gzip
import os
import tracemalloc
import zlib

import httpx
import pytest

from services.fetch.fetcher import Fetcher
from services.fetch.limits import FREE_BYTES, BodyBudget, BodyReservation
from services.fetch.outcome import FetchRequest, FetchStatus
from services.settings import Settings
from tests.builders import now_of_loop, on_a_clock_of_its_own
from tests.functional.fetch.conftest import Make, Names, Request, Server, response

FEED = b"<rss version='2.0'>" + b"<item>news</item>" * 200 + b"</rss>"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(FEED, mtime=0)),
        ("deflate", zlib.compress(FEED)),
        ("gzip", FEED),
        ("identity", gzip.compress(FEED, mtime=0)),
    ],
)
async def test_compressed_bodies_are_read_also_if_the_header_lies(
    server: Server, make: Make, encoding: str, body: bytes
) -> None:
    server.answers["/feed"] = response(body=body, Content_Encoding=encoding)
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.body) == (FetchStatus.FETCHED, FEED)


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"\x0b\x02"), ("gzip", gzip.compress(FEED, mtime=0)[:-9]), ("gzip, gzip", FEED)]
)
async def test_a_body_that_cannot_be_decoded_says_so(server: Server, make: Make, encoding: str, body: bytes) -> None:
    server.answers["/feed"] = response(body=body, Content_Encoding=encoding)
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.attempts) == (FetchStatus.BAD_RESPONSE, 1)
    assert "cannot be decoded" in str(result.error)


async def test_a_gzip_bomb_is_not_unpacked_to_its_end_and_costs_no_memory(server: Server, make: Make) -> None:
    """Its last bytes are wrong: who unpacks all of it calls the response damaged, not too large."""
    packer = zlib.compressobj(1, wbits=31)
    bomb = b"".join([packer.compress(b"\0" * 10_000_000) for _ in range(4)]) + packer.flush()
    bomb = bomb[:-8] + bytes(8)
    with pytest.raises(zlib.error):
        zlib.decompress(bomb, wbits=31)
    server.answers["/feed"] = response(body=bomb, Content_Encoding="gzip")
    fetcher = make()
    await fetcher.fetch(FetchRequest(server.url("/warm")))
    tracemalloc.start()
    result = await fetcher.fetch(FetchRequest(server.url()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (result.status, result.attempts, result.body) == (FetchStatus.TOO_LARGE, 1, None)
    assert peak < 8_000_000


async def test_a_body_over_the_cap_is_refused_by_its_announced_length(server: Server, make: Make) -> None:
    server.answers["/feed"] = b"HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n" + b"x" * 100
    assert (await make().fetch(FetchRequest(server.url()))).status is FetchStatus.TOO_LARGE


async def test_an_endless_body_ends_at_the_cap(server: Server, make: Make) -> None:
    sent = 0

    async def pour(_request: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 65536)
            sent += 65536
            await writer.drain()

    server.answers["/feed"] = pour
    result = await make(tools={"most_bytes": 1_000_000}).fetch(FetchRequest(server.url()))
    assert result.status is FetchStatus.TOO_LARGE
    assert sent < 20_000_000


async def test_a_server_that_sends_a_byte_now_and_then_runs_out_of_time(server: Server, make: Make) -> None:
    async def drip(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    server.answers["/feed"] = drip
    result = await make(request_timeout_seconds=0.2, retry_attempts=2).fetch(FetchRequest(server.url()))
    assert (result.status, result.attempts, result.fingerprint) == (FetchStatus.TIMEOUT, 2, "timeout")
    assert result.duration_ms >= 400


def names_of_this_machine() -> dict[str, object]:
    return {"resolver": Names(one_test=["127.0.0.1"], other_test=["127.0.0.1"])}


async def test_a_cancelled_fetch_gives_its_turn_back(server: Server, make: Make) -> None:
    async def never(_request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    server.answers |= {"/never": never, "/feed": response()}
    fetcher = make(max_concurrent_requests=1, max_concurrent_requests_per_host=1, tools=names_of_this_machine())
    never_answered = FetchRequest(server.url("/never", host="one.test"))
    stuck, waiting = (asyncio.create_task(fetcher.fetch(never_answered)) for _ in range(2))
    await asyncio.sleep(0.05)
    for task in (stuck, waiting):
        task.cancel()
    assert [type(each) for each in await asyncio.gather(stuck, waiting, return_exceptions=True)] == [
        asyncio.CancelledError
    ] * 2
    assert (await asyncio.wait_for(fetcher.fetch(FetchRequest(server.url(host="one.test"))), 30)).ok


@on_a_clock_of_its_own
async def test_large_bodies_wait_for_the_budget_without_running_out_of_time_and_small_ones_do_not_wait() -> None:
    large = b"<rss>" + os.urandom(1_500_000).hex().encode() + b"</rss>"
    bodies = {"/large": large, "/small": b"<rss/>"}

    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=httpx.ByteStream(bodies[request.url.path]))

    settings = Settings(store="sqlite", fetch_user_agent=("toolpulse-test",), request_timeout_seconds=1.0)
    fetcher = Fetcher(settings, monotonic=now_of_loop, transport=httpx.MockTransport(respond))
    budget, of_large = BodyBudget(4_000_000), "https://a.example/large"
    with budget.reservation() as first:
        held = await fetcher.fetch(FetchRequest(of_large, reservation=first))
        with budget.reservation() as second:
            waiting = asyncio.create_task(fetcher.fetch(FetchRequest(of_large, reservation=second)))
            small = await fetcher.fetch(FetchRequest("https://a.example/small", reservation=BodyReservation(budget)))
            await asyncio.sleep(100)
            assert (held.ok, small.ok, waiting.done()) == (True, True, False)
            assert budget.reserved_bytes <= budget.most_bytes
            first.release()
            result = await waiting
            assert result.body == large
            assert result.duration_ms == 0, "waiting for the budget is no time of the server's"
    assert budget.reserved_bytes == 0
    await fetcher.close()


async def test_a_bomb_takes_no_more_than_its_reservation_while_it_waits(server: Server, make: Make) -> None:
    bomb = gzip.compress(os.urandom(60_000) + b"\0" * 5_000_000, mtime=0)
    server.answers["/bomb"] = response(body=bomb, Content_Encoding="gzip")
    budget, fetcher = BodyBudget(1_000_000), make()
    first = BodyReservation(budget)
    await first.grow(1_200_000)
    with budget.reservation() as second:
        waiting = asyncio.create_task(fetcher.fetch(FetchRequest(server.url("/bomb"), reservation=second)))
        await asyncio.sleep(0.3)
        assert (waiting.done(), second.granted_bytes) == (False, FREE_BYTES)
        waiting.cancel()
