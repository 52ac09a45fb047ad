"""What is behind figures, over HTTP: trends of all tools, what moved a figure, and mentions passage by passage."""

import azure.functions as func

from models.resources.mentions import MentionResource
from models.resources.movement import MentionByPassages, Movement, Trend
from services.articles.listing import SAID
from services.container import Container
from services.figures.movement_reader import Asked
from services.figures.trends import STEPS
from services.mentions.listing import mentions_between
from services.runs.listing import asked_time
from triggers.bindings import endpoint
from triggers.declared import a_list, ok
from triggers.http_codec import json_response, list_response
from triggers.http_resources import VIEW, resources_response
from triggers.parameters import PAGE, given_of, maybe_one_of, maybe_whole, one_of, page_of, time

insights_http = func.Blueprint()

MOST_SHIFT_HOURS = 1000
PERIOD = one_of(
    "period",
    tuple(STEPS),
    "How long the trends are: no `HOUR_1`, since a trend is drawn in steps of an hour and more.",
    "HOUR_24",
    why="a trend is drawn in steps of an hour and more",
)
FROM = time("from", "Where the time begins, within the last 43 days.", is_required=True)
TO = time("to", "Where it ends.", is_required=True)
SHIFT = maybe_whole(
    "shift_hours", 1, MOST_SHIFT_HOURS, "By how many hours the other time is earlier. Absent: it ends at `from`.", 24
)
SENTIMENT = maybe_one_of("sentiment", SAID, "Mentions that say so. A page may then be shorter than `limit`.")
SINCE = time("since", "Published then or later.", "2026-02-21T20:00:00Z")
UNTIL = time("until", "Published before.", "2026-02-22T20:00:00Z")
TAG = "Sentiment"


@endpoint(insights_http, "GET", "sentiment/trends", PERIOD, *PAGE, tag=TAG, answers=[ok(a_list("Trends", Trend))])
async def list_trends(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the trends of all active tools."""
    page = await services.tools.page(*page_of(req), ("ACTIVE",))
    rows = await services.figures.trends.of_tools(page.items, PERIOD.of(req), services.clock())
    return list_response(rows.items, page.next, (*page.unreadable, *rows.unreadable))


@endpoint(insights_http, "GET", "tools/{tool}/movement", FROM, TO, SHIFT, tag=TAG, answers=[ok(Movement)])
async def get_movement(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say what a figure is made of, and what moved it."""
    start, end = (asked_time(each.name, each.of(req) or "") for each in (FROM, TO))
    asked = Asked.of(start, end, SHIFT.of(req), services.clock())
    tool = await services.tools.get(req.route_params["tool"])
    movement = await services.figures.movements.of(tool.tool_id, asked)
    completeness = await services.figures.completeness.of_all()
    return json_response({"tool_id": tool.tool_id, "tool": tool.primary_name, **movement, **completeness.shown()})


@endpoint(
    insights_http,
    "GET",
    "tools/{tool}/mentions",
    SINCE,
    UNTIL,
    SENTIMENT,
    VIEW,
    *PAGE,
    tag=TAG,
    answers=[ok(a_list("Mentions", MentionResource))],
)
async def list_mentions(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the mentions of a tool, latest first."""
    times = {name: asked_time(name, given) for name, given in given_of(req, (SINCE, UNTIL)).items()}
    tool = await services.tools.get(req.route_params["tool"])
    (limit, cursor), view = page_of(req), VIEW.of(req)
    page = await mentions_between(services.store, tool.tool_id, times, limit, cursor, SENTIMENT.of(req))
    return resources_response(page, lambda mention: MentionResource.of(mention, view))


@endpoint(insights_http, "GET", "tools/{tool}/mentions/{article_id}", VIEW, tag=TAG, answers=[ok(MentionByPassages)])
async def get_mention(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a mention, passage by passage."""
    tool = await services.tools.get(req.route_params["tool"])
    article = await services.articles.get(req.route_params["article_id"])
    found = await services.mentions.passages.of(tool.tool_id, article.source_id)
    mention = MentionResource.of(found["mention"], VIEW.of(req))
    return json_response({**found, "mention": mention.shown(), "tool": tool.primary_name})
