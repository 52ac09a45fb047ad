"""Corrections over HTTP: verdicts on mentions, muted sources and excluded phrases, with labelled data; articles and
stories that are split, joined or kept apart, with the merge ledger; and undoing each."""

import azure.functions as func

from models.correction import Correction, GroupingCorrection, GroupingCorrectionKind
from models.errors import NotFound
from models.request import SignedBody
from models.resources.corrections import (
    STATES,
    ArticleSplit,
    CorrectionResource,
    GroupingCorrectionResource,
    NewCorrectionBody,
    StoryPair,
    StorySplit,
)
from models.resources.stories import LedgerEntry
from models.resources.tools import MeasuredPrecision, Precision
from models.run import JobRun
from models.tool import Tool
from services.container import Container
from services.stories.pins import STATES as STORY_STATES
from triggers.bindings import Routes
from triggers.contract import Header, ListOf, accepted_as_run, created, ok
from triggers.http_codec import accepted, json_response, lines_response, list_response, resources_response, sent
from triggers.parameters import CURSOR, MAX_LIMIT, VIEW, maybe_one_of, page_of, whole

corrections_http = Routes("Corrections")

STATE = maybe_one_of("state", STATES, "Corrections in this state. A page may then be shorter than `limit`.", "active")
LABELS_LIMIT = whole("limit", 1, MAX_LIMIT, "How many labels a page has at most.", MAX_LIMIT)


@corrections_http.get(
    "tools/{tool}/corrections",
    STATE,
    returns=ListOf("Corrections", CorrectionResource, MeasuredPrecision),
    is_management=True,
)
async def list_corrections(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the corrections of a tool.

    By id. The first page has the measured precision of the tool, and that of all tools together.
    """
    state = STATE.of(req)
    (limit, cursor), view = page_of(req), VIEW.of(req)
    tool = await services.tools.get(req.route_params["tool"])
    page = await services.mentions.corrections.page(tool, state, limit, cursor, view)
    precision = {}
    if cursor is None:
        of_all = await services.mentions.corrections.reviews_of_all()
        precision = {
            "precision": Precision.of(tool.reviews).shown(),
            "precision_of_all_tools": Precision.of(of_all).shown(),
        }
    return resources_response(page, lambda each: each, **precision)


@corrections_http.post(
    "tools/{tool}/corrections",
    body=NewCorrectionBody,
    returns=[
        created(CorrectionResource, "The mention is corrected, and counted everywhere."),
        accepted_as_run(
            CorrectionResource, "The source is muted, or the phrase excluded: a run searches the articles."
        ),
    ],
    problems={
        409: "The tool is not `ACTIVE`, the article has expired, or its edit could not be analysed.",
        412: "The article was edited since its mention was scored.",
    },
)
async def make_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Correct a mention, mute a source or exclude a phrase."""
    wanted = sent(req, NewCorrectionBody)
    made = await services.workflows.correction_changes.make(req.route_params["tool"], wanted)
    return await _response(services, req, *made, status=201)


@corrections_http.get("tools/{tool}/corrections/{correction_id}", returns=CorrectionResource, is_management=True)
async def get_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a correction of a tool."""
    tool = await services.tools.get(req.route_params["tool"])
    correction = await services.mentions.corrections.get(tool.tool_id, req.route_params["correction_id"])
    (resource,) = await services.mentions.corrections.shown(tool, [correction], VIEW.of(req))
    return json_response(resource.shown())


@corrections_http.post(
    "tools/{tool}/corrections/{correction_id}/undo",
    body=SignedBody,
    returns=[
        ok(CorrectionResource, "Undone, and counted everywhere."),
        accepted_as_run(CorrectionResource, "Undone: a run searches the articles."),
    ],
    problems={409: "The tool is not `ACTIVE`, or the article cannot be analysed."},
)
async def undo_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Undo a correction of a tool.

    Undoing again changes nothing.
    """
    by = sent(req, SignedBody)
    undone = await services.workflows.correction_changes.undo(
        req.route_params["tool"], req.route_params["correction_id"], by
    )
    return await _response(services, req, *undone, status=200)


@corrections_http.get(
    "export/corrections",
    LABELS_LIMIT,
    CURSOR,
    returns=ok(
        None,
        "A page of labels.",
        media_types=("application/x-ndjson",),
        headers={
            "X-Next-Cursor": Header("The next page; absent on the last one.", is_always_there=False),
            "X-Unreadable": Header(
                "How many documents were left out, if there are any.", {"type": "integer"}, is_always_there=False
            ),
        },
    ),
    is_management=True,
)
async def export_corrections(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Export what people said of mentions, as labelled data."""
    return lines_response(await services.mentions.corrections.labels(LABELS_LIMIT.of(req), CURSOR.of(req)))


async def _response(
    services: Container, req: func.HttpRequest, tool: Tool, correction: Correction, run: JobRun | None, *, status: int
) -> func.HttpResponse:
    """With a run, articles are searched as after a change of the tool's names."""
    (resource,) = await services.mentions.corrections.shown(tool, [correction], VIEW.of(req))
    if run is None:
        return json_response(resource.shown(), status, {"Location": resource.links["self"]} if status == 201 else {})
    await services.start(run)
    return accepted(run.run_id, **resource.shown())


grouping_http = Routes("Grouping")

STORY_STATE = maybe_one_of("state", STORY_STATES, "Corrections in this state.", "active")
MADE = created(GroupingCorrectionResource, "The correction is stored; grouping obeys it from now on.")


@grouping_http.post(
    "articles/{article_id}/split",
    body=ArticleSplit,
    returns=MADE,
    problems={409: "It is the only source of the article, or all have its link."},
)
async def split_article(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Make a source of an article an article of its own.

    With all sources that have its link. Further sources with the same headline and day are articles of their own
    too.
    """
    body = sent(req, ArticleSplit)
    changes = services.workflows.grouping_changes
    return _made(req, await changes.split_article(req.route_params["article_id"], body.source, body))


@grouping_http.post(
    "stories/{event_id}/split", body=StorySplit, returns=MADE, problems={409: "The articles are all of the story."}
)
async def split_story(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Let articles leave a story together."""
    body = sent(req, StorySplit)
    changes = services.workflows.grouping_changes
    return _made(req, await changes.split_story(req.route_params["event_id"], body.articles, body))


@grouping_http.post("stories/{event_id}/join", body=StoryPair, returns=MADE, problems={409: "Both are one story."})
async def join_stories(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say that two stories are one."""
    return await _related(services, req, "ONE_STORY")


@grouping_http.post(
    "stories/{event_id}/keep-apart", body=StoryPair, returns=MADE, problems={409: "Both are one story."}
)
async def keep_stories_apart(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say that two stories are not one."""
    return await _related(services, req, "NOT_ONE_STORY")


@grouping_http.get(
    "corrections", STORY_STATE, returns=ListOf("GroupingCorrections", GroupingCorrectionResource), is_management=True
)
async def list_grouping_corrections(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the corrections of articles and stories.

    Those of the latest days first.
    """
    page, view = await services.stories.corrections.page(STORY_STATE.of(req), *page_of(req)), VIEW.of(req)
    return resources_response(page, lambda each: GroupingCorrectionResource.of(each, view))


@grouping_http.get("corrections/{correction_id}", returns=GroupingCorrectionResource, is_management=True)
async def get_grouping_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a correction of articles or stories."""
    found = await services.stories.corrections.get(req.route_params["correction_id"])
    return json_response(GroupingCorrectionResource.of(found, VIEW.of(req)).shown())


@grouping_http.post(
    "corrections/{correction_id}/undo",
    body=SignedBody,
    returns=ok(GroupingCorrectionResource, "Undone."),
    problems={409: "One of the two articles was deleted."},
)
async def undo_grouping_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Undo a correction of articles or stories.

    What would be without it comes back. Undoing again changes nothing.
    """
    by = sent(req, SignedBody)
    undone = await services.workflows.grouping_changes.undo(req.route_params["correction_id"], by)
    return json_response(GroupingCorrectionResource.of(undone, VIEW.of(req)).shown())


@grouping_http.get("articles/{article_id}/ledger", returns=LedgerEntry)
async def get_article_ledger(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say why an article is put together as it is."""
    article = await services.articles.get(req.route_params["article_id"])
    return json_response(await services.stories.ledger.of_article(article))


@grouping_http.get("stories/{event_id}/ledger", returns=ListOf("Ledger", LedgerEntry))
async def get_story_ledger(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say why each article is in a story, by publication."""
    event_id = req.route_params["event_id"]
    limit, cursor = page_of(req)
    page = await services.stories.ledger.of_story(event_id, limit, cursor)
    if not page.items and cursor is None:
        raise NotFound(f"story: there is none with the id {event_id[:200]!r}")
    return list_response(page.items, page.next, page.unreadable)


async def _related(services: Container, req: func.HttpRequest, kind: GroupingCorrectionKind) -> func.HttpResponse:
    body = sent(req, StoryPair)
    changes = services.workflows.grouping_changes
    return _made(req, await changes.relate_stories(kind, req.route_params["event_id"], body.story, body))


def _made(req: func.HttpRequest, correction: GroupingCorrection) -> func.HttpResponse:
    resource = GroupingCorrectionResource.of(correction, VIEW.of(req))
    return json_response(resource.shown(), 201, {"Location": resource.links["self"]})
