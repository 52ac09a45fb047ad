"""The adapters of a worker: its store, queues, archive and analyzers, and the credential and the telemetry of Azure.

Each is imported if the settings choose it, and closed with the worker's resources.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from models.errors import InvalidInput, Unavailable, Unusable, WrongSettings
from models.version import VERSION
from services import logs, telemetry
from services.mentions.analyzers.port import Analyzers
from services.operations import migrations
from services.ports import Archive, Clock, Queues
from services.settings import Settings

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

    from services.mentions.analyzers.port import Analyzer
    from services.store.cosmos import CosmosStore
    from services.store.sqlite import SqliteStore


NewCredential = Callable[[], "AsyncTokenCredential"]

log = logging.getLogger("toolpulse.container")


async def begin_telemetry(settings: Settings, resources: AsyncExitStack) -> None:
    if not settings.telemetry_connection:
        return
    from services import azure_monitor

    backend = azure_monitor.begin(settings.telemetry_connection, VERSION, settings.telemetry_sample_ratio)
    telemetry.begin(backend)
    resources.push_async_callback(asyncio.to_thread, backend.close)
    resources.callback(telemetry.end)


def credentials(resources: AsyncExitStack) -> NewCredential:
    @cache
    def credential() -> AsyncTokenCredential:
        from azure.identity.aio import DefaultAzureCredential

        made = DefaultAzureCredential()
        resources.push_async_callback(made.close)
        return made

    return credential


async def opened_store(
    settings: Settings, clock: Clock, credential: NewCredential, resources: AsyncExitStack, *, migrate: bool
) -> SqliteStore | CosmosStore:
    """The store, checked and with its containers. With `migrate`, an embedded store is migrated; for Cosmos DB, the
    deployment runs scripts/migrate.py. Raises Unusable if the store has another format."""
    adapter = _store(settings, clock, credential)
    resources.push_async_callback(adapter.close)
    await adapter.ensure_containers()
    try:
        await migrations.check(adapter)
    except Unusable:
        raise
    except Unavailable as error:  # health and every call will say so
        logs.log_event(log, logging.WARNING, "format_not_checked", error=str(error))
    if migrate and settings.store == "sqlite":
        async for migration in migrations.run_pending(adapter, clock):
            logs.log_event(log, logging.INFO, "migrated", number=migration.number, name=migration.name)
    return adapter


def _store(settings: Settings, clock: Clock, credential: NewCredential) -> SqliteStore | CosmosStore:
    if settings.store == "sqlite":
        from services.store.sqlite import SqliteStore

        return SqliteStore(Path(settings.data_dir) / "toolpulse.db", clock)
    from services.store.cosmos import CosmosStore

    return CosmosStore(
        settings.cosmos_endpoint,
        settings.cosmos_database,
        clock,
        key=settings.cosmos_key or None,
        credential=None if settings.cosmos_key else credential(),
    )


def archive_of(settings: Settings, credential: NewCredential, resources: AsyncExitStack) -> Archive:
    if settings.archive == "folder":
        from services.archive.folder import FolderArchive

        archive: Archive = FolderArchive(Path(settings.data_dir) / "archive")
    else:
        archive = _blob_archive(settings, credential)
    resources.push_async_callback(archive.close)
    return archive


def _blob_archive(settings: Settings, credential: NewCredential) -> Archive:
    from services.archive.blob import BlobArchive

    if settings.archive_connection:
        return BlobArchive(settings.archive_connection)
    url = settings.archive_endpoint
    if not url and settings.storage_account_name:
        url = f"https://{settings.storage_account_name}.blob.core.windows.net"
    if url:
        return BlobArchive(url=url, credential=credential())
    parts = [part.partition("=")[0] for part in settings.storage_connection.split(";")]
    if not settings.storage_connection or ("QueueEndpoint" in parts and "BlobEndpoint" not in parts):
        raise WrongSettings("ARCHIVE_ENDPOINT or ARCHIVE_CONNECTION must be set: AzureWebJobsStorage has no blobs")
    return BlobArchive(settings.storage_connection)


def queues_of(settings: Settings, credential: NewCredential) -> Queues:
    from services.queues.storage import StorageQueues

    if settings.storage_connection:
        return StorageQueues(settings.storage_connection)
    url = settings.storage_queue_service_uri
    if not url and settings.storage_account_name:
        url = f"https://{settings.storage_account_name}.queue.core.windows.net"
    if not url:
        raise WrongSettings("AzureWebJobsStorage must be set, or AzureWebJobsStorage__accountName")
    return StorageQueues(url=url, credential=credential())


def analyzers_of(settings: Settings, credential: NewCredential) -> Analyzers:
    def embedded() -> Analyzer:
        from services.mentions.analyzers.embedded import EmbeddedAnalyzer

        return EmbeddedAnalyzer()

    def candidate() -> Analyzer:
        from services.mentions.analyzers.embedded import EmbeddedAnalyzer
        from services.mentions.analyzers.tables import parse_tool_table, unpacked

        if not settings.sentiment_candidate_file:
            raise InvalidInput("analyzer", "candidate needs SENTIMENT_CANDIDATE_FILE")
        try:
            text = unpacked(Path(settings.sentiment_candidate_file))
            return EmbeddedAnalyzer(tool_table=parse_tool_table(text))
        except (OSError, EOFError, ValueError) as error:
            raise InvalidInput("analyzer", f"the table of candidate cannot be read: {error}") from None

    def azure_language() -> Analyzer:
        from services.mentions.analyzers.azure_language import AzureLanguageAnalyzer

        if not settings.azure_language_endpoint:
            raise InvalidInput("analyzer", "azure-language needs AZURE_LANGUAGE_ENDPOINT")
        return AzureLanguageAnalyzer(
            settings.azure_language_endpoint,
            key=settings.azure_language_key or None,
            credential=None if settings.azure_language_key else credential(),
        )

    makers = {"embedded": embedded, "azure-language": azure_language, "candidate": candidate}
    return Analyzers(settings.analyzer, makers)
