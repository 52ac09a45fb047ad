"""HTTP as the real host has it, and the host's own addresses."""

import asyncio
import io
import json
import re
import socket
from urllib.parse import urlsplit

import aiohttp
import pytest
from yarl import URL

from tests.functional.local_host.sample import Sample

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def raw(sample: Sample, request: bytes) -> bytes:
    """What the host answers to bytes that no client would send."""
    port = urlsplit(sample.host.url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_body_is_passed_on_as_it_came_whatever_its_encoding_is_called(sample: Sample) -> None:
    headers = {"Content-Encoding": "gzip"}
    async with (
        aiohttp.ClientSession() as client,
        client.post(sample.host.url + "/api/v1/Echo/7/a", data=b"plain", headers=headers) as response,
    ):
        assert (response.status, (await response.json())["body"]) == (201, "plain")


async def test_a_request_reaches_its_function_as_the_real_host_passes_it_on(sample: Sample) -> None:
    headers = [("X-Twice", "1"), ("X-Twice", "2"), ("traceparent", "00-" + "1" * 32 + "-" + "2" * 16 + "-01")]
    path = "/api/v1/Echo/7/a%2Fb%20c/?x=1&x=2&empty=&y=%26"
    url = URL(sample.host.url + path, encoded=True)
    async with aiohttp.ClientSession() as client, client.post(url, data=b"body", headers=headers) as response:
        shown = await response.json()
    assert shown["method"] == "POST"
    assert shown["url"] == sample.host.url + path
    assert shown["headers"]["x-twice"] == "1,2"
    assert shown["params"] == {"x": "1,2", "y": "&"}
    assert shown["route_params"] == {"id": "7", "rest": "a%2Fb c"}
    assert (shown["body"], shown["function"]) == ("body", "echo")
    assert shown["parent"] == headers[2][1]
    lines = [json.loads(line) for line in sample.host.printed().splitlines()]
    of_call = [line for line in lines if line.get("invocation") == shown["invocation"]]
    assert [(line["level"], line["function"]) for line in of_call] == [
        ("debug", "echo"),
        *[("information", "echo")] * 2,
    ]
    assert of_call[1]["message"] == "echoing"
    assert re.fullmatch(r"Executed 'Functions\.echo' \(Succeeded, \d+, \d+ ms\)", of_call[2]["message"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/api/v1/ping", 200),
        ("GET", "/api/v1/ping/", 200),
        ("POST", "/api/v1/ping", 404),
        ("HEAD", "/api/v1/ping", 404),
        ("OPTIONS", "/api/v1/ping", 404),
        ("HEAD", "/api/v1/echo/7", 201),
        ("OPTIONS", "/api/v1/echo/7", 201),
        ("GET", "/v1/ping", 404),
        ("GET", "/api/v1/wrong/not", 200),
        ("GET", "/api/v1/wrong/none", 500),
        ("GET", "/api/v1/wrong/raise", 500),
        ("GET", "/api/v1/wrong/exit", 500),
        ("GET", "/api/v1/wrong/name", 500),
        ("GET", "/api/v1/wrong/cookie", 500),
        ("GET", "/api/v1/wrong/status", 200),
        ("GET", "/api/v1/wrong/words", 500),
    ],
)
async def test_the_status_is_the_real_hosts(sample: Sample, method: str, path: str, status: int) -> None:
    async with sample.client.request(method, path) as response:
        body = await response.read()
        assert (response.status, response.headers["X-Content-Type-Options"]) == (status, "nosniff")
        assert method != "HEAD" or not body
        assert status != 500 or not body


async def test_a_function_that_raises_leaves_its_traceback_in_the_log(sample: Sample) -> None:
    await (await sample.client.get("/api/v1/wrong/raise")).read()
    await sample.until(lambda: "ValueError: as asked" in sample.host.printed())
    printed = sample.host.printed()
    assert "function_app.py" in printed
    assert "Executed 'Functions.wrong' (Failed, " in printed


async def test_a_function_is_stopped_at_its_time_limit(sample: Sample) -> None:
    async with sample.client.get("/api/v1/wrong/hang") as response:
        assert response.status == 500
    await sample.until(lambda: "longer than functionTimeout, 1 s" in sample.host.printed())


async def test_a_chunked_body_is_not_passed_on_as_in_the_real_host(sample: Sample) -> None:
    async def chunks():  # type: ignore[no-untyped-def]
        yield b"body"

    async with sample.client.post("/api/v1/echo/7", data=chunks()) as response:  # type: ignore[no-untyped-call]
        assert (await response.json())["body"] == ""


async def test_a_large_body_arrives_and_a_body_that_never_arrives_delays_no_other_request(sample: Sample) -> None:
    async with sample.client.post("/api/v1/echo/7", data=io.BytesIO(b"x" * 5_000_000)) as response:
        assert len((await response.json())["body"]) == 5_000_000
    head = b"POST /api/v1/echo/7 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n"
    port = urlsplit(sample.host.url).port
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head)
        assert (await sample.client.get("/api/v1/ping")).status == 200


async def test_expect_100_continue_is_answered(sample: Sample) -> None:
    head = b"POST /api/v1/echo/7 HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
    answer = await raw(sample, head + b"Connection: close\r\n\r\nhi")
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201")


@pytest.mark.parametrize(
    "request_",
    [
        b"nonsense\r\n\r\n",
        b"GET /api/v1/ping HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET /api/v1/ping HTTP/1.1\r\nHost: localhost\r\nX-Key: \xff\r\nConnection: close\r\n\r\n",
        b"GET /api/v1/words?say=\xff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ],
)
async def test_a_request_that_is_no_http_is_a_bad_request(sample: Sample, request_: bytes) -> None:
    assert (await raw(sample, request_)).startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))


async def test_a_thousand_requests_at_concurrency_64_all_succeed(sample: Sample) -> None:
    left, statuses = iter(range(1_000)), list[int]()

    async def caller(client: aiohttp.ClientSession) -> None:
        for _ in left:
            async with client.get("/api/v1/ping") as response:
                assert await response.read() == b"pong"
                statuses.append(response.status)

    connector = aiohttp.TCPConnector(limit=64)
    async with aiohttp.ClientSession(sample.host.url, connector=connector) as client:
        await asyncio.gather(*(caller(client) for _ in range(64)))
    assert statuses == [200] * 1_000


async def test_a_timer_is_fired_by_an_administrator(sample: Sample) -> None:
    before = len(sample.recorded(timer="tick"))
    async with sample.client.post("/admin/functions/tick", json={"input": ""}) as response:
        assert response.status == 202
    await sample.until(lambda: len(sample.recorded(timer="tick")) == before + 1)
    async with sample.client.post("/admin/functions/TICK?wait=1", json={}) as response:
        outcome = await response.json()
    assert (response.status, outcome["status"], outcome["error"], outcome["sent"]) == (200, "succeeded", None, [])
    assert len(sample.recorded(timer="tick")) == before + 2


async def test_a_queue_function_is_fired_by_an_administrator_without_a_queue(sample: Sample) -> None:
    async with sample.client.post("/admin/functions/work?wait=1", json={"input": "by hand"}) as response:
        outcome = await response.json()
    assert outcome["sent"] == [{"queue": "done", "message": "done by hand"}]
    assert [each["count"] for each in sample.recorded(text="by hand")] == [0]
    async with sample.client.post("/admin/functions/work?wait=1", json={"input": "fail by hand"}) as response:
        outcome = await response.json()
    assert (outcome["status"], outcome["sent"]) == ("failed", [])
    assert "RuntimeError: will not do fail by hand" in outcome["error"]


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("nowhere", "{}", 404),
        ("tick", "", 400),
        ("tick", "[]", 400),
        ("work", '{"input": {}}', 400),
        ("ping", "{}", 400),
    ],
)
async def test_an_administrators_wrong_call_is_refused(sample: Sample, name: str, body: str, status: int) -> None:
    async with sample.client.post(f"/admin/functions/{name}", data=body) as response:
        assert response.status == status


async def test_the_host_lists_its_functions(sample: Sample) -> None:
    async with sample.client.get("/admin/functions") as response:
        functions = {each["name"]: each for each in await response.json()}
    assert functions["send"]["route"] == "api/v1/send"
    assert functions["send"]["outputs"] == {"many": "work", "one": "other"}
    assert functions["work"]["queue"] == "work"
    assert functions["tick"]["schedule"] == "0 0 0 1 1 *"
    async with sample.client.get("/admin/host/status") as response:
        assert (await response.json())["state"] == "Running"
    assert (await sample.client.get("/admin/host/ping")).status == 200
    assert (await sample.client.get("/admin/else")).status == 404


async def test_a_page_of_another_site_can_use_no_address_of_the_host_and_one_of_this_machine_can(
    sample: Sample,
) -> None:
    addresses = ("/admin/functions", "/devstoreaccount1?comp=list", "/api/v1/ping", "/api/v1/echo/7", "/")
    foreign = ("evil.example", "localhost.evil.example", "[", "[::1")
    others = ("https://evil.example", "http://127.0.0.1.evil.example", "null")
    for headers in (*({"Host": each} for each in foreign), *({"Origin": each} for each in others)):
        for path in addresses:
            assert (await sample.client.get(path, headers=headers)).status == 403, (path, headers)
    for headers in ({"Host": "localhost:7071"}, {"Host": "[::1]"}, {"Origin": "http://localhost:3000"}):
        assert (await sample.client.get("/api/v1/ping", headers=headers)).status == 200, headers
    taking = "/devstoreaccount1/work/messages?visibilitytimeout=600"
    for headers in ({"Origin": "http://localhost:3000"}, {"Sec-Fetch-Site": "same-site"}):
        assert (await sample.client.get(taking, headers=headers)).status == 403, headers
        assert (await sample.client.post("/admin/functions/tick", data="{}", headers=headers)).status == 403, headers
    for headers in ({}, {"Origin": sample.host.url, "Sec-Fetch-Site": "same-origin"}):
        assert (await sample.client.post("/admin/functions/tick", data="{}", headers=headers)).status == 202
    for name in ("Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "Via"):
        refused = await sample.client.get("/api/v1/ping", headers={name: "198.51.100.7"})
        assert (refused.status, "set FUNCTION_KEYS" in await refused.text()) == (403, True), name
