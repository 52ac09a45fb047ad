"""The timer functions: each calls one service, and sends the messages that the service returned."""

import azure.functions as func

from services.container import Container
from services.topology import CLEAN_UP, INGEST_DUE_FEEDS, REFRESH_SENTIMENT_CACHE, REFRESH_TOOLS
from triggers.bindings import timer

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
    await services.feeds.fetch_days.work()
    begun = await services.figures.refresh.tick(context.invocation_id)
    await services.queues.send(REFRESH_TOOLS, begun.messages)
