"""Builds, owns and closes everything that services need, once per worker. The only place that picks adapters.

Triggers call `get`, which builds the container at the first call, inside the event loop. The environment is read then,
not at import.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack

from models.errors import Unavailable
from models.version import VERSION
from services import deadline, logs
from services.container.adapters import (
    analyzers_of,
    archive_of,
    begin_telemetry,
    credentials,
    observe_requests,
    opened_store,
    prepare_store,
    queues_of,
    request_counters,
)
from services.container.container import Container
from services.feeds.news_apis import enabled_apis
from services.fetch.outcome import credentials_in
from services.operations.traffic import StoreTraffic
from services.parse.news_apis import NEWS_APIS, NewsApi
from services.ports import Clock, Queues, utc_now
from services.settings import Settings

__all__ = ["Container", "adopt", "build", "close", "get", "prepare_store", "resumed"]

log = logging.getLogger("toolpulse.container")

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
        await container.operations.upkeep.announce_overdue(at_start=True)
        claimed = await container.feeds.claims.claim_due(container.clock())
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
    # Documents have no reference cycles. With Python's thresholds, the search for cycles took a tenth of the time of
    # ingestion.
    gc.set_threshold(20_000, 20, 50)
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
        observe_requests(adapter)
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
            traffic=StoreTraffic(adapter, clock, request_counters(settings, adapter)),
            last_write=adapter.last_write,
            connections=adapter.connections,
            started=clock(),
            resources=resources,
        )
        resources.push_async_callback(container.figures.close)
        unless_built.pop_all()
        return container
