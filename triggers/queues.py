"""The queue functions: each decodes a message, calls one service, and queues what follows from it.

What a handler raises puts its message back; after host.json's maxDequeueCount it goes to the poison queue.
"""

import typing

import azure.functions as func

from services import container
from services.articles.analysis_messages import article_messages, source_ids_of
from services.feeds.messages import IngestMessage
from services.figures.messages import RefreshMessage
from services.topology import ANALYZE_ARTICLES, INGEST_FEEDS, REANALYSIS_COMPLETED, REANALYZE_TOOLS, REFRESH_TOOLS
from services.workflows.messages import completed_message, completed_tool_of, run_id_of, run_message

queues = func.Blueprint()

CONNECTION = "AzureWebJobsStorage"


@queues.queue_trigger(arg_name="message", queue_name=INGEST_FEEDS, connection=CONNECTION)
@queues.queue_output(arg_name="articles", queue_name=ANALYZE_ARTICLES, connection=CONNECTION)
async def ingest_feeds(message: func.QueueMessage, articles: func.Out[typing.List[str]], context: func.Context) -> None:
    services = await container.get()
    batch = IngestMessage.from_message(message.get_body().decode())
    outcome = await services.ingestion.ingest(batch, message.dequeue_count or 1, context.invocation_id)
    if outcome.article_ids:
        articles.set(article_messages(outcome.article_ids, services.settings.batch_size))


@queues.queue_trigger(arg_name="message", queue_name=ANALYZE_ARTICLES, connection=CONNECTION)
@queues.queue_output(arg_name="alone", queue_name=ANALYZE_ARTICLES, connection=CONNECTION)
async def analyze_articles(message: func.QueueMessage, alone: func.Out[typing.List[str]]) -> None:
    services = await container.get()
    source_ids = source_ids_of(message.get_body().decode())
    handled = await services.analysis.handle(source_ids, message.dequeue_count or 1)
    if handled.alone:
        alone.set(list(handled.alone))


@queues.queue_trigger(arg_name="message", queue_name=REANALYZE_TOOLS, connection=CONNECTION)
@queues.queue_output(arg_name="again", queue_name=REANALYZE_TOOLS, connection=CONNECTION)
@queues.queue_output(arg_name="completed", queue_name=REANALYSIS_COMPLETED, connection=CONNECTION)
async def reanalyze_tools(
    message: func.QueueMessage,
    again: func.Out[typing.List[str]],
    completed: func.Out[typing.List[str]],
    context: func.Context,
) -> None:
    services = await container.get()
    run_id = run_id_of(message.get_body().decode())
    result = await services.workflows.advance(run_id, message.dequeue_count or 1, context.invocation_id)
    if result.send_again:
        again.set([run_message(run_id)])
    if result.changed_tools:
        completed.set([completed_message(tool_id, run_id) for tool_id in result.changed_tools])


@queues.queue_trigger(arg_name="message", queue_name=REFRESH_TOOLS, connection=CONNECTION)
async def refresh_tools(message: func.QueueMessage) -> None:
    services = await container.get()
    await services.figures.refresh_runs.work(RefreshMessage.from_message(message.get_body().decode()))


@queues.queue_trigger(arg_name="message", queue_name=REANALYSIS_COMPLETED, connection=CONNECTION)
async def invalidate_tool_cache(message: func.QueueMessage) -> None:
    services = await container.get()
    await services.figures.generations.invalidate_tool_cache(completed_tool_of(message.get_body().decode()))
