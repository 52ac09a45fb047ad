"""The timer and queue functions: each calls one service, and sends the messages that the service returned.

The message of a queue is acknowledged when its function returns: whatever follows from it is stored and sent by then.
"""

import azure.functions as func

from services.container import Container
from services.documents.documents import DOCUMENTS_STAGE
from services.mentions.due import ANALYSIS_STAGE, SIGNALS_STAGE, RefreshMessage
from services.topology import (
    ACQUIRE_DOCUMENTS,
    ANALYZE_ARTICLES,
    CLEAN_UP,
    GENERATE_IDEAS,
    GROUP_HEADLINES,
    INGEST_DUE_FEEDS,
    INGEST_FEEDS,
    REANALYSIS_COMPLETED,
    REANALYZE_TOOLS,
    REFRESH_SENTIMENT_CACHE,
    REFRESH_TOOLS,
)
from services.work.driver import WORKFLOWS_STAGE, completed_messages
from services.work.stage import id_in
from triggers.bindings import consumer, timer

timers = func.Blueprint()


@timer(timers, CLEAN_UP)
async def clean_up(services: Container, timer_request: func.TimerRequest) -> None:
    await services.operations.upkeep.run()
    await services.feeds.fetch_days.work()
    await services.figures.daily_closes.work()
    await services.operations.audit.weekly()


@timer(timers, INGEST_DUE_FEEDS)
async def ingest_due_feeds(services: Container, timer_request: func.TimerRequest) -> None:
    await services.feeds.claims.claim_due(services.clock())
    await services.operations.upkeep.announce_overdue()


@timer(timers, REFRESH_SENTIMENT_CACHE)
async def refresh_sentiment_cache(services: Container, timer_request: func.TimerRequest, context: func.Context) -> None:
    begun = await services.figures.refresh.tick(context.invocation_id)
    for message, delay in zip(begun.messages, begun.delays, strict=True):
        await services.queues.send(REFRESH_TOOLS, [message], delay_seconds=delay)


queues = func.Blueprint()


@consumer(queues, INGEST_FEEDS)
async def ingest_feeds(services: Container, message: func.QueueMessage, context: func.Context) -> None:
    run_id = id_in(message.get_body().decode(), "run_id")
    await services.fetching.ingestion.ingest(run_id, message.dequeue_count or 1, context.invocation_id)


@consumer(queues, ACQUIRE_DOCUMENTS)
async def acquire_documents(services: Container, message: func.QueueMessage) -> None:
    source_ids = DOCUMENTS_STAGE.keys_of(message.get_body().decode())
    await services.fetching.document_work.handle(source_ids, message.dequeue_count or 1)


@consumer(queues, ANALYZE_ARTICLES)
async def analyze_articles(services: Container, message: func.QueueMessage, context: func.Context) -> None:
    source_ids = ANALYSIS_STAGE.keys_of(message.get_body().decode())
    await services.mentions.analysis.handle(source_ids, message.dequeue_count or 1, context.invocation_id)
    await services.grouping_announcer.announce_if_many(source_ids)


@consumer(queues, GROUP_HEADLINES)
async def group_headlines(services: Container, message: func.QueueMessage, context: func.Context) -> None:
    source_ids = services.grouping_announcer.stage.keys_of(message.get_body().decode())
    await services.stories.grouping.handle(source_ids, message.dequeue_count or 1, context.invocation_id)


@consumer(queues, GENERATE_IDEAS)
async def generate_ideas(services: Container, message: func.QueueMessage, context: func.Context) -> None:
    event_ids = SIGNALS_STAGE.keys_of(message.get_body().decode())
    await services.stories.signal_work.handle(event_ids, message.dequeue_count or 1, context.invocation_id)


@consumer(queues, REANALYZE_TOOLS)
async def reanalyze_tools(services: Container, message: func.QueueMessage, context: func.Context) -> None:
    run_id = id_in(message.get_body().decode(), "run_id")
    changed_tools = await services.workflows.driver.advance(run_id, message.dequeue_count or 1, context.invocation_id)
    if changed_tools is None:
        await services.announcer.announce(WORKFLOWS_STAGE, [run_id])
    await services.queues.send(REANALYSIS_COMPLETED, completed_messages(changed_tools or (), run_id))


@consumer(queues, REFRESH_TOOLS)
async def refresh_tools(services: Container, message: func.QueueMessage) -> None:
    refresh_message = RefreshMessage.from_message(message.get_body().decode())
    await services.figures.refresh.work(refresh_message, message.dequeue_count or 1)


@consumer(queues, REANALYSIS_COMPLETED)
async def invalidate_tool_cache(services: Container, message: func.QueueMessage) -> None:
    await services.figures.generations.raise_(id_in(message.get_body().decode(), "tool_id"))
