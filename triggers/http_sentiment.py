"""Sentiment over HTTP: aggregates from the cache, what they rest on, their history, and the cache itself."""

import re
import typing

import azure.functions as func

from models.cache import period_named
from models.errors import NotFound
from services import container
from services.articles.reading import LAYERS
from services.figures.history import DEFAULT_DAYS, MOST_DAYS
from services.figures.messages import refresh_messages
from services.figures.reader import Served, shown_entry
from services.operations.metrics import MEDIA_TYPE
from services.topology import REFRESH_TOOLS
from triggers.access import MANAGE, READ, require_management
from triggers.http_codec import (
    accepted,
    answering,
    choice,
    integer,
    json_answer,
    json_body,
    list_answer,
    no_content,
    page_answer,
    page_of,
    query_of,
)

sentiment_http = func.Blueprint()

CONNECTION = "AzureWebJobsStorage"


@sentiment_http.route(route="v1/tools/{tool}/sentiment", methods=["GET"], auth_level=READ)
@sentiment_http.queue_output(arg_name="messages", queue_name=REFRESH_TOOLS, connection=CONNECTION)
@answering
async def get_tool_sentiment(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    given = query_of(req, "hours", "period")
    period = period_named(given.get("hours"), given.get("period"))
    served = await services.figures.reader.read(req.route_params["tool"], period)
    if served.refresh:
        messages.set(refresh_messages([served.aggregate.entry.tool_id]))
    return _aggregate_answer(req, served)


@sentiment_http.route(route="v1/tools/{tool}/sentiment/evidence", methods=["GET"], auth_level=READ)
@sentiment_http.queue_output(arg_name="messages", queue_name=REFRESH_TOOLS, connection=CONNECTION)
@answering
async def list_tool_evidence(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    given = query_of(req, "hours", "period", "limit", "cursor")
    period = period_named(given.get("hours"), given.get("period"))
    served = await services.figures.reader.read(req.route_params["tool"], period)
    if served.refresh:
        messages.set(refresh_messages([served.aggregate.entry.tool_id]))
    entry, (limit, cursor) = served.aggregate.entry, page_of(req)
    mentions = await services.figures.evidence.page(entry, limit, cursor)
    return page_answer(mentions, **await services.figures.evidence.window_facts(entry, cursor))


@sentiment_http.route(route="v1/sentiment/latest", methods=["GET"], auth_level=READ)
@sentiment_http.queue_output(arg_name="messages", queue_name=REFRESH_TOOLS, connection=CONNECTION)
@answering
async def list_latest_sentiment(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    given = query_of(req, "hours", "period", "limit", "cursor")
    period = period_named(given.get("hours"), given.get("period"))
    page = await services.tools.page(*page_of(req), ("ACTIVE",))
    rows = await services.figures.reader.read_all(page.items, period)
    stale = [row.aggregate.entry.tool_id for row in rows.items if row.refresh]
    if stale:
        messages.set(refresh_messages(stale))
    now = services.clock()
    shown_rows = [shown_entry(row.aggregate.entry, row.aggregate.name, now) for row in rows.items]
    return list_answer(shown_rows, page.next, (*page.unreadable, *rows.unreadable))


@sentiment_http.route(route="v1/tools/{tool}/history", methods=["GET"], auth_level=READ)
@answering
async def get_tool_history(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    given = query_of(req, "days", "layer")
    days = integer(given.get("days"), "days", DEFAULT_DAYS, 1, MOST_DAYS)
    layer = choice(req, "layer", "canonical", LAYERS)
    tool = await services.tools.get(req.route_params["tool"])
    if layer == "canonical":
        return list_answer(
            [point.shown() for point in await services.figures.history.canonical(tool.tool_id, days)], None
        )
    raw = await services.figures.history.raw(tool.tool_id, days)
    return list_answer([point.shown() for point in raw.items], None, raw.unreadable)


@sentiment_http.route(route="v1/tools/{tool}/cache", methods=["DELETE"], auth_level=MANAGE)
@answering
async def delete_tool_cache(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    tool = await services.tools.get(req.route_params["tool"])
    await services.figures.generations.raise_(tool.tool_id)
    return no_content()


@sentiment_http.route(route="v1/cache/refresh", methods=["POST"], auth_level=MANAGE)
@sentiment_http.queue_output(arg_name="messages", queue_name=REFRESH_TOOLS, connection=CONNECTION)
@answering
async def refresh_cache(
    req: func.HttpRequest, messages: func.Out[typing.List[str]], context: func.Context
) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    json_body(req, ())
    begun = await services.figures.refresh_runs.begin(context.invocation_id)
    messages.set(begun.messages)
    return accepted(begun.run_id)


@sentiment_http.route(route="v1/cache/health", methods=["GET"], auth_level=READ)
@answering
async def get_cache_health(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req)
    return json_answer(await services.cache_health.report())


@sentiment_http.route(route="v1/metrics", methods=["GET"], auth_level=READ)
@answering
async def get_metrics(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req)
    if not services.settings.metrics_enabled:
        raise NotFound("metrics: METRICS_ENABLED is false")
    return func.HttpResponse(
        await services.metrics.text(),
        headers={"Cache-Control": "no-store"},
        mimetype=MEDIA_TYPE,
        charset="utf-8",
    )


_TAG = re.compile(r'(?:W/)?("[^"]*")')


def _aggregate_answer(req: func.HttpRequest, served: Served) -> func.HttpResponse:
    """Kept by caches, and asked for again each time: the tag says whether it is still the same."""
    aggregate = served.aggregate
    headers = {
        "Cache-Control": "no-cache",
        "ETag": aggregate.etag,
        "Age": str(served.age_seconds),
        "X-Cache": served.state,
    }
    asked = req.headers.get("If-None-Match")
    if asked is not None and (asked.strip() == "*" or aggregate.etag in _TAG.findall(asked)):
        return func.HttpResponse(status_code=304, headers=headers)
    return func.HttpResponse(aggregate.body, headers=headers, mimetype="application/json", charset="utf-8")
