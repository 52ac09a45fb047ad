"""The Archive port over Azure Blob Storage: on Azure with the app's identity, against Azurite with a connection string.

The SDK is imported at the first call, since an import costs time at a cold start.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from models.errors import NotFound
from services.archive.keys import LARGEST_OBJECT, KeyedArchive, checked_folder
from services.queues.storage import StorageService
from services.topology import ARCHIVE_CONTAINER

if TYPE_CHECKING:
    from azure.storage.blob.aio import BlobServiceClient, ContainerClient

_SENT_AT_ONCE = 4
_REQUEST_BYTES = 1024 * 1024
"""A larger body would hold up the event loop. An object of several requests appears with the last one."""


class BlobArchive(KeyedArchive, StorageService["BlobServiceClient"]):
    """The archive in Azure Blob Storage."""

    CONTAINER = ARCHIVE_CONTAINER
    NAME = "archive"
    ENDPOINT = "BlobEndpoint"
    OPTIONS: ClassVar[Mapping[str, Any]] = {
        "max_single_put_size": _REQUEST_BYTES,
        "max_block_size": _REQUEST_BYTES,
        "max_single_get_size": LARGEST_OBJECT,
    }
    TIMEOUT_SECONDS = 20.0

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

    async def ping(self) -> None:
        with contextlib.suppress(NotFound):  # the first put creates the container
            async with self._container() as container:
                await container.get_container_properties()

    async def _write(self, key: str, data: bytes) -> str:
        from azure.core.exceptions import ResourceExistsError

        try:
            async with self._container() as container:
                return await _upload(container, key, data)
        except NotFound:
            async with self._container() as container:
                # Without public access, which is the default and what Bicep says.
                with contextlib.suppress(ResourceExistsError):
                    await container.create_container()
                return await _upload(container, key, data)

    async def _read(self, key: str) -> bytes | None:
        with contextlib.suppress(NotFound):
            async with self._container() as container:
                stream = await container.download_blob(key)
                return bytes(await stream.readall())
        return None

    async def _folders_in(self, path: str) -> list[str]:
        from azure.storage.blob.aio import BlobPrefix

        with contextlib.suppress(NotFound):
            async with self._container() as container:
                walked = container.walk_blobs(name_starts_with=path or None, delimiter="/")
                found = [str(each.name) async for each in walked if isinstance(each, BlobPrefix)]
                return sorted(each.removeprefix(path).rstrip("/") for each in found)
        return []

    def _sdk(self) -> type[BlobServiceClient]:
        from azure.storage.blob.aio import BlobServiceClient

        return BlobServiceClient

    @contextlib.asynccontextmanager
    async def _container(self) -> AsyncIterator[ContainerClient]:
        """The container, for one call. What is not there becomes NotFound."""
        from azure.core.exceptions import ResourceNotFoundError

        async with self._service() as service:
            try:
                yield service.get_container_client(ARCHIVE_CONTAINER)
            except ResourceNotFoundError as error:
                raise NotFound(str(error)) from None


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
