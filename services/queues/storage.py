"""The Queues port over Azure Queue Storage: on Azure, against Azurite, and against the local host alike.

The SDK is imported at the first call, since an import costs time at a cold start. Messages are base64, as host.json's
messageEncoding says.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar
from urllib.parse import urlsplit

from models.errors import InvalidInput, Unavailable
from models.version import USER_AGENT
from services import telemetry
from services.ports import QueueDepth

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential
    from azure.storage.blob.aio import BlobServiceClient
    from azure.storage.queue.aio import QueueClient, QueueServiceClient

API_VERSION = "2024-11-04"
"""Of Storage's REST interface. The SDK would send its newest, which Azurite refuses until it knows that version."""
_POISON = "-poison"
_PAGE = 32
# Longer than the redrive of one page, so that no other reader gets a message in between.
_HIDDEN_SECONDS = 60
_SENT_AT_ONCE = 8
_LONGEST_DELAY_SECONDS = 7 * 24 * 3600
_MESSAGE_BYTES = 48 * 1024


Client = TypeVar("Client", "QueueServiceClient", "BlobServiceClient")


class StorageService(Generic[Client]):
    """A service of a Storage account.

    One client, made at the first call, for the event loop of that call. Its retries are the only ones.

    `connection_string` is for an account key, an emulator or the local host; else `url`, such as
    https://<account>.queue.core.windows.net, with a `credential`, which the caller owns and closes. A call takes at
    most `timeout_seconds` with its retries.
    """

    NAME: ClassVar[str]
    ENDPOINT: ClassVar[str]
    """What names the service in a connection string."""
    OPTIONS: ClassVar[Mapping[str, Any]] = {}
    TIMEOUT_SECONDS: ClassVar[float] = 5.0

    def __init__(
        self,
        connection_string: str | None = None,
        *,
        url: str | None = None,
        credential: AsyncTokenCredential | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        if (connection_string is None) == (url is None):
            raise InvalidInput(self.NAME, "either a connection string, or a URL with a credential")
        self._connection_string = connection_string
        self._url = url
        self._credential = credential
        self._timeout_seconds = timeout_seconds or self.TIMEOUT_SECONDS
        self._client: Client | None = None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _sdk(self) -> type[Client]:
        """The class of the client."""
        raise NotImplementedError

    @contextlib.asynccontextmanager
    async def _service(self) -> AsyncIterator[Client]:
        """The client, for one step of at most `timeout_seconds`. Errors and the timeout become Unavailable."""
        from azure.core.exceptions import AzureError

        try:
            async with asyncio.timeout(self._timeout_seconds):
                if self._client is None:
                    self._client = self._new_client()
                yield self._client
        except TimeoutError:
            raise Unavailable(f"the {self.NAME} did not answer within {self._timeout_seconds:g} s") from None
        except AzureError as error:
            raise Unavailable(f"the {self.NAME} could not be reached: {type(error).__name__}") from error

    def _new_client(self) -> Client:
        from azure.core.pipeline.transport import AioHttpTransport

        sdk = self._sdk()
        options: dict[str, Any] = {
            **{"api_version": API_VERSION, "user_agent": USER_AGENT},
            **{"retry_total": 2, "initial_backoff": 1, "increment_base": 1, "random_jitter_range": 1},
            **{"connection_timeout": min(5.0, self._timeout_seconds), "read_timeout": self._timeout_seconds},
            **self.OPTIONS,
        }
        if self._connection_string is None:
            return sdk(str(self._url), credential=self._credential, **options)
        if is_this_machine(self._connection_string, self.ENDPOINT):
            # A proxy that the environment names cannot reach this machine's own loopback. What the local host refuses
            # on a full disk, it refuses a second later too.
            options |= {"transport": AioHttpTransport(use_env_settings=False), "retry_total": 0}
        return sdk.from_connection_string(self._connection_string, **options)


def is_this_machine(connection_string: str, endpoint: str = "QueueEndpoint") -> bool:
    """Whether this service is on this machine: the local host's, or Azurite's."""
    pairs = dict(part.partition("=")[::2] for part in connection_string.split(";"))
    if pairs.get("UseDevelopmentStorage", "").lower() == "true":
        return "DevelopmentStorageProxyUri" not in pairs
    return urlsplit(pairs.get(endpoint, "")).hostname in ("127.0.0.1", "localhost", "::1")


class StorageQueues(StorageService["QueueServiceClient"]):
    """The queues in Azure Storage."""

    NAME = "queues"
    ENDPOINT = "QueueEndpoint"
    delays = True

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        hidden = math.ceil(delay_seconds)
        if not 0 <= hidden <= _LONGEST_DELAY_SECONDS:
            raise InvalidInput("delay_seconds", f"0 to {_LONGEST_DELAY_SECONDS}")
        texts = [telemetry.with_trace(message).encode() for message in messages]
        if any(len(text) > _MESSAGE_BYTES for text in texts):
            raise InvalidInput("messages", f"at most {_MESSAGE_BYTES} bytes each")
        waiting = iter(texts)

        async def send_next() -> None:
            for text in waiting:
                async with self._service() as service:
                    await _send(service.get_queue_client(name), base64.b64encode(text).decode(), hidden)

        senders = (send_next() for _ in range(min(_SENT_AT_ONCE, len(texts))))
        failures = [each for each in await asyncio.gather(*senders, return_exceptions=True) if each is not None]
        if failures:
            raise failures[0]
        telemetry.record(telemetry.SENT, len(messages), queue=name)

    async def oldest(self, name: str) -> datetime | None:
        async with self._service() as service:
            with _missing_is_empty():
                found = await service.get_queue_client(name).peek_messages(max_messages=_PAGE)
                # A message that failed waits behind younger ones.
                return min((each.inserted_on for each in found if each.inserted_on is not None), default=None)
        return None

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        async with self._service() as service:
            both = [each for name in names for each in (name, name + _POISON)]
            counts = await asyncio.gather(*(_count(service, each) for each in both))
        return [QueueDepth(name, counts[2 * i], counts[2 * i + 1]) for i, name in enumerate(names)]

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        if not 1 <= limit <= _PAGE:
            raise InvalidInput("limit", f"1 to {_PAGE}")
        async with self._service() as service:
            with _missing_is_empty():
                found = await service.get_queue_client(name + _POISON).peek_messages(max_messages=limit)
                return [readable(str(message.content)) for message in found]
        return []

    async def redrive(self, name: str, limit: int) -> int:
        if limit < 1:
            raise InvalidInput("limit", "at least 1")
        moved = 0
        while moved < limit:
            async with self._service() as service:
                page = await _move_page(service, name, min(_PAGE, limit - moved))
            moved += page
            if not page:
                break
        return moved

    def _sdk(self) -> type[QueueServiceClient]:
        from azure.storage.queue.aio import QueueServiceClient

        return QueueServiceClient


def _missing_is_empty() -> contextlib.suppress:
    """A queue that does not exist has no messages."""
    from azure.core.exceptions import ResourceNotFoundError

    return contextlib.suppress(ResourceNotFoundError)


async def _count(service: QueueServiceClient, name: str) -> int:
    with _missing_is_empty():
        properties = await service.get_queue_client(name).get_queue_properties()
        return int(properties.approximate_message_count or 0)
    return 0


async def _send(queue: QueueClient, content: str, hidden_seconds: int) -> None:
    """Sends `content` as it is, and creates the queue if it is missing."""
    from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

    try:
        await queue.send_message(content, visibility_timeout=hidden_seconds)
    except ResourceNotFoundError:
        with contextlib.suppress(ResourceExistsError):
            await queue.create_queue()
        await queue.send_message(content, visibility_timeout=hidden_seconds)


async def _move_page(service: QueueServiceClient, name: str, limit: int) -> int:
    """Moves up to `limit` poison messages back to their queue. Each is sent, with its text unchanged, then deleted."""
    from azure.core.exceptions import ResourceNotFoundError

    poison, queue = service.get_queue_client(name + _POISON), service.get_queue_client(name)
    moved = 0
    with _missing_is_empty():
        async for message in poison.receive_messages(
            max_messages=limit, messages_per_page=limit, visibility_timeout=_HIDDEN_SECONDS
        ):
            await _send(queue, message.content, 0)
            moved += 1
            with contextlib.suppress(ResourceNotFoundError):
                await poison.delete_message(message)
    return moved


def readable(text: str) -> str:
    """A message's text as the functions see it: decoded if it is base64 of text, as the bindings send it."""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return text
