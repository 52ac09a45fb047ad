"""Builds, owns and closes everything that services need, once per worker. The only place that picks adapters.

Triggers call `get`, which builds the container at the first call, inside the event loop. The environment is read then,
not at import. An instance on Azure has the functions of one queue, of the timers or of HTTP. So the parts of the flow
that do more than every worker does are imported and built when they are first asked for.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from models.errors import Unavailable
from models.mention import scored_by
from models.run import JobRun
from models.version import VERSION
from services import deadline, logs, memory
from services.articles.quarantine import Quarantine
from services.articles.reading import Articles
from services.container.adapters import analyzers_of, archive_of, begin_telemetry, credentials, opened_store, queues_of
from services.documents.documents import DOCUMENTS_STAGE
from services.feeds.bulk import BulkActions
from services.feeds.claims import INGESTION_STAGE, Claims
from services.feeds.fetch_hours import FetchDays
from services.feeds.form import Presets, load_presets
from services.feeds.hosts import HostListing
from services.feeds.news_apis import EnabledApi, enabled_apis
from services.feeds.outages import HostStates
from services.feeds.registry import FeedRegistry
from services.feeds.schedule import Budget, Policy
from services.fetch.limits import HostReport
from services.fetch.outcome import Credential, credentials_in
from services.figures.figures import Figures
from services.mentions.analyzers.port import Analyzers
from services.mentions.due import ANALYSED_A_SECOND, ANALYSIS_STAGE, REFRESH_STAGE, SIGNALS_STAGE, article_form
from services.mentions.references import ToolReferences
from services.operations.checks import Heartbeats
from services.operations.traffic import StoreTraffic
from services.operations.upkeep import ArchiveExpiry, Upkeep
from services.parse.news_apis import NEWS_APIS, NewsApi
from services.ports import Archive, Clock, LastWrite, Queues, Store, utc_now
from services.settings import Settings
from services.stories.stage import GroupingAnnouncer, grouping_stage
from services.tools.catalog import Catalog
from services.topology import HTTP_TIMEOUT
from services.work.announcing import Announcer, Sweeper
from services.work.driver import WORKFLOWS_STAGE
from services.work.runs import RunEngine
from services.work.stage import message_of, parts_of

if TYPE_CHECKING:
    from services.container.fetching import FetchingPart
    from services.container.mentions import MentionPart, StoryPart
    from services.container.workflows import WorkflowPart
    from services.fetch.fetcher import Fetcher
    from services.operations.audit import Audit
    from services.operations.cache_health import CacheHealth
    from services.operations.export import Export
    from services.operations.health import Health
    from services.operations.metrics import Metrics

__all__ = ["STAGES", "Container", "adopt", "build", "close", "get", "resumed"]

log = logging.getLogger("toolpulse.container")

STAGES = (INGESTION_STAGE, ANALYSIS_STAGE, DOCUMENTS_STAGE, REFRESH_STAGE, SIGNALS_STAGE, WORKFLOWS_STAGE)
"""The stages that services/work sweeps, besides grouping, whose interval is a setting."""


FAILURE_KEPT_SECONDS = 1.0


def new_id() -> str:
    return uuid.uuid4().hex


@dataclass
class Container:
    """What the functions of a worker use. The caller of `build` must close it.

    `credentials` reads those of private feeds, `apis` are the news APIs with a token and `apis_off` the names of the
    others, `started` is when this worker started. What is added to `resources` is closed with the container.
    """

    settings: Settings
    clock: Clock
    store: Store
    queues: Queues
    archive: Archive
    analyzers: Analyzers
    apis: Mapping[str, EnabledApi]
    apis_off: Sequence[str]
    credentials: Callable[[str], Credential]
    traffic: StoreTraffic
    last_write: LastWrite
    connections: int
    started: datetime
    resources: AsyncExitStack

    @cached_property
    def runs(self) -> RunEngine:
        return RunEngine(self.store, self.clock, new_id)

    @cached_property
    def tools(self) -> Catalog:
        return Catalog(self.store, self.clock, lambda: str(uuid.uuid4()))

    @cached_property
    def articles(self) -> Articles:
        return Articles(self.store, self.clock)

    @cached_property
    def announcer(self) -> Announcer:
        return Announcer(self.queues)

    @cached_property
    def figures(self) -> Figures:
        figures = Figures(
            *(self.store, self.tools, self.announcer, self.clock, new_id, self.settings.cache_memory_seconds),
            lambda: scored_by(self.analyzers.present.name, self.analyzers.present.version),
            last_write=self.last_write,
        )
        figures.counters.writer.register(self.traffic.take)
        return figures

    @cached_property
    def fetcher(self) -> Fetcher:
        """Its HTTP client takes a quarter of a second to load."""
        from services.fetch.fetcher import Fetcher

        fetcher = Fetcher(self.settings, clock=self.clock)
        self.resources.push_async_callback(fetcher.close)
        return fetcher

    @cached_property
    def heartbeats(self) -> Heartbeats:
        return Heartbeats(self.store, self.clock)

    @cached_property
    def quarantine(self) -> Quarantine:
        return Quarantine(self.store, self.runs, self.clock)

    @cached_property
    def references(self) -> ToolReferences:
        return ToolReferences(self.store, self.tools)

    @cached_property
    def grouping_announcer(self) -> GroupingAnnouncer:
        stage = grouping_stage(timedelta(minutes=self.settings.grouping_interval_minutes))
        most = self.settings.grouping_threshold_articles
        return GroupingAnnouncer(self.store, self.announcer, stage, most, self.clock)

    @cached_property
    def feeds(self) -> FeedPart:
        return FeedPart(self)

    @cached_property
    def fetching(self) -> FetchingPart:
        from services.container.fetching import FetchingPart

        return FetchingPart(self)

    @cached_property
    def mentions(self) -> MentionPart:
        from services.container.mentions import MentionPart

        return MentionPart(self)

    @cached_property
    def stories(self) -> StoryPart:
        from services.container.mentions import StoryPart

        return StoryPart(self)

    @cached_property
    def workflows(self) -> WorkflowPart:
        from services.container.workflows import WorkflowPart

        return WorkflowPart(self)

    @cached_property
    def operations(self) -> OperationPart:
        return OperationPart(self)

    async def announce(self, source_ids: Iterable[str], feed_id: str | None = None, before: int = 0) -> None:
        """Sends messages for articles whose analysis is due. Those of a feed that brings many wait, so that articles of
        other feeds are analysed and grouped between them."""
        for part in parts_of(list(dict.fromkeys(source_ids)), self.settings.batch_size):
            message = message_of(article_form(part, feed_id))
            await self.announcer.send(ANALYSIS_STAGE, [message], delay_seconds=before // ANALYSED_A_SECOND)
            before += len(part)

    async def start(self, run: JobRun) -> None:
        """Sends the message of the run of a workflow, which is stored."""
        await self.announcer.announce_stored(WORKFLOWS_STAGE, [run.run_id])

    async def close(self) -> None:
        await self.resources.aclose()


class Part:
    """Some services of a container, built when they are first asked for."""

    def __init__(self, of: Container) -> None:
        self.of = of


class FeedPart(Part):
    """The services of feeds."""

    @cached_property
    def registry(self) -> FeedRegistry:
        return FeedRegistry(self.of.store, self.of.clock, self.of.credentials)

    @cached_property
    def presets(self) -> Presets:
        return load_presets()

    @cached_property
    def bulk_actions(self) -> BulkActions:
        return BulkActions(self.registry, self.claims, self.of.clock)

    @cached_property
    def hosts(self) -> HostStates:
        return HostStates(self.of.store, self._host_reports)

    def _host_reports(self) -> Mapping[str, HostReport]:
        return self.of.fetcher.host_reports() if "fetcher" in vars(self.of) else {}

    @cached_property
    def budget(self) -> Budget:
        settings = self.of.settings
        policy = Policy(
            fetches_per_feed_hour=settings.fetch_budget_per_feed_hour,
            min_interval=timedelta(minutes=settings.min_refresh_interval_minutes),
            max_interval=timedelta(minutes=settings.max_refresh_interval_minutes),
            target_articles=settings.target_articles_per_fetch,
        )
        return Budget(self.of.store, policy, self.of.clock)

    @cached_property
    def claims(self) -> Claims:
        of = self.of
        return Claims(of.store, of.runs, of.announcer, self.hosts, of.settings, of.apis, new_id)

    @cached_property
    def fetch_days(self) -> FetchDays:
        return FetchDays(self.of.store, self.of.clock)

    @cached_property
    def host_listing(self) -> HostListing:
        return HostListing(self.of.store, self.of.clock)


class OperationPart(Part):
    """The services that watch the app. What every tick announces needs none of the parts that do the work itself."""

    @cached_property
    def upkeep(self) -> Upkeep:
        return Upkeep(
            self.of.queues,
            self.of.store,
            self.of.clock,
            Sweeper(self.of.store, self.of.queues, self.of.announcer, self.of.clock),
            (*STAGES, self.of.grouping_announcer.stage),
            self.of.figures.backlog,
            self.of.feeds.budget,
            ArchiveExpiry(self.of.store, self.of.archive, self.of.clock),
        )

    @cached_property
    def health(self) -> Health:
        from services.operations.health import Health

        of = self.of
        return Health(
            *(of.store, of.queues, of.archive, of.heartbeats, of.figures.backlog, of.traffic, of.clock, VERSION),
            *(of.started, of.apis_off),
        )

    @cached_property
    def audit(self) -> Audit:
        from services.operations.audit import Audit

        return Audit(self.of.store, self.of.clock)

    @cached_property
    def cache_health(self) -> CacheHealth:
        from services.operations.cache_health import CacheHealth

        of = self.of
        return CacheHealth(of.store, of.tools, of.figures.counters, of.figures.backlog, of.clock, of.started)

    @cached_property
    def metrics(self) -> Metrics:
        from services.operations.metrics import Metrics

        return Metrics(self.of.store, self.of.figures.backlog, self.of.clock, self.of.connections)

    @cached_property
    def export(self) -> Export:
        from services.operations.export import Export

        return Export(self.of.store, self.of.clock)


_container: Container | None = None
_lifetime: AsyncGenerator[Container, None] | None = None
_resuming: asyncio.Task[None] | None = None
_building = asyncio.Lock()
_failed: tuple[float, Unavailable] | None = None
"""Until when a failure to build the container counts."""


async def get() -> Container:
    """This worker's container. Every call raises WrongSettings until the settings are right. If the store did not
    answer, calls raise the same for a moment: several of one request would wait for it one after the other."""
    global _container, _lifetime, _failed  # noqa: PLW0603
    if _container is None:
        async with _building:
            if _container is None:
                if _failed is not None and time.monotonic() < _failed[0]:
                    raise _failed[1]
                lifetime = _of_this_worker()
                try:
                    with deadline.within(HTTP_TIMEOUT.total_seconds(), in_background=False):
                        _container, _lifetime = await anext(lifetime), lifetime
                except Unavailable as error:
                    _failed = time.monotonic() + FAILURE_KEPT_SECONDS, error
                    raise
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
        await container.operations.upkeep.announce_overdue(at_start=True)
        claimed = await container.feeds.claims.claim_due(container.clock())
        logs.log_event(log, logging.INFO, "work_resumed", messages=len(claimed))
    except Unavailable as error:
        logs.log_event(log, logging.WARNING, "work_not_resumed", error=str(error))
    except Exception:
        log.exception("work_not_resumed")


async def close() -> None:
    """Closes this worker's container if there is one. The next `get` builds another."""
    global _container, _failed  # noqa: PLW0603
    if _lifetime is not None:
        await _lifetime.aclose()
    _container = _failed = None


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
    # Documents have no reference cycles. With Python's thresholds, the search for cycles took a tenth of the time of
    # ingestion.
    gc.set_threshold(20_000, 20, 50)
    memory.keep_little()
    logs.configure(settings.log_level, settings.structured_logging)
    async with AsyncExitStack() as unless_built:
        # The container goes on with this stack: what it makes later is closed with it too.
        resources = await unless_built.enter_async_context(AsyncExitStack())
        if settings.sentry_dsn:
            from services.operations import error_reports

            resources.push_async_callback(asyncio.to_thread, error_reports.begin(settings.sentry_dsn, VERSION))
        await begin_telemetry(settings, resources)

        credential = credentials(resources)
        adapter = await opened_store(settings, clock, credential, resources, migrate=migrate)
        queues = queues or queues_of(settings, credential)
        resources.push_async_callback(queues.close)
        archive = archive_of(settings, credential, resources)
        analyzers = analyzers_of(settings, credential)
        resources.push_async_callback(analyzers.close)
        enabled = enabled_apis(settings, apis)
        container = Container(
            settings=settings,
            clock=clock,
            store=adapter,
            queues=queues,
            archive=archive,
            analyzers=analyzers,
            apis=enabled,
            apis_off=sorted({api.name for api in apis} - enabled.keys()),
            credentials=credentials_in(environment),
            traffic=StoreTraffic(adapter, clock, getattr(adapter, "counters", None)),
            last_write=adapter.last_write,
            connections=adapter.connections,
            started=clock(),
            resources=resources,
        )
        resources.push_async_callback(container.figures.close)
        unless_built.pop_all()
        return container
