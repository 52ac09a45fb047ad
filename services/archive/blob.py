"""The Archive port over Azure Blob Storage: on Azure with the app's identity, against Azurite with a connection string.

The SDK is imported at the first call, since an import costs time at a cold start.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from models.errors import Damaged, NotFound
from services.archive.keys import LARGEST_OBJECT, checked_folder, checked_key, is_folder, key_of, sha256_of
from services.ports import Archived
from services.queues.storage import StorageService
from services.topology import ARCHIVE_CONTAINER

if TYPE_CHECKING:
    from azure.storage.blob.aio import BlobServiceClient, ContainerClient

_SENT_AT_ONCE = 4
_REQUEST_BYTES = 1024 * 1024
"""A larger body would hold up the event loop. An object of several requests appears with the last one."""


class BlobArchive(StorageService["BlobServiceClient"]):
    """The archive in Azure Blob Storage."""

    NAME = "archive"
    ENDPOINT = "BlobEndpoint"
    OPTIONS: ClassVar[Mapping[str, Any]] = {
        "max_single_put_size": _REQUEST_BYTES,
        "max_block_size": _REQUEST_BYTES,
        "max_single_get_size": LARGEST_OBJECT,
    }
    TIMEOUT_SECONDS = 20.0

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

    def _sdk(self) -> type[BlobServiceClient]:
        from azure.storage.blob.aio import BlobServiceClient

        return BlobServiceClient

    @contextlib.asynccontextmanager
    async def _container(self, missing: str = "the archive has no container") -> AsyncIterator[ContainerClient]:
        """The container, for one call. What is not there becomes NotFound."""
        from azure.core.exceptions import ResourceNotFoundError

        async with self._service() as service:
            try:
                yield service.get_container_client(ARCHIVE_CONTAINER)
            except ResourceNotFoundError:
                raise NotFound(missing) from None


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
