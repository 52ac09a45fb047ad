"""The history of tools over HTTP: points and windows of one tool or several, and the close of a day."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

import azure.functions as func

from models.errors import InvalidInput, NotFound
from models.resources.figures import ClosedDay, HistoryFacts, HistoryOfTool, Point, SpanFacts
from models.tool import Tool
from models.values import format_time
from services.articles.reading import LAYERS
from services.container import Container
from services.figures.history import ToolHistory
from services.figures.points import MAX_DAYS, MAX_TOOLS, STEPS, Span, Step, frozen_at, span_of, tool_texts
from services.figures.reader import is_reanalysis_offered
from triggers.bindings import Routes
from triggers.contract import ListOf
from triggers.http_codec import json_response, left_out, list_response
from triggers.parameters import maybe_whole, one_of, text

history_http = Routes("History")

DAY: Step = "day"
DAYS = maybe_whole("days", 1, MAX_DAYS, "The days up to today, instead of `from`. 7 if both are absent.", 7)
STEP = one_of("step", tuple(STEPS), "How long a point is. Hours are kept for 32 days.", DAY)
SPAN = (
    DAYS,
    text("from", "Where the history begins: a UTC day such as 2026-02-21, or a time; a whole step.", form="step"),
    text("to", "Where it ends, in the same form. Needs `from`.", form="step"),
    STEP,
)
LAYER = one_of("layer", LAYERS, "`raw`: one point more for each source and step.", "canonical")
TOOLS = text(
    "tools",
    f"Up to {MAX_TOOLS} ids, names or aliases, separated by commas.",
    form="names",
    example="Python",
    is_required=True,
)


@history_http.get("tools/{tool}/history", *SPAN, LAYER, returns=ListOf("History", Point, HistoryFacts, is_paged=False))
async def get_tool_history(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get the history of a tool.

    One point for each day or hour, oldest first. The span is in whole UTC steps.
    """
    layer, span = LAYER.of(req), _span(services, req)
    tool = await services.tools.get(req.route_params["tool"])
    completeness = await services.figures.completeness.of_all()
    if layer == "canonical":
        history = await services.figures.history.canonical(tool.tool_id, span)
    else:
        asked_for = "from" if "from" in req.params else "days"
        history = await services.figures.history.raw(tool.tool_id, span, asked_for=asked_for)
    facts = {**_shown_span(span), **_windows(services, history), **completeness.shown()}
    return list_response([point.shown() for point in history.points], None, history.unreadable, **facts)


@history_http.get("history", TOOLS, *SPAN, returns=ListOf("Histories", HistoryOfTool, SpanFacts, is_paged=False))
async def list_histories(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Compare the histories of several tools."""
    texts = tool_texts(TOOLS.of(req) or "")
    span = _span(services, req, len(texts))
    tools = {tool.tool_id: tool for tool in await asyncio.gather(*(_tool(services, text) for text in texts))}
    completeness = await services.figures.completeness.of_all()
    canonical = services.figures.history.canonical
    histories = await asyncio.gather(*(canonical(tool_id, span) for tool_id in tools))
    items = [
        {
            "tool_id": tool.tool_id,
            "tool": tool.primary_name,
            "points": [point.shown() for point in history.points],
            **_windows(services, history),
            **left_out(history.unreadable),
        }
        for tool, history in zip(tools.values(), histories, strict=True)
    ]
    return list_response(items, None, **_shown_span(span), **completeness.shown())


@history_http.get("tools/{tool}/history/{day}", returns=ClosedDay)
async def get_tool_history_day(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get the close of a day beside its present figures."""
    day = _day(services, req.route_params["day"])
    tool = await services.tools.unmerged(req.route_params["tool"])
    closed, point = await services.figures.history.day(tool.tool_id, day, services.clock())
    figures = closed.figures if closed else None
    present = dict(point.figures)
    differing = [] if figures is None else sorted(name for name in present if figures.get(name) != present[name])
    body = {
        "tool_id": tool.tool_id,
        "tool": tool.primary_name,
        "merged_into": tool.merged_into,
        "day": day.isoformat(),
        "closed": closed.shown() if closed else None,
        "present": {
            **present,
            "state": point.state,
            "frozen_at": format_time(frozen_at(day)) if point.state == "frozen" else None,
        },
        "differing": differing,
    }
    return json_response(body)


def _span(services: Container, req: func.HttpRequest, tools: int = 1) -> Span:
    return span_of(req.params, DAYS.of(req), STEP.of(req), services.clock(), tools)


def _shown_span(span: Span) -> dict[str, str]:
    return {"step": span.step, "from": format_time(span.start), "to": format_time(span.end)}


def _windows(services: Container, history: ToolHistory) -> dict[str, Any]:
    analyzers = {name for point in history.points for name in point.analyzers}
    offered = is_reanalysis_offered(analyzers, services.figures.analyzer())
    return {"total": history.total, "change": history.change, "reanalysis_offered": offered}


async def _tool(services: Container, text: str) -> Tool:
    try:
        return await services.tools.get(text)
    except NotFound:
        raise InvalidInput("tools", f"ids, names or aliases of tools: there is none for {text[:200]!r}") from None


def _day(services: Container, text: str) -> date:
    allowed = "a UTC day such as 2026-02-21, today or earlier"
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise InvalidInput("day", allowed) from None
    if day.isoformat() != text or day > services.clock().date():
        raise InvalidInput("day", allowed)
    return day
