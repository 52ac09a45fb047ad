"""The timer functions: each calls one service, and sends the messages that follow from the work."""

import azure.functions as func

from services.container import Container
from services.mentions.handler import article_messages
from services.runs.driver import run_message
from services.topology import (
    ANALYZE_ARTICLES,
    CLEAN_UP,
    INGEST_DUE_FEEDS,
    INGEST_FEEDS,
    REANALYZE_TOOLS,
    REFRESH_SENTIMENT_CACHE,
    REFRESH_TOOLS,
)
from triggers.bindings import Messages, timer

timers = func.Blueprint()


@timer(timers, CLEAN_UP, articles=ANALYZE_ARTICLES, batches=INGEST_FEEDS, runs=REANALYZE_TOOLS)
async def clean_up(
    services: Container, timer_request: func.TimerRequest, articles: Messages, batches: Messages, runs: Messages
) -> None:
    report = await services.upkeep.run()
    if report.articles:
        articles.set(article_messages(report.articles, services.settings.batch_size))
    if report.batches:
        batches.set([batch.to_message() for batch in report.batches])
    if report.runs:
        runs.set([run_message(run_id) for run_id in report.runs])


@timer(timers, INGEST_DUE_FEEDS, batches=INGEST_FEEDS)
async def ingest_due_feeds(services: Container, timer_request: func.TimerRequest, batches: Messages) -> None:
    claimed = await services.claims.claim_due(services.clock())
    if claimed:
        batches.set([batch.to_message() for batch in claimed])


@timer(timers, REFRESH_SENTIMENT_CACHE, batches=REFRESH_TOOLS)
async def refresh_sentiment_cache(
    services: Container, timer_request: func.TimerRequest, batches: Messages, context: func.Context
) -> None:
    begun = await services.figures.refresh.tick(context.invocation_id)
    if begun.messages:
        batches.set(begun.messages)
