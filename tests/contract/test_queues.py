"""The Queues port over the wire: what the adapter promises, it promises on the local host's Storage and on Azurite."""

import asyncio
import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from azure.storage.queue.aio import QueueServiceClient

from models.errors import InvalidInput
from services.ports import QueueDepth, Queues
from services.queues.storage import API_VERSION, StorageQueues
from tests.contract import azurite
from tests.queue_service import queue_service

pytestmark = pytest.mark.asyncio(loop_scope="module")
KINDS = ("local host", "azurite") if azurite.available() else ("local host",)
# Microsoft's client loses a bare \r in XML; the app sends base64, which has none.
TRICKY = '<a>&amp; "quoted" \n\t é 你 ]]>'


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=KINDS)
async def connection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    if request.param == "azurite":
        with azurite.running() as emulated:
            yield emulated
        return
    async with queue_service(tmp_path_factory.mktemp("queues")) as served:
        yield served.connection


@pytest_asyncio.fixture(loop_scope="module")
async def service(connection: str) -> AsyncIterator[QueueServiceClient]:
    """Microsoft's own client. Every queue is gone afterwards."""
    async with QueueServiceClient.from_connection_string(connection, api_version=API_VERSION) as service:
        yield service
        async for queue in service.list_queues():
            await service.delete_queue(queue.name)


@pytest_asyncio.fixture(loop_scope="module")
async def queues(connection: str) -> AsyncIterator[Queues]:
    queues = StorageQueues(connection)
    yield queues
    await queues.close()
    await queues.close()


async def filled(service: QueueServiceClient, name: str, *texts: str) -> None:
    queue = await service.create_queue(name)
    for text in texts:
        await queue.send_message(text)


async def test_a_message_is_sent_as_the_functions_read_it_and_creates_a_missing_queue(
    service: QueueServiceClient, queues: Queues
) -> None:
    for _ in range(2):
        await queues.send("one", ["\r\n" + TRICKY])
    received = [each.content async for each in service.get_queue_client("one").receive_messages()]
    assert [base64.b64decode(each).decode() for each in received] == ["\r\n" + TRICKY] * 2


async def test_every_one_of_many_messages_is_sent_once(service: QueueServiceClient, queues: Queues) -> None:
    texts = [f"message {n}" for n in range(70)]
    await queues.send("one", texts)
    received = [each.content async for each in service.get_queue_client("one").receive_messages(messages_per_page=32)]
    assert sorted(base64.b64decode(each).decode() for each in received) == sorted(texts)
    await queues.send("two", [])
    assert await queues.depths(["two"]) == [QueueDepth("two", 0, 0)]


async def test_a_delayed_message_is_hidden_meanwhile(service: QueueServiceClient, queues: Queues) -> None:
    now = asyncio.get_running_loop().time
    await queues.send("one", ["late"], delay_seconds=600)
    assert await queues.depths(["one"]) == [QueueDepth("one", 1, 0)]
    assert await service.get_queue_client("one").receive_message() is None
    began = now()
    await queues.send("one", ["soon"], delay_seconds=0.2)
    while (message := await service.get_queue_client("one").receive_message()) is None:  # noqa: ASYNC110 - no service tells
        await asyncio.sleep(0.1)
    assert now() - began >= 0.2
    assert base64.b64decode(message.content) == b"soon"


@pytest.mark.parametrize(("text", "delay"), [("x" * (48 * 1024 + 1), 0), ("x", -1), ("x", 7 * 24 * 3600 + 1)])
async def test_what_no_queue_takes_is_refused_before_anything_is_sent(queues: Queues, text: str, delay: float) -> None:
    with pytest.raises(InvalidInput):
        await queues.send("one", ["x", text], delay_seconds=delay)
    assert await queues.depths(["one"]) == [QueueDepth("one", 0, 0)]


async def test_depths_come_in_the_order_asked_and_a_missing_queue_is_empty(
    service: QueueServiceClient, queues: Queues
) -> None:
    await filled(service, "one", "a", "b", "c")
    await filled(service, "one-poison", "d")
    await filled(service, "two-poison", "e", "f")
    assert await queues.depths(["two", "one", "none"]) == [
        QueueDepth("two", 0, 2),
        QueueDepth("one", 3, 1),
        QueueDepth("none", 0, 0),
    ]
    assert await queues.depths([]) == []


async def test_a_hidden_message_still_counts(service: QueueServiceClient, queues: Queues) -> None:
    await filled(service, "one", "a")
    assert await service.get_queue_client("one").receive_message() is not None
    assert await queues.depths(["one"]) == [QueueDepth("one", 1, 0)]


async def test_the_oldest_message_is_that_which_was_sent_first_of_those_that_wait(
    service: QueueServiceClient, queues: Queues
) -> None:
    queue = await service.create_queue("one")
    await queues.send("one", ["c"], delay_seconds=30)
    assert [await queues.oldest(name) for name in ("none", "one")] == [None, None]
    first = (await queue.send_message("a", visibility_timeout=2)).inserted_on
    assert first is not None
    assert abs(first - datetime.now(UTC)) < timedelta(seconds=60)
    await asyncio.sleep(1.1)
    second = (await queue.send_message("b")).inserted_on
    assert second is not None
    assert second > first
    async with asyncio.timeout(300):
        while await queues.oldest("one") != first:  # noqa: ASYNC110 (it waits behind the younger one)
            await asyncio.sleep(0.05)


async def test_a_peek_reads_what_the_functions_read_and_changes_nothing(
    service: QueueServiceClient, queues: Queues
) -> None:
    await filled(service, "one-poison", base64.b64encode(b"\r\n" + TRICKY.encode()).decode(), "not base64!", TRICKY)
    for _ in range(2):
        assert await queues.peek_poison("one", 32) == ["\r\n" + TRICKY, "not base64!", TRICKY]
    assert await queues.peek_poison("one", 1) == ["\r\n" + TRICKY]
    assert await queues.peek_poison("none", 32) == []


async def test_redrive_moves_messages_as_they_are_up_to_the_limit(service: QueueServiceClient, queues: Queues) -> None:
    texts = [TRICKY, *(f"message {n}" for n in range(69))]
    await filled(service, "one-poison", *texts)
    assert await queues.redrive("one", 40) == 40
    assert await queues.depths(["one"]) == [QueueDepth("one", 40, 30)]
    assert await queues.redrive("one", 1000) == 30
    assert await queues.redrive("one", 1000) == 0
    assert await queues.redrive("none", 5) == 0
    received = [each.content async for each in service.get_queue_client("one").receive_messages(messages_per_page=32)]
    assert received == texts


@pytest.mark.parametrize("limit", [0, 33])
async def test_limits_are_checked(queues: Queues, limit: int) -> None:
    with pytest.raises(InvalidInput):
        await queues.peek_poison("one", limit)
    with pytest.raises(InvalidInput):
        await queues.redrive("one", 0)
