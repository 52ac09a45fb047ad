"""Sentiment over HTTP: aggregates from the cache, the mentions behind them, their history, and the cache itself."""

import re

import azure.functions as func

from models.cache import Period, period_named
from services.container import Container
from services.figures.reader import Served, shown_entry
from services.mentions.listing import check_sentiment
from services.topology import REFRESH_TOOLS
from triggers.bindings import endpoint
from triggers.http_codec import (
    accepted,
    json_body,
    json_response,
    list_response,
    no_content,
    page_of,
    page_response,
)

sentiment_http = func.Blueprint()


@endpoint(sentiment_http, "GET", "tools/{tool}/sentiment", "hours", "period")
async def get_tool_sentiment(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return _aggregate_response(req, await _read(services, req))


@endpoint(sentiment_http, "GET", "tools/{tool}/sentiment/evidence", "hours", "period", "limit", "cursor", "sentiment")
async def list_tool_evidence(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    said = check_sentiment(req.params.get("sentiment"))
    served = await _read(services, req)
    entry, (limit, cursor) = served.aggregate.entry, page_of(req)
    mentions = await services.figures.evidence.page(entry, limit, cursor, said)
    facts = await services.figures.evidence.window_facts(entry, cursor)
    return page_response(mentions, **facts, **served.aggregate.completeness.shown())


@endpoint(sentiment_http, "GET", "sentiment/latest", "hours", "period", "limit", "cursor")
async def list_latest_sentiment(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    period = _period(req)
    page = await services.tools.page(*page_of(req), ("ACTIVE",))
    rows = await services.figures.reader.read_all(page.items, period)
    now = services.clock()
    aggregates = [row.aggregate for row in rows.items]
    shown_rows = [shown_entry(each.entry, each.name, each.analyzer, each.completeness, now) for each in aggregates]
    return list_response(shown_rows, page.next, (*page.unreadable, *rows.unreadable))


@endpoint(sentiment_http, "DELETE", "tools/{tool}/cache")
async def delete_tool_cache(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    tool = await services.tools.get(req.route_params["tool"])
    await services.figures.generations.raise_(tool.tool_id)
    await services.figures.generations.known_everywhere()
    return no_content()


@endpoint(sentiment_http, "POST", "cache/refresh")
async def refresh_cache(services: Container, req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    json_body(req, ())
    begun = await services.figures.refresh.begin(context.invocation_id)
    await services.run_starts.send(begun.run_id, REFRESH_TOOLS, begun.messages)
    return accepted(begun.run_id)


@endpoint(sentiment_http, "GET", "cache/health")
async def get_cache_health(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return json_response(await services.cache_health.report())


def _period(req: func.HttpRequest) -> Period:
    return period_named(req.params.get("hours"), req.params.get("period"))


async def _read(services: Container, req: func.HttpRequest) -> Served:
    """The aggregate that the request names."""
    return await services.figures.reader.read(req.route_params["tool"], _period(req))


_TAG = re.compile(r'(?:W/)?("[^"]*")')


def _aggregate_response(req: func.HttpRequest, served: Served) -> func.HttpResponse:
    """HTTP caches may keep the body, and must revalidate its ETag at each request."""
    aggregate = served.aggregate
    headers = {
        "Cache-Control": "no-cache",
        "ETag": aggregate.etag,
        "Age": str(served.age_seconds),
        "X-Cache": served.state,
    }
    known = req.headers.get("If-None-Match")
    if known is not None and (known.strip() == "*" or aggregate.etag in _TAG.findall(known)):
        return func.HttpResponse(status_code=304, headers=headers)
    return func.HttpResponse(aggregate.body, headers=headers, mimetype="application/json", charset="utf-8")
