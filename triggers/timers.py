"""The timer functions: each calls one service, leaves a heartbeat, and lets what it did not foresee be seen.

A timer is not retried; its next tick is the retry.
"""

import functools
import logging
import typing
from collections.abc import Awaitable, Callable

import azure.functions as func

from models.errors import Unavailable
from services import container
from services.articles.analysis_messages import article_messages
from services.logs import log_event
from services.topology import (
    ANALYZE_ARTICLES,
    CLEAN_UP,
    INGEST_DUE_FEEDS,
    INGEST_FEEDS,
    REANALYZE_TOOLS,
    REFRESH_SENTIMENT_CACHE,
    REFRESH_TOOLS,
    Timer,
)
from services.workflows.messages import run_message

timers = func.Blueprint()

log = logging.getLogger("toolpulse.timers")

Handler = Callable[..., Awaitable[None]]
CONNECTION = "AzureWebJobsStorage"


def beating(timer: Timer) -> Callable[[Handler], Handler]:
    """Records how each run of `timer` ended. Goes below the trigger decorator."""

    def decorate(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def run(**arguments: typing.Any) -> None:
            try:
                await recorded(**arguments)
            except Unavailable as error:
                # The one failure that everything here shares.
                log_event(log, logging.CRITICAL, "system_unavailable", timer=timer.name, error=str(error))
                raise

        async def recorded(**arguments: typing.Any) -> None:
            services = await container.get()
            started = services.clock()
            try:
                await handler(**arguments)
            except Exception as error:
                await services.heartbeats.record(timer.name, started, error=type(error).__name__)
                raise
            await services.heartbeats.record(timer.name, started)

        return run

    return decorate


@timers.timer_trigger(arg_name="timer_request", schedule=CLEAN_UP.schedule, run_on_startup=False)
@timers.queue_output(arg_name="articles", queue_name=ANALYZE_ARTICLES, connection=CONNECTION)
@timers.queue_output(arg_name="batches", queue_name=INGEST_FEEDS, connection=CONNECTION)
@timers.queue_output(arg_name="runs", queue_name=REANALYZE_TOOLS, connection=CONNECTION)
@beating(CLEAN_UP)
async def clean_up(
    timer_request: func.TimerRequest,
    articles: func.Out[typing.List[str]],
    batches: func.Out[typing.List[str]],
    runs: func.Out[typing.List[str]],
) -> None:
    services = await container.get()
    report = await services.upkeep.run()
    if report.articles:
        articles.set(article_messages(report.articles, services.settings.batch_size))
    if report.batches:
        batches.set([batch.to_message() for batch in report.batches])
    if report.runs:
        runs.set([run_message(run_id) for run_id in report.runs])


@timers.timer_trigger(arg_name="timer_request", schedule=INGEST_DUE_FEEDS.schedule, run_on_startup=False)
@timers.queue_output(arg_name="batches", queue_name=INGEST_FEEDS, connection=CONNECTION)
@beating(INGEST_DUE_FEEDS)
async def ingest_due_feeds(timer_request: func.TimerRequest, batches: func.Out[typing.List[str]]) -> None:
    services = await container.get()
    claimed = await services.claims.claim_due(services.clock())
    if claimed:
        batches.set([batch.to_message() for batch in claimed])


@timers.timer_trigger(arg_name="timer_request", schedule=REFRESH_SENTIMENT_CACHE.schedule, run_on_startup=False)
@timers.queue_output(arg_name="batches", queue_name=REFRESH_TOOLS, connection=CONNECTION)
@beating(REFRESH_SENTIMENT_CACHE)
async def refresh_sentiment_cache(
    timer_request: func.TimerRequest, batches: func.Out[typing.List[str]], context: func.Context
) -> None:
    services = await container.get()
    begun = await services.figures.refresh_runs.tick(context.invocation_id)
    if begun.messages:
        batches.set(begun.messages)
