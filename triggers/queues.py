"""The queue functions: each decodes a message, calls one service, and queues what follows from it.

What a handler raises puts its message back; after host.json's maxDequeueCount it goes to the poison queue.
"""

import typing

import azure.functions as func

from services import container
from services.cache.messages import RefreshMessage, reanalysed_tool
from services.ingest.messages import FeedBatch
from services.topology import ANALYZE_ARTICLES, INGEST_FEEDS, REANALYSIS_COMPLETED, REFRESH_TOOLS

queues = func.Blueprint()

CONNECTION = "AzureWebJobsStorage"


@queues.queue_trigger(arg_name="message", queue_name=INGEST_FEEDS, connection=CONNECTION)
@queues.queue_output(arg_name="articles", queue_name=ANALYZE_ARTICLES, connection=CONNECTION)
async def ingest_feeds(message: func.QueueMessage, articles: func.Out[typing.List[str]]) -> None:
    services = await container.get()
    batch = FeedBatch.from_message(message.get_body().decode())
    outcome = await services.ingestion.ingest(batch, message.dequeue_count or 1)
    if outcome.article_ids:
        articles.set(outcome.messages(services.settings.batch_size))


@queues.queue_trigger(arg_name="message", queue_name=REFRESH_TOOLS, connection=CONNECTION)
async def refresh_tools(message: func.QueueMessage) -> None:
    services = await container.get()
    await services.cache.refresh_runs.work(RefreshMessage.from_message(message.get_body().decode()))


@queues.queue_trigger(arg_name="message", queue_name=REANALYSIS_COMPLETED, connection=CONNECTION)
async def invalidate_tool_cache(message: func.QueueMessage) -> None:
    services = await container.get()
    await services.cache.invalidation.invalidate_tool_cache(reanalysed_tool(message.get_body().decode()))
