"""Stories and signals over HTTP: lists by filter, of all tools or of one, and one story with its articles."""

import azure.functions as func

from services.container import Container
from services.signals.reading import KINDS, signal_filter
from services.signals.reading import STATES as SIGNAL_STATES
from services.stories.listing import AS_ARTICLES, FEWEST_ARTICLES, MOST_ARTICLES, STATES, story_filter
from triggers.bindings import endpoint
from triggers.http_codec import choice, integer, json_response, list_response, page_of

stories_http = func.Blueprint()

_OF_TOOL = tuple(name for name in AS_ARTICLES if name != "tool")


@endpoint(stories_http, "GET", "stories", *AS_ARTICLES, "state", "min_articles", "limit", "cursor")
async def list_stories(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return await _page(services, req, req.params.get("tool"))


@endpoint(stories_http, "GET", "stories/{event_id}")
async def get_story(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return json_response(await services.stories.get(req.route_params["event_id"]))


@endpoint(stories_http, "GET", "tools/{tool}/stories", *_OF_TOOL, "state", "min_articles", "limit", "cursor")
async def list_tool_stories(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return await _page(services, req, req.route_params["tool"])


async def _page(services: Container, req: func.HttpRequest, tool: str | None) -> func.HttpResponse:
    given = {name: req.params[name] for name in AS_ARTICLES if name in req.params}
    if tool is not None:
        given["tool"] = (await services.tools.get(tool)).tool_id
    state = choice(req, "state", "open", STATES) if "state" in req.params else None
    fewest = integer(req.params.get("min_articles"), "min_articles", FEWEST_ARTICLES, FEWEST_ARTICLES, MOST_ARTICLES)
    where = story_filter(given, state, fewest, services.clock())
    page = await services.stories.page(where, *page_of(req))
    return list_response(page.items, page.next, page.unreadable)


@endpoint(stories_http, "GET", "signals", "kind", "state", "since", "until", "limit", "cursor")
async def list_signals(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return await _signals(services, req, None)


@endpoint(stories_http, "GET", "tools/{tool}/signals", "kind", "state", "since", "until", "limit", "cursor")
async def list_tool_signals(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    tool = await services.tools.get(req.route_params["tool"])
    return await _signals(services, req, tool.tool_id)


async def _signals(services: Container, req: func.HttpRequest, tool_id: str | None) -> func.HttpResponse:
    kind = choice(req, "kind", "NEW", KINDS) if "kind" in req.params else None
    times = {name: req.params[name] for name in ("since", "until") if name in req.params}
    where = signal_filter(times, kind, choice(req, "state", "active", SIGNAL_STATES))
    page = await services.signals.page(tool_id, where, *page_of(req))
    return list_response(page.items, page.next, page.unreadable)
