"""What is behind figures, over HTTP: trends of all tools, what moved a figure, and mentions passage by passage."""

import azure.functions as func

from models.errors import InvalidInput
from services.container import Container
from services.figures.movement_reader import Asked
from services.figures.trends import STEPS
from services.mentions.listing import check_sentiment, mentions_between
from services.runs.listing import asked_time
from triggers.bindings import endpoint
from triggers.http_codec import choice, integer, json_response, list_response, page_of, page_response

insights_http = func.Blueprint()

MOST_SHIFT_HOURS = 1000


@endpoint(insights_http, "GET", "sentiment/trends", "period", "limit", "cursor")
async def list_trends(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    period = choice(req, "period", "HOUR_24", tuple(STEPS))
    page = await services.tools.page(*page_of(req), ("ACTIVE",))
    rows = await services.figures.trends.of_tools(page.items, period, services.clock())
    return list_response(rows.items, page.next, (*page.unreadable, *rows.unreadable))


@endpoint(insights_http, "GET", "tools/{tool}/movement", "from", "to", "shift_hours")
async def get_movement(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    for name in ("from", "to"):
        if name not in req.params:
            raise InvalidInput(name, "needed: a time such as 2026-02-21T20:00:00Z")
    shift = req.params.get("shift_hours")
    hours = None if shift is None else integer(shift, "shift_hours", 1, 1, MOST_SHIFT_HOURS)
    start, end = (asked_time(name, req.params[name]) for name in ("from", "to"))
    asked = Asked.of(start, end, hours, services.clock())
    tool = await services.tools.get(req.route_params["tool"])
    movement = await services.figures.movements.of(tool.tool_id, asked)
    completeness = await services.figures.completeness.of_all()
    return json_response({"tool_id": tool.tool_id, "tool": tool.primary_name, **movement, **completeness.shown()})


@endpoint(insights_http, "GET", "tools/{tool}/mentions", "since", "until", "sentiment", "limit", "cursor")
async def list_mentions(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    said = check_sentiment(req.params.get("sentiment"))
    times = {name: asked_time(name, req.params[name]) for name in ("since", "until") if name in req.params}
    tool = await services.tools.get(req.route_params["tool"])
    limit, cursor = page_of(req)
    return page_response(await mentions_between(services.store, tool.tool_id, times, limit, cursor, said))


@endpoint(insights_http, "GET", "tools/{tool}/mentions/{article_id}")
async def get_mention(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    tool = await services.tools.get(req.route_params["tool"])
    article = await services.articles.get(req.route_params["article_id"])
    found = await services.passages.of(tool.tool_id, article.source_id)
    return json_response({**found, "mention": found["mention"].shown(), "tool": tool.primary_name})
