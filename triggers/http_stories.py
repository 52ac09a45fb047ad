"""Stories and signals over HTTP: lists by filter, of all tools or of one, and one story with its articles."""

import azure.functions as func

from models.request import FEED_ID_FORM
from models.resources.stories import SignalResource, StoryResource
from services.articles.reading import LONGEST_SEARCH
from services.container import Container
from services.signals.reading import KINDS, signal_filter
from services.signals.reading import STATES as SIGNAL_STATES
from services.stories.listing import FEWEST_ARTICLES, MAX_ARTICLES, STATES, story_filter
from triggers.bindings import Routes
from triggers.contract import ListOf
from triggers.http_codec import json_response, list_response
from triggers.parameters import VIEW, given_of, maybe_one_of, one_of, page_of, text, time, whole

stories_http = Routes()

LONGEST_FILTER = 200
TOOL = text("tool", "Stories with an article that mentions the tool: an id, a name or an alias.", example="Python")
AS_ARTICLES = (
    text(
        "publisher",
        "Stories with an article of this publisher: its `publisher_id`.",
        longest=LONGEST_FILTER,
        example="python.org",
    ),
    text(
        "source",
        "Stories with an article of this source: the id of a feed.",
        pattern=FEED_ID_FORM,
        example="python-insider",
    ),
    text(
        "language", "The language of the first article: the primary subtag, such as en.", form="language", example="en"
    ),
    time("since", "Stories whose last article is of this time or later.", "2026-02-01T00:00:00Z"),
    time("until", "Stories whose last article is of before this time.", "2027-02-01T00:00:00Z"),
    text(
        "text",
        "Words, up to 20, that headlines of the articles have; without quotation marks.",
        longest=LONGEST_SEARCH,
        form="words",
        example="release",
    ),
)
STATE = maybe_one_of("state", STATES, "`open`: an article may still join the story.", "open")
FEWEST = whole("min_articles", FEWEST_ARTICLES, MAX_ARTICLES, "Stories of at least so many articles.", FEWEST_ARTICLES)
FILTERS = (*AS_ARTICLES, STATE, FEWEST)
KIND = maybe_one_of("kind", KINDS, "Signals of this kind.", "NEW")
SIGNAL_STATE = one_of(
    "state",
    SIGNAL_STATES,
    "`active`: it holds. `withdrawn`: it did, until articles were deleted, split off or corrected.",
    "active",
)
TIMES = (
    time("since", "Signals of this time or later.", "2026-02-01T00:00:00Z"),
    time("until", "Signals of before this time.", "2027-02-01T00:00:00Z"),
)


@stories_http.get("stories", TOOL, *FILTERS, returns=ListOf("Stories", StoryResource))
async def list_stories(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List stories of two articles or more, latest first."""
    return await _page(services, req, TOOL.of(req))


@stories_http.get("stories/{event_id}", returns=StoryResource)
async def get_story(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a story with its articles, publishers and tools."""
    return json_response(await services.stories.reader.get(req.route_params["event_id"], VIEW.of(req)))


@stories_http.get("tools/{tool}/stories", *FILTERS, tag="Stories", returns=ListOf("Stories", StoryResource))
async def list_tool_stories(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the stories with an article that mentions a tool."""
    return await _page(services, req, req.route_params["tool"])


async def _page(services: Container, req: func.HttpRequest, tool: str | None) -> func.HttpResponse:
    given = given_of(req, AS_ARTICLES)
    if tool is not None:
        given["tool"] = (await services.tools.get(tool)).tool_id
    where = story_filter(given, STATE.of(req), FEWEST.of(req), services.clock())
    page = await services.stories.reader.page(where, *page_of(req), VIEW.of(req))
    return list_response(page.items, page.next, page.unreadable)


@stories_http.get("signals", KIND, SIGNAL_STATE, *TIMES, tag="Signals", returns=ListOf("Signals", SignalResource))
async def list_signals(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the signals of all tools, latest first."""
    return await _signals(services, req, None)


@stories_http.get(
    "tools/{tool}/signals", KIND, SIGNAL_STATE, *TIMES, tag="Signals", returns=ListOf("Signals", SignalResource)
)
async def list_tool_signals(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the signals of a tool, latest first."""
    tool = await services.tools.get(req.route_params["tool"])
    return await _signals(services, req, tool.tool_id)


async def _signals(services: Container, req: func.HttpRequest, tool_id: str | None) -> func.HttpResponse:
    where = signal_filter(given_of(req, TIMES), KIND.of(req), SIGNAL_STATE.of(req))
    page = await services.stories.signals.page(tool_id, where, *page_of(req), VIEW.of(req))
    return list_response(page.items, page.next, page.unreadable)
