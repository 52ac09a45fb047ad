"""The Queues port against services that do not answer, and the errors of the local host's Storage interface."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from models.errors import InvalidInput, Unavailable
from scripts.local_host.storage_rest import connection_string
from services.ports import Queues
from services.queues.storage import StorageQueues
from tests.functional.local_host.sample import Sample

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Microsoft's client loses a bare \r in XML; the bindings send base64, which has none.
@pytest_asyncio.fixture(loop_scope="module")
async def queues(sample: Sample) -> AsyncIterator[Queues]:
    queues = StorageQueues(connection_string(sample.host.url))
    yield queues
    await queues.close()
    await queues.close()


async def test_a_redriven_message_is_worked_on_again(sample: Sample, queues: Queues) -> None:
    assert await sample.send(many=["fail redriven"]) == 202
    await sample.until_count("work-poison", 1)
    assert await queues.peek_poison("work", 1) == ["fail redriven"]
    assert await queues.redrive("work", 1) == 1
    await sample.until_count("work-poison", 1)
    assert [each["count"] for each in sample.recorded(text="fail redriven")] == [1, 2, 3, 4, 5] * 2


async def test_no_response_differs_from_no_messages(unused_tcp_port: int) -> None:
    queues = StorageQueues(connection_string(f"http://127.0.0.1:{unused_tcp_port}"), timeout_seconds=0.3)
    with pytest.raises(Unavailable):
        await queues.depths(["one"])
    with pytest.raises(Unavailable):
        await queues.peek_poison("one", 1)
    with pytest.raises(Unavailable):
        await queues.redrive("one", 1)
    with pytest.raises(Unavailable):
        await queues.send("one", ["a"] * 20)
    await queues.close()


async def test_a_call_to_a_service_that_hangs_times_out() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    queues = StorageQueues(connection_string(f"http://127.0.0.1:{port}"), timeout_seconds=0.3)
    with pytest.raises(Unavailable, match="within"):
        await queues.depths(["one", "two"])
    await queues.close()
    server.close()
    await server.wait_closed()


async def test_a_message_that_cannot_be_sent_back_stays_in_the_poison_queue() -> None:
    moment = "Sat, 21 Feb 2026 20:00:00 GMT"
    fields = {"MessageId": "1", "PopReceipt": "r", "DequeueCount": "1", "MessageText": "work"}
    fields |= dict.fromkeys(("InsertionTime", "ExpirationTime", "TimeNextVisible"), moment)
    message = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    asked = []

    async def storage(request: web.BaseRequest) -> web.Response:
        asked.append((request.method, request.path.split("/")[2]))
        if request.method == "POST":
            return web.Response(status=503)
        xml = f"<QueueMessagesList><QueueMessage>{message}</QueueMessage></QueueMessagesList>"
        return web.Response(text=xml, content_type="application/xml")

    async with RawTestServer(storage) as server:
        queues = StorageQueues(connection_string(f"http://127.0.0.1:{server.port}"))
        with pytest.raises(Unavailable):
            await queues.redrive("one", 1)
        await queues.close()
    assert asked == [("GET", "one-poison"), ("POST", "one")]


async def test_either_a_connection_string_or_a_service_is_needed() -> None:
    with pytest.raises(InvalidInput):
        StorageQueues()
    with pytest.raises(InvalidInput):
        StorageQueues("UseDevelopmentStorage=true", url="https://x")


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("PUT", "No_Name", "", "InvalidResourceName"),
        ("GET", "missing/messages", "", "QueueNotFound"),
        ("GET", "done/messages?numofmessages=33", "", "OutOfRangeQueryParameterValue"),
        ("GET", "done/messages?numofmessages=x", "", "InvalidQueryParameterValue"),
        ("GET", "done/messages?visibilitytimeout=0", "", "OutOfRangeQueryParameterValue"),
        ("POST", "done/messages", "<QueueMessage>", "InvalidXmlDocument"),
        ("POST", "done/messages", "<QueueMessage></QueueMessage>", "InvalidXmlDocument"),
        ("POST", "done/messages", "<!DOCTYPE x [<!ENTITY a 'b'>]><QueueMessage/>", "InvalidXmlDocument"),
        ("POST", "done/messages?messagettl=0", "<Q><MessageText>x</MessageText></Q>", "OutOfRangeQueryParameterValue"),
        ("POST", "done/messages", f"<Q><MessageText>{'x' * 65537}</MessageText></Q>", "RequestBodyTooLarge"),
        ("DELETE", "done/messages/x?popreceipt=y", "", "MessageNotFound"),
        ("PATCH", "done", "", "UnsupportedHttpVerb"),
        ("GET", "?restype=service&comp=properties", "", "NotImplemented"),
    ],
)
async def test_a_wrong_call_has_storages_own_error(
    sample: Sample, method: str, path: str, body: str, code: str
) -> None:
    async with sample.client.put("/devstoreaccount1/done"):
        pass
    async with sample.client.request(method, f"/devstoreaccount1/{path}", data=body) as response:
        assert response.headers["x-ms-error-code"] == code
        assert response.status >= 400
