"""The Archive port over Azure Blob Storage: on Azure with the app's identity, against Azurite with a connection string.

The SDK is imported at the first call, since an import costs time at a cold start. Its retries are the only ones.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from models.errors import Damaged, InvalidInput, NotFound, Unavailable
from services.archive.keys import LARGEST_OBJECT, checked_folder, checked_key, is_folder, key_of, sha256_of
from services.ports import Archived
from services.queues.storage import API_VERSION, is_this_machine
from services.topology import ARCHIVE_CONTAINER

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential
    from azure.storage.blob.aio import BlobServiceClient, ContainerClient

_SENT_AT_ONCE = 4
_REQUEST_BYTES = 1024 * 1024
"""A larger body would hold up the event loop. An object of several requests appears with the last one."""


class BlobArchive:
    """The archive in Azure Blob Storage.

    One client, made at the first call, for the event loop of that call.

    `connection_string` is for an emulator; else `endpoint`, such as https://<account>.blob.core.windows.net, with a
    `credential`, which the caller owns and closes. A call takes at most `timeout_seconds` with its retries.
    """

    def __init__(
        self,
        connection_string: str | None = None,
        *,
        endpoint: str | None = None,
        credential: AsyncTokenCredential | None = None,
        timeout_seconds: float = 20.0,
    ) -> None:
        if (connection_string is None) == (endpoint is None):
            raise InvalidInput("archive", "either a connection string, or an endpoint with a credential")
        self._connection_string = connection_string
        self._endpoint = endpoint
        self._credential = credential
        self._timeout_seconds = timeout_seconds
        self._client: BlobServiceClient | None = None

    async def put(self, folder: str, data: bytes) -> Archived:
        key = key_of(folder, data)
        try:
            async with self._container() as container:
                etag = await _upload(container, key, data)
        except NotFound:
            async with self._container() as container:
                await _create(container)
                etag = await _upload(container, key, data)
        return Archived(ARCHIVE_CONTAINER, key, key.rpartition("/")[2], len(data), etag)

    async def get(self, key: str) -> bytes:
        async with self._container(f"the archive has no object {key}") as container:
            stream = await container.download_blob(checked_key(key))
            data = bytes(await stream.readall())
        if sha256_of(data) != key.rpartition("/")[2]:
            raise Damaged(f"the object {key} of the archive is damaged: restore an earlier version of it")
        return data

    async def delete_folder(self, folder: str) -> int:
        keys: list[str] = []
        with contextlib.suppress(NotFound):
            async with self._container() as container:
                keys = [name async for name in container.list_blob_names(name_starts_with=f"{checked_folder(folder)}/")]
        for key in keys:
            with contextlib.suppress(NotFound):
                async with self._container() as container:
                    await container.delete_blob(key)
        return len(keys)

    async def folders(self, before: str, *, after: str = "", limit: int = 100) -> list[str]:
        found: list[str] = []
        with contextlib.suppress(NotFound):
            async with self._container() as container:
                for day in await _prefixes(container, ""):
                    if day >= before or len(found) >= limit:
                        break
                    if day >= after[: len(day)]:
                        named = await _prefixes(container, f"{day}/")
                        found += [folder for folder in named if after < folder < before and is_folder(folder)]
        return found[:limit]

    async def ping(self) -> None:
        with contextlib.suppress(NotFound):  # the first put creates the container
            async with self._container() as container:
                await container.get_container_properties()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    @contextlib.asynccontextmanager
    async def _container(self, missing: str = "the archive has no container") -> AsyncIterator[ContainerClient]:
        """The container, for one call. What is not there becomes NotFound, other errors of the SDK and the timeout
        become Unavailable."""
        from azure.core.exceptions import AzureError, ResourceNotFoundError

        try:
            async with asyncio.timeout(self._timeout_seconds):
                yield self._connected().get_container_client(ARCHIVE_CONTAINER)
        except TimeoutError:
            raise Unavailable(f"the archive did not answer within {self._timeout_seconds:g} s") from None
        except ResourceNotFoundError:
            raise NotFound(missing) from None
        except AzureError as error:
            raise Unavailable(f"the archive could not be reached: {type(error).__name__}") from error

    def _connected(self) -> BlobServiceClient:
        if self._client is None:
            self._client = self._new_client()
        return self._client

    def _new_client(self) -> BlobServiceClient:
        from azure.core.pipeline.transport import AioHttpTransport
        from azure.storage.blob.aio import BlobServiceClient

        options: dict[str, Any] = {
            "api_version": API_VERSION,
            **{"retry_total": 2, "initial_backoff": 1, "increment_base": 1, "random_jitter_range": 1},
            **{"connection_timeout": 5, "read_timeout": self._timeout_seconds},
            **{"max_single_put_size": _REQUEST_BYTES, "max_block_size": _REQUEST_BYTES},
            "max_single_get_size": LARGEST_OBJECT,
        }
        if self._connection_string is None:
            return BlobServiceClient(str(self._endpoint), credential=self._credential, **options)
        if is_this_machine(self._connection_string, "BlobEndpoint"):
            # A proxy that the environment names cannot reach this machine's own loopback.
            options["transport"] = AioHttpTransport(use_env_settings=False)
        return BlobServiceClient.from_connection_string(self._connection_string, **options)


async def _upload(container: ContainerClient, key: str, data: bytes) -> str:
    """The ETag of the object. One that is there with the same size is not written again."""
    from azure.core.exceptions import ResourceExistsError

    blob = container.get_blob_client(key)
    try:
        written = await blob.upload_blob(data, max_concurrency=_SENT_AT_ONCE)
    except ResourceExistsError:
        there = await blob.get_blob_properties()
        if there.size == len(data):
            return str(there.etag)
        written = await blob.upload_blob(data, overwrite=True, max_concurrency=_SENT_AT_ONCE)
    return str(written["etag"])


async def _create(container: ContainerClient) -> None:
    """Without public access, which is the default and what Bicep says."""
    from azure.core.exceptions import ResourceExistsError

    with contextlib.suppress(ResourceExistsError):
        await container.create_container()


async def _prefixes(container: ContainerClient, prefix: str) -> list[str]:
    """The folders below the prefix, in order."""
    from azure.storage.blob.aio import BlobPrefix

    walked = container.walk_blobs(name_starts_with=prefix or None, delimiter="/")
    return sorted([str(each.name).rstrip("/") async for each in walked if isinstance(each, BlobPrefix)])
