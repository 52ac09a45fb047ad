"""Builds, owns and closes everything that services need, once per worker. The only place that picks adapters.

Triggers call `get`, which builds the container at the first call, inside the event loop. The environment is read then,
not at import.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import random
import secrets
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from models.errors import InvalidInput, Unavailable, WrongSettings
from models.mention import scored_by
from models.version import VERSION
from services import deadline, logs, telemetry
from services.articles.announcing import Announcements
from services.articles.entries import WRITING_AT_ONCE, WRITING_AT_ONCE_EMBEDDED, EntryIngestion
from services.articles.feed_attempts import FeedAttempts
from services.articles.feed_preview import FeedPreviews
from services.articles.ingestion import Ingestion
from services.articles.matching import DocumentCache
from services.articles.overdue import OverdueArticles, OverdueIngestion
from services.articles.poll import FeedPoller
from services.articles.quarantine import Quarantine
from services.articles.reading import Articles
from services.articles.source_moves import SourceMoves
from services.counting import CountWriter
from services.documents import profiles
from services.documents.removal import Removal
from services.documents.services import DocumentServices
from services.documents.texts import FullTexts
from services.feeds import presets
from services.feeds.budget import Budget
from services.feeds.bulk import BulkActions
from services.feeds.claims import Claims
from services.feeds.fetch_days import FetchDays
from services.feeds.host_figures import HostFigures
from services.feeds.hosts import HostStates
from services.feeds.news_apis import enabled_apis
from services.feeds.outage_states import Outages
from services.feeds.presets import Presets
from services.feeds.registry import FeedRegistry
from services.feeds.schedule import Policy
from services.feeds.subscriptions import Subscriptions
from services.fetch.limits import HostLimits
from services.fetch.outcome import credentials_in
from services.figures.figures import Figures
from services.mentions.analyzers.choice import Analyzers
from services.mentions.announcing import RefreshAnnouncer
from services.mentions.carried_corrections import CarriedCorrections
from services.mentions.correction_documents import Corrections
from services.mentions.delays import Delays
from services.mentions.first_article import FirstArticles
from services.mentions.handler import AnalysisHandler, article_messages
from services.mentions.passages import MentionPassages, WordJudge
from services.mentions.tool_references import ToolReferences
from services.mentions.writing import MentionWriter
from services.operations.archive_expiry import ArchiveExpiry
from services.operations.audit import Audit
from services.operations.audit_repair import Repairs
from services.operations.cache_health import CacheHealth
from services.operations.export import Export
from services.operations.health import Health
from services.operations.heartbeats import Heartbeats
from services.operations.metrics import Metrics
from services.operations.traffic import RequestCounters, StoreTraffic
from services.operations.upkeep import Upkeep
from services.parse.news_apis import NEWS_APIS, NewsApi
from services.ports import Archive, Clock, Queues, Store, utc_now
from services.runs.driver import (
    BACKFILL,
    COMPARE,
    CORRECT,
    CORRECT_GROUPING,
    DELETE,
    MERGE,
    PRIORITIZE,
    REANALYZE,
    UNMERGE,
    Workflow,
    Workflows,
)
from services.runs.engine import RunEngine
from services.runs.starting import RunStarts
from services.settings import Settings
from services.signals.announcing import SignalsAnnouncer
from services.signals.handler import SignalsHandler
from services.signals.reading import Signals
from services.signals.writing import SignalWriter
from services.stories.corrections import GroupingCorrections
from services.stories.handler import Grouping
from services.stories.ledger import Ledger
from services.stories.reading import Stories
from services.tools.catalog import Catalog, Watchlist
from services.tools.merges import Merges
from services.topology import ANALYZE_ARTICLES
from services.workflows.backfill import Backfill
from services.workflows.changes import Deletion, FeedChanges, ToolChanges
from services.workflows.comparing import Comparing
from services.workflows.correcting import Correcting, CorrectionChanges
from services.workflows.grouping_corrections import CorrectingGrouping, GroupingChanges
from services.workflows.merging import Merging
from services.workflows.priorities import Priorities
from services.workflows.quarantine_preview import QuarantinePreview
from services.workflows.reanalysis import Reanalysis
from services.workflows.unmerging import Unmerging

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

    from services.mentions.analyzers.port import Analyzer
    from services.store.cosmos import CosmosStore
    from services.store.sqlite import SqliteStore


Source = TypeVar("Source", StoreTraffic, Delays)
NewCredential = Callable[[], "AsyncTokenCredential"]

log = logging.getLogger("toolpulse.container")

WAITING_FEEDS = 64
"""How many feeds a worker has in progress besides those that it is fetching: they wait for their next try, for parsing
or for the store."""


@dataclass(frozen=True, slots=True)
class Container:
    """The services of one worker, ready to use. The caller of `build` must close it."""

    settings: Settings
    clock: Clock
    store: Store
    queues: Queues
    archive: Archive
    heartbeats: Heartbeats
    health: Health
    upkeep: Upkeep
    audit: Audit
    feeds: FeedRegistry
    presets: Presets
    feed_changes: FeedChanges
    feed_previews: FeedPreviews
    bulk_actions: BulkActions
    tools: Catalog
    watchlist: Watchlist
    analyzers: Analyzers
    tool_changes: ToolChanges
    merges: Merges
    references: ToolReferences
    corrections: Corrections
    correction_changes: CorrectionChanges
    passages: MentionPassages
    grouping_corrections: GroupingCorrections
    grouping_changes: GroupingChanges
    ledger: Ledger
    stories: Stories
    signals: Signals
    signal_work: SignalsHandler
    analysis: AnalysisHandler
    grouping: Grouping
    workflows: Workflows
    figures: Figures
    cache_health: CacheHealth
    metrics: Metrics
    claims: Claims
    fetch_days: FetchDays
    host_figures: HostFigures
    websub: Subscriptions
    ingestion: Ingestion
    articles: Articles
    documents: DocumentServices
    runs: RunEngine
    run_starts: RunStarts
    export: Export
    quarantine: Quarantine
    quarantine_preview: QuarantinePreview
    resources: AsyncExitStack

    async def close(self) -> None:
        await self.resources.aclose()


_container: Container | None = None
_lifetime: AsyncGenerator[Container, None] | None = None
_resuming: asyncio.Task[None] | None = None
_building = asyncio.Lock()


async def get() -> Container:
    """This worker's container. Every call raises WrongSettings until the settings are right."""
    global _container, _lifetime
    if _container is None:
        async with _building:
            if _container is None:
                lifetime = _of_this_worker()
                _container, _lifetime = await anext(lifetime), lifetime
    return _container


async def _of_this_worker() -> AsyncGenerator[Container, None]:
    """Builds and closes the container. A generator, since an event loop that shuts down closes its generators and gives
    no other notice."""
    global _container, _resuming  # noqa: PLW0603
    container = await build(os.environ)
    # In the background, so that the first invocation does not wait. The worker before this one may have died.
    resuming = _resuming = asyncio.create_task(_resume(container), context=deadline.outside())
    try:
        yield container
    finally:
        _container = _resuming = None
        resuming.cancel()
        await asyncio.wait([resuming])
        await container.close()


def adopt(container: Container) -> None:
    """Makes a container that the caller has built, and will close, that of this worker: with a clock of its own."""
    global _container  # noqa: PLW0603
    _container = container


async def resumed() -> None:
    """Returns once this worker has resumed what an earlier one left; at once if it has no container."""
    if _resuming is not None:
        await asyncio.wait([_resuming])


async def _resume(container: Container) -> None:
    """Does what the next tick would do: that tick may be half a minute away."""
    try:
        await container.upkeep.announce_overdue(at_start=True)
        claimed = await container.claims.claim_due(container.clock())
        logs.log_event(log, logging.INFO, "work_resumed", messages=len(claimed))
    except Unavailable as error:
        logs.log_event(log, logging.WARNING, "work_not_resumed", error=str(error))
    except Exception:
        log.exception("work_not_resumed")


async def close() -> None:
    """Closes this worker's container if there is one. The next `get` builds another."""
    global _container  # noqa: PLW0603
    if _lifetime is not None:
        await _lifetime.aclose()
    _container = None


async def build(
    environment: Mapping[str, str],
    clock: Clock = utc_now,
    *,
    migrate: bool = True,
    apis: Sequence[NewsApi] = NEWS_APIS,
    queues: Queues | None = None,
) -> Container:
    """A new container from these settings. With `migrate`, the embedded store is migrated first. `queues` replaces the
    queues of the settings."""
    settings = Settings.load(environment, apis)
    enabled = enabled_apis(settings, apis)
    sources_off = sorted({api.name for api in apis} - enabled.keys())
    # Documents have no reference cycles. With Python's thresholds, the search for cycles took a tenth of the time of
    # ingestion.
    gc.set_threshold(20_000, 20, 50)
    logs.configure(settings.log_level, settings.structured_logging)
    async with AsyncExitStack() as resources:
        if settings.sentry_dsn:
            from services.operations import error_reports

            resources.push_async_callback(asyncio.to_thread, error_reports.begin(settings.sentry_dsn, VERSION))
        await _begin_telemetry(settings, resources)

        credential = _credential(resources)
        adapter = await _opened_store(settings, clock, credential, resources, migrate=migrate)
        store = _traced_store(adapter)
        queues = _traced_queues(queues or _queues(settings, credential))
        resources.push_async_callback(queues.close)
        archive = _archive(settings, credential, resources)
        from services.fetch.fetcher import Fetcher

        fetcher, engine = Fetcher(settings, clock=clock), RunEngine(store, clock, _new_id)
        resources.push_async_callback(fetcher.close)
        feeds, heartbeats = FeedRegistry(store, clock, credentials_in(environment)), Heartbeats(store, clock)
        catalog = Catalog(store, clock, _new_uuid)
        announcer = RefreshAnnouncer(store, queues, clock)
        analyzers = _analyzers(settings, credential)
        resources.push_async_callback(analyzers.close)
        figures = Figures.build(
            *(store, catalog, announcer, clock, _new_id, settings.cache_memory_seconds),
            lambda: scored_by(analyzers.present.name, analyzers.present.version),
            last_write=adapter.last_write,
        )
        resources.push_async_callback(figures.close)
        traffic = _flushed(figures.counters.writer, StoreTraffic(store, clock, _request_counters(adapter)))
        watchlist = Watchlist(catalog, clock)
        writer = MentionWriter(store, catalog, watchlist, analyzers.present, announcer, clock, FullTexts(archive))
        delays = _flushed(figures.counters.writer, Delays(clock, figures.counters.writer.soon))
        analysis = AnalysisHandler(store, writer, clock, delays.analyzed)
        grouping = Grouping.build(store, queues, announcer, *_grouping_starts(settings), clock, _new_id)
        articles, corrections = Articles(store, clock), Corrections(store, catalog, clock)
        grouping_corrections, moves = GroupingCorrections(store, clock), SourceMoves(store, clock)
        workflows = Workflows(
            engine,
            {
                DELETE: Deletion(articles, writer, figures.generations, grouping, Removal(store, archive)),
                PRIORITIZE: Priorities(store, writer, figures.generations, clock),
                COMPARE: Comparing(store, catalog, watchlist, analyzers),
                REANALYZE: Reanalysis(store, catalog, writer, figures.recount, figures.generations, clock),
                **_of_catalog(store, catalog, writer, watchlist, announcer, corrections, figures, clock),
                CORRECT: Correcting(corrections, FirstArticles(store, catalog), writer, figures.generations, clock),
                CORRECT_GROUPING: CorrectingGrouping(
                    *(store, grouping_corrections, moves, writer, announcer, figures.generations, clock)
                ),
            },
            clock,
        )
        policy = Policy(
            fetches_per_feed_hour=settings.fetch_budget_per_feed_hour,
            min_interval=timedelta(minutes=settings.min_refresh_interval_minutes),
            max_interval=timedelta(minutes=settings.max_refresh_interval_minutes),
            target_articles=settings.target_articles_per_fetch,
        )
        hosts = HostStates(store, fetcher.host_reports)
        budget, outages = Budget(store, policy, clock), Outages(store, hosts)

        announce = Announcements(partial(_send_articles, queues, settings.batch_size)).announce
        documents = DocumentServices.build(
            *(store, archive, queues, fetcher, engine, hosts, articles, announce),
            *(profiles.load(), settings.fetch_user_agent, clock, _new_id),
        )
        poller = FeedPoller(
            fetcher, enabled, credentials_in(environment), watchlist.tickers, registered=feeds.registered
        )
        attempts = FeedAttempts(
            store,
            engine,
            poller,
            EntryIngestion(
                store,
                DocumentCache(settings.dedup_cache_size),
                _kept(settings),
                announce,
                random.random,
                discover=documents.discovery.discover,
                writing_at_once=WRITING_AT_ONCE_EMBEDDED if settings.store == "sqlite" else WRITING_AT_ONCE,
            ),
            announce,
            budget,
            outages,
            clock,
            random.random,
        )
        ingestion, claims = (
            Ingestion(store, engine, queues, attempts, outages, _places(settings), clock),
            Claims(store, engine, queues, hosts, outages, settings, enabled, _new_id),
        )
        return Container(
            settings=settings,
            clock=clock,
            store=store,
            queues=queues,
            archive=archive,
            heartbeats=heartbeats,
            health=Health(
                *(store, queues, archive, heartbeats, figures.backlog, traffic),
                *(clock, VERSION, clock(), sorted(enabled), sources_off),
            ),
            upkeep=Upkeep(
                queues,
                store,
                clock,
                OverdueArticles(store, queues, announce),
                OverdueIngestion(store, engine),
                analysis.retry_errors,
                workflows.overdue,
                announce,
                announcer,
                grouping.announcer,
                SignalsAnnouncer(store, queues, clock),
                figures.backlog,
                budget,
                ArchiveExpiry(store, archive, clock),
                documents.overdue,
            ),
            audit=Audit(
                store,
                clock,
                Repairs(store, clock, engine, figures.recount, figures.generations, announcer, announce),
            ),
            feeds=feeds,
            presets=presets.load(),
            feed_changes=FeedChanges(feeds, workflows),
            feed_previews=FeedPreviews(poller, feeds.registered, clock),
            bulk_actions=BulkActions(store, feeds, claims, clock),
            tools=catalog,
            watchlist=watchlist,
            analyzers=analyzers,
            tool_changes=ToolChanges(catalog, Merges(store, catalog), workflows, analyzers),
            merges=Merges(store, catalog),
            references=ToolReferences(store, Merges(store, catalog)),
            corrections=corrections,
            correction_changes=CorrectionChanges(
                *(store, catalog, watchlist, articles, feeds, corrections, workflows, figures.generations, clock)
            ),
            passages=MentionPassages(
                store,
                watchlist,
                FullTexts(archive),
                analyzers.present if isinstance(analyzers.present, WordJudge) else None,
            ),
            grouping_corrections=grouping_corrections,
            grouping_changes=GroupingChanges(
                *(store, articles, grouping_corrections, moves, workflows, figures.generations, grouping.announcer),
                clock,
            ),
            ledger=Ledger(store, grouping_corrections),
            stories=Stories(store, catalog, clock),
            signals=Signals(store, catalog),
            signal_work=SignalsHandler(store, SignalWriter(store, catalog, clock)),
            analysis=analysis,
            grouping=grouping,
            workflows=workflows,
            figures=figures,
            cache_health=CacheHealth(store, catalog, figures.counters, figures.backlog, clock, clock()),
            metrics=Metrics(store, figures.backlog, clock, adapter.connections, sources_off),
            claims=claims,
            fetch_days=FetchDays(store, clock),
            host_figures=HostFigures(store, clock),
            websub=Subscriptions(store, fetcher, clock, settings.public_url, partial(secrets.token_urlsafe, 32)),
            ingestion=ingestion,
            articles=articles,
            documents=documents,
            runs=engine,
            run_starts=RunStarts(queues, engine),
            export=Export(store, clock),
            quarantine=Quarantine(store, engine, clock),
            quarantine_preview=QuarantinePreview(store, Quarantine(store, engine, clock), watchlist, analyzers, clock),
            resources=resources.pop_all(),
        )


async def _send_articles(queues: Queues, most: int, by_feed: Mapping[str | None, Sequence[str]]) -> None:
    messages = [article_messages(source_ids, most, feed_id) for feed_id, source_ids in by_feed.items()]
    await queues.send(ANALYZE_ARTICLES, [each for of_feed in messages for each in of_feed])


async def _begin_telemetry(settings: Settings, resources: AsyncExitStack) -> None:
    if not (settings.telemetry_enabled and settings.telemetry_connection):
        return
    from services.operations import azure_monitor

    backend = azure_monitor.begin(settings.telemetry_connection, VERSION, settings.telemetry_sample_ratio)
    telemetry.begin(backend)
    resources.push_async_callback(asyncio.to_thread, backend.close)
    resources.callback(telemetry.end)


def _of_catalog(
    store: Store,
    catalog: Catalog,
    writer: MentionWriter,
    watchlist: Watchlist,
    announcer: RefreshAnnouncer,
    corrections: Corrections,
    figures: Figures,
    clock: Clock,
) -> dict[str, Workflow]:
    """The workflows that follow from changes of the catalog."""
    generations, merges = figures.generations, Merges(store, catalog)
    carried = CarriedCorrections(store, catalog, corrections, clock)
    backfill = Backfill(store, catalog, writer, watchlist, generations)
    return {
        BACKFILL: backfill,
        MERGE: Merging(
            *(store, catalog, merges, writer, announcer, corrections, carried, figures.recount, generations, clock)
        ),
        UNMERGE: Unmerging(
            *(store, catalog, merges, writer, announcer, carried, backfill, figures.recount, generations, clock)
        ),
    }


def _grouping_starts(settings: Settings) -> tuple[int, timedelta]:
    return settings.grouping_threshold_articles, timedelta(minutes=settings.grouping_interval_minutes)


def _kept(settings: Settings) -> timedelta:
    return timedelta(days=settings.dedup_retention_days)


def _places(settings: Settings) -> HostLimits:
    """The attempts at feeds at once: more than requests at once, since those that wait for the store send none."""
    return HostLimits(settings.max_concurrent_requests + WAITING_FEEDS, settings.max_concurrent_requests_per_host)


def _traced_store(adapter: SqliteStore | CosmosStore) -> Store:
    if not telemetry.is_on():
        return adapter
    from services.store.cosmos import CosmosStore
    from services.store.traced import TracedStore

    if not isinstance(adapter, CosmosStore):
        return TracedStore(adapter, "sqlite")
    for metric, field in telemetry.OF_THE_STORE.items():
        telemetry.observe(metric, partial(_counted, adapter, field))
    return TracedStore(adapter, "azure.cosmosdb")


def _flushed(writer: CountWriter, source: Source) -> Source:
    """The source, whose counts are flushed with those of the cache."""
    writer.register(source.take)
    return source


def _request_counters(adapter: SqliteStore | CosmosStore) -> Callable[[], Mapping[str, RequestCounters]] | None:
    from services.store.cosmos import CosmosStore

    return (lambda: adapter.counters) if isinstance(adapter, CosmosStore) else None


def _counted(store: CosmosStore, field: str) -> list[telemetry.Sample]:
    """One figure of the store's counters, by container."""
    return [(getattr(each, field), {"container": name}) for name, each in store.counters.items() if each.operations]


def _traced_queues(queues: Queues) -> Queues:
    if not telemetry.is_on():
        return queues
    from services.queues.traced import TracedQueues

    return TracedQueues(queues)


def _credential(resources: AsyncExitStack) -> NewCredential:
    @cache
    def credential() -> AsyncTokenCredential:
        from azure.identity.aio import DefaultAzureCredential

        made = DefaultAzureCredential()
        resources.push_async_callback(made.close)
        return made

    return credential


async def prepare_store(environment: Mapping[str, str], clock: Clock = utc_now) -> None:
    """Opens the store once, so that a start can be refused: raises WrongSettings and Unavailable."""
    settings = Settings.load(environment)
    logs.configure(settings.log_level, settings.structured_logging)
    async with AsyncExitStack() as resources:
        await _opened_store(settings, clock, _credential(resources), resources, migrate=True)


async def _opened_store(
    settings: Settings, clock: Clock, credential: NewCredential, resources: AsyncExitStack, *, migrate: bool
) -> SqliteStore | CosmosStore:
    migrate = migrate and settings.store == "sqlite"
    if migrate:
        await copy_before_upgrade(settings)
    adapter = _store(settings, clock, credential)
    resources.push_async_callback(adapter.close)
    await adapter.ensure_containers()
    if migrate:
        await _migrate(adapter, clock)
    return adapter


async def copy_before_upgrade(settings: Settings) -> None:
    """Copies the file of the embedded store if migrations are pending. Raises Unusable if the file is newer."""
    if settings.store == "sqlite":
        from services.operations.migrations.runner import MIGRATIONS
        from services.store.sqlite_upgrade import copy_before_upgrade as copied

        copy = await asyncio.to_thread(copied, _file_of(settings), MIGRATIONS[-1].number)
        if copy is not None:
            logs.log_event(log, logging.INFO, "copied_before_upgrade", copy=str(copy))


def _file_of(settings: Settings) -> Path:
    return Path(settings.data_dir) / "toolpulse.db"


async def _migrate(store: Store, clock: Clock) -> None:
    """Migrates the embedded store. For Cosmos DB, the deployment runs scripts/migrate.py."""
    from services.operations.migrations.runner import run_pending

    async for migration in run_pending(store, clock):
        logs.log_event(log, logging.INFO, "migrated", number=migration.number, name=migration.name)


def _new_id() -> str:
    return uuid.uuid4().hex


def _new_uuid() -> str:
    return str(uuid.uuid4())


def _analyzers(settings: Settings, credential: NewCredential) -> Analyzers:
    """Each is imported when it is first needed."""

    def embedded() -> Analyzer:
        from services.mentions.analyzers.embedded import EmbeddedAnalyzer

        return EmbeddedAnalyzer()

    def candidate() -> Analyzer:
        from services.mentions.analyzers.embedded import EmbeddedAnalyzer
        from services.mentions.analyzers.tool_table import parse_tool_table

        try:
            text = Path(settings.sentiment_candidate_file).read_text(encoding="utf-8")
            return EmbeddedAnalyzer(tool_table=parse_tool_table(text))
        except (OSError, ValueError) as error:
            raise InvalidInput("analyzer", f"the table of candidate cannot be read: {error}") from None

    def azure_language() -> Analyzer:
        from services.mentions.analyzers.azure_language import AzureLanguageAnalyzer

        return AzureLanguageAnalyzer(
            settings.azure_language_endpoint,
            key=settings.azure_language_key or None,
            credential=None if settings.azure_language_key else credential(),
            model_version=settings.azure_language_model_version,
        )

    makers = {"embedded": embedded, "azure-language": azure_language, "candidate": candidate}
    missing = {}
    if not settings.azure_language_endpoint:
        missing["azure-language"] = "AZURE_LANGUAGE_ENDPOINT"
    if not settings.sentiment_candidate_file:
        missing["candidate"] = "SENTIMENT_CANDIDATE_FILE"
    return Analyzers(settings.analyzer, makers, missing)


def _store(settings: Settings, clock: Clock, credential: NewCredential) -> SqliteStore | CosmosStore:
    if settings.store == "sqlite":
        from services.store.sqlite import SqliteStore

        return SqliteStore(_file_of(settings), clock)
    from services.store.cosmos import CosmosStore

    return CosmosStore(
        settings.cosmos_endpoint,
        settings.cosmos_database,
        clock,
        key=settings.cosmos_key or None,
        credential=None if settings.cosmos_key else credential(),
        use_proxy_environment=settings.cosmos_proxy_from_environment,
    )


def _archive(settings: Settings, credential: NewCredential, resources: AsyncExitStack) -> Archive:
    archive = _folder_archive(settings) if settings.archive == "folder" else _blob_archive(settings, credential)
    resources.push_async_callback(archive.close)
    return archive


def _folder_archive(settings: Settings) -> Archive:
    from services.archive.folder import FolderArchive

    return FolderArchive(Path(settings.data_dir) / "archive")


def _blob_archive(settings: Settings, credential: NewCredential) -> Archive:
    from services.archive.blob import BlobArchive

    if settings.archive_connection:
        return BlobArchive(settings.archive_connection)
    url = settings.archive_endpoint
    if not url and settings.storage_account_name:
        url = f"https://{settings.storage_account_name}.blob.core.windows.net"
    if url:
        return BlobArchive(endpoint=url, credential=credential())
    parts = [part.partition("=")[0] for part in settings.storage_connection.split(";")]
    if not settings.storage_connection or ("QueueEndpoint" in parts and "BlobEndpoint" not in parts):
        raise WrongSettings("ARCHIVE_ENDPOINT or ARCHIVE_CONNECTION must be set: AzureWebJobsStorage has no blobs")
    return BlobArchive(settings.storage_connection)


def _queues(settings: Settings, credential: NewCredential) -> Queues:
    from services.queues.storage import StorageQueues

    if settings.storage_connection:
        return StorageQueues(settings.storage_connection)
    url = settings.storage_queue_service_uri
    if not url and settings.storage_account_name:
        url = f"https://{settings.storage_account_name}.queue.core.windows.net"
    if not url:
        raise WrongSettings("AzureWebJobsStorage must be set, or AzureWebJobsStorage__accountName")
    return StorageQueues(service_url=url, credential=credential())
