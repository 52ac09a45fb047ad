"""The queue functions: each decodes a message, calls one service, and sends the messages that follow from the work."""

import azure.functions as func

from services.container import Container
from services.feeds.claims import IngestMessage
from services.figures.refresh import RefreshMessage
from services.mentions.handler import article_messages, source_ids_of
from services.runs.driver import completed_message, completed_tool_of, run_id_of, run_message
from services.topology import ANALYZE_ARTICLES, INGEST_FEEDS, REANALYSIS_COMPLETED, REANALYZE_TOOLS, REFRESH_TOOLS
from triggers.bindings import Messages, consumer

queues = func.Blueprint()


@consumer(queues, INGEST_FEEDS, articles=ANALYZE_ARTICLES)
async def ingest_feeds(
    services: Container, message: func.QueueMessage, articles: Messages, context: func.Context
) -> None:
    batch = IngestMessage.from_message(message.get_body().decode())
    outcome = await services.ingestion.ingest(batch, message.dequeue_count or 1, context.invocation_id)
    if outcome.article_ids:
        articles.set(article_messages(outcome.article_ids, services.settings.batch_size))


@consumer(queues, ANALYZE_ARTICLES, alone=ANALYZE_ARTICLES)
async def analyze_articles(services: Container, message: func.QueueMessage, alone: Messages) -> None:
    source_ids = source_ids_of(message.get_body().decode())
    handled = await services.analysis.handle(source_ids, message.dequeue_count or 1)
    if handled.alone:
        alone.set(list(handled.alone))


@consumer(queues, REANALYZE_TOOLS, again=REANALYZE_TOOLS, completed=REANALYSIS_COMPLETED)
async def reanalyze_tools(
    services: Container, message: func.QueueMessage, again: Messages, completed: Messages, context: func.Context
) -> None:
    run_id = run_id_of(message.get_body().decode())
    result = await services.workflows.advance(run_id, message.dequeue_count or 1, context.invocation_id)
    if result.send_again:
        again.set([run_message(run_id)])
    if result.changed_tools:
        completed.set([completed_message(tool_id, run_id) for tool_id in result.changed_tools])


@consumer(queues, REFRESH_TOOLS)
async def refresh_tools(services: Container, message: func.QueueMessage) -> None:
    await services.figures.refresh.work(RefreshMessage.from_message(message.get_body().decode()))


@consumer(queues, REANALYSIS_COMPLETED)
async def invalidate_tool_cache(services: Container, message: func.QueueMessage) -> None:
    await services.figures.generations.invalidate_tool_cache(completed_tool_of(message.get_body().decode()))
