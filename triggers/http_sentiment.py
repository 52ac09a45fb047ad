"""Sentiment over HTTP: aggregates and trends, the mentions behind them, what moved them, and the cache itself."""

import re

import azure.functions as func

from models.cache import PERIOD_BY_HOURS, PERIODS, Period, period_named
from models.request import Nothing
from models.resources.articles import MentionResource
from models.resources.figures import AggregateResource, EvidenceFacts
from models.resources.health import CacheHealth
from models.resources.movement import MentionByPassages, Movement, Trend
from models.resources.runs import RunStarted
from services.articles.reading import SAID
from services.container import Container
from services.figures.evidence import Times
from services.figures.reader import Aggregate
from services.figures.trends import STEPS
from services.mentions.listing import mentions_page
from services.topology import REFRESH_TOOLS
from services.work.listing import asked_span, asked_time
from triggers.bindings import LONGEST_KEPT, Routes
from triggers.contract import Answer, Header, ListOf, accepted_as_run, ok
from triggers.http_codec import accepted, json_response, list_response, no_content, resources_response, sent
from triggers.parameters import (
    VIEW,
    Parameter,
    maybe_one_of,
    maybe_whole,
    one_of,
    page_of,
    time,
)

sentiment_http = Routes()

HOURS = Parameter[str | None](
    "hours",
    "The length of the window. 24 if neither is given.",
    {"type": "integer", "enum": [int(each) for each in PERIOD_BY_HOURS]},
    absent=None,
    example=24,
)
PERIOD = maybe_one_of("period", tuple(PERIODS), "The same by its name.", "HOUR_24")
WINDOW = (HOURS, PERIOD)
SENTIMENT = maybe_one_of(
    "sentiment", SAID, "Mentions that say so. A page may then be shorter than `limit`.", "positive"
)
IF_NONE_MATCH = Parameter[str | None](
    "If-None-Match", "The `ETag` of the answer that the caller has.", {"type": "string"}, absent=None, place="header"
)
MAX_SHIFT_HOURS = 1000
TREND_PERIOD = one_of(
    "period",
    tuple(STEPS),
    "How long the trends are: no `HOUR_1`, since a trend is drawn in steps of an hour and more.",
    "HOUR_24",
)
FROM = time("from", "Where the time begins, within the last 43 days.", is_required=True)
TO = time("to", "Where it ends.", is_required=True)
SHIFT = maybe_whole(
    "shift_hours", 1, MAX_SHIFT_HOURS, "By how many hours the other time is earlier. Absent: it ends at `from`.", 24
)
SINCE = time("since", "Published then or later.", "2026-02-21T20:00:00Z")
UNTIL = time("until", "Published before.", "2026-02-22T20:00:00Z")
TAG = "Sentiment"
CACHED = {
    "Cache-Control": Header("HTTP caches may keep the body, and must revalidate it."),
    "ETag": Header("Changes with the body."),
    "Age": Header("Seconds since the figures were computed.", {"type": "integer", "minimum": 0}),
    "X-Cache": Header(
        "Whether the entry was there and fresh, was there and is being refreshed, or was computed now.",
        {"type": "string", "enum": ["HIT", "STALE", "MISS"]},
    ),
}


@sentiment_http.get(
    "tools/{tool}/sentiment",
    *WINDOW,
    IF_NONE_MATCH,
    tag=TAG,
    returns=[
        ok(AggregateResource, "The aggregate of the window.", headers=CACHED),
        Answer(304, "The caller has the present answer.", headers=CACHED),
    ],
)
async def get_tool_sentiment(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get the sentiment about a tool."""
    return _aggregate_response(services, req, await _read(services, req))


@sentiment_http.get(
    "tools/{tool}/sentiment/evidence",
    *WINDOW,
    SENTIMENT,
    tag=TAG,
    returns=ListOf("Evidence", MentionResource, EvidenceFacts),
)
async def list_tool_evidence(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the mentions behind an aggregate, latest first."""
    said = SENTIMENT.of(req)
    served = await _read(services, req)
    entry, (limit, cursor) = served.entry, page_of(req)
    mentions, facts = await services.figures.evidence.page(entry, limit, cursor, said)
    view, completeness = VIEW.of(req), served.completeness.shown()
    return resources_response(mentions, lambda mention: MentionResource.of(mention, view), **facts, **completeness)


@sentiment_http.get("sentiment/latest", *WINDOW, tag=TAG, returns=ListOf("Aggregates", AggregateResource))
async def list_latest_sentiment(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the sentiment about all active tools."""
    period = _period(req)
    page = await services.tools.page(*page_of(req), ("ACTIVE",))
    rows = await services.figures.reader.read_all(page.items, period)
    now, view = services.clock(), VIEW.of(req)
    found = [each.in_view(view, now).resource.shown() for each in rows.items]
    return list_response(found, page.next, (*page.unreadable, *rows.unreadable))


@sentiment_http.delete(
    "tools/{tool}/cache", tag="Cache", returns=Answer(204, "No instance serves an entry from before the call.")
)
async def delete_tool_cache(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Delete the cached aggregates of a tool."""
    tool = await services.tools.get(req.route_params["tool"])
    await services.figures.generations.raise_(tool.tool_id)
    await services.figures.generations.known_everywhere()
    return no_content()


@sentiment_http.post("cache/refresh", body=Nothing, returns=accepted_as_run(RunStarted))
async def refresh_cache(services: Container, req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    """Refresh the aggregates of all active tools."""
    sent(req, Nothing)
    begun = await services.figures.refresh.begin(context.invocation_id)
    await services.queues.send(REFRESH_TOOLS, begun.messages)
    return accepted(begun.run_id)


@sentiment_http.get("cache/health", returns=CacheHealth)
async def get_cache_health(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say how the cache is doing."""
    return json_response(await services.operations.cache_health.report())


def _period(req: func.HttpRequest) -> Period:
    return period_named(HOURS.of(req), PERIOD.of(req))


async def _read(services: Container, req: func.HttpRequest) -> Aggregate:
    """The aggregate that the request names."""
    return await services.figures.reader.read(req.route_params["tool"], _period(req))


_TAG = re.compile(r'(?:W/)?("[^"]*")')


def _aggregate_response(services: Container, req: func.HttpRequest, served: Aggregate) -> func.HttpResponse:
    """HTTP caches may keep the body, and must revalidate its ETag at each request."""
    now = services.clock()
    view, known, age = VIEW.of(req), req.headers.get("If-None-Match"), served.entry.age_seconds(now)
    response: func.HttpResponse | None = served.answers.get((view, known, age))
    if response is not None:
        return response
    aggregate = served.in_view(view, now)
    headers = {"Cache-Control": "no-cache", "ETag": aggregate.etag, "Age": str(age), "X-Cache": served.state}
    if known is not None and (known.strip() == "*" or aggregate.etag in _TAG.findall(known)):
        response = func.HttpResponse(status_code=304, headers=headers)
    else:
        response = func.HttpResponse(aggregate.body, headers=headers, mimetype="application/json", charset="utf-8")
    served.answers.clear()  # a new one is needed each second
    if len(known or "") <= LONGEST_KEPT:
        served.answers[view, known, age] = response
    return response


@sentiment_http.get("sentiment/trends", TREND_PERIOD, tag=TAG, returns=ListOf("Trends", Trend))
async def list_trends(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the trends of all active tools."""
    page = await services.tools.page(*page_of(req), ("ACTIVE",))
    rows = await services.figures.trends.of_tools(page.items, TREND_PERIOD.of(req), services.clock())
    return list_response(rows.items, page.next, (*page.unreadable, *rows.unreadable))


@sentiment_http.get("tools/{tool}/movement", FROM, TO, SHIFT, tag=TAG, returns=Movement)
async def get_movement(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say what a figure is made of, and what moved it."""
    start, end = (asked_time(each.name, each.of(req) or "") for each in (FROM, TO))
    times = Times.of(start, end, SHIFT.of(req), services.clock())
    tool = await services.tools.get(req.route_params["tool"])
    movement = await services.figures.evidence.movement(tool.tool_id, times)
    completeness = await services.figures.completeness.of_all()
    return json_response({"tool_id": tool.tool_id, "tool": tool.primary_name, **movement, **completeness.shown()})


@sentiment_http.get(
    "tools/{tool}/mentions", SINCE, UNTIL, SENTIMENT, tag=TAG, returns=ListOf("Mentions", MentionResource)
)
async def list_mentions(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the mentions of a tool, latest first."""
    since, until = asked_span(req.params)
    tool = await services.tools.get(req.route_params["tool"])
    (limit, cursor), view = page_of(req), VIEW.of(req)
    said = SENTIMENT.of(req)
    page = await mentions_page(services.store, tool.tool_id, limit, cursor, said, since=since, until=until)
    return resources_response(page, lambda mention: MentionResource.of(mention, view))


@sentiment_http.get("tools/{tool}/mentions/{article_id}", VIEW, tag=TAG, returns=MentionByPassages)
async def get_mention(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a mention, passage by passage."""
    tool = await services.tools.get(req.route_params["tool"])
    article = await services.articles.get(req.route_params["article_id"])
    found = await services.mentions.passages.of(tool.tool_id, article.source_id)
    mention = MentionResource.of(found["mention"], VIEW.of(req))
    return json_response({**found, "mention": mention.shown(), "tool": tool.primary_name})
