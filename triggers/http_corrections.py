"""Corrections over HTTP: verdicts on mentions, muted sources, excluded phrases, undoing them, and labelled data."""

import azure.functions as func

from models.correction import Correction
from models.request import SignedBody
from models.resources.corrections import CorrectionResource
from models.resources.tools import MeasuredPrecision, Precision
from models.run import JobRun
from models.tool import Tool
from services.container import Container
from services.mentions.correction_form import STATES, NewCorrectionBody
from triggers.bindings import Routes
from triggers.declared import Header, a_list, accepted_as_run, created, ok
from triggers.http_codec import accepted, json_response, lines_response, resources_response, sent
from triggers.parameters import CURSOR, MAX_LIMIT, PAGE, VIEW, maybe_one_of, page_of, whole

corrections_http = Routes("Corrections")

STATE = maybe_one_of("state", STATES, "Corrections in this state. A page may then be shorter than `limit`.", "active")
LABELS_LIMIT = whole("limit", 1, MAX_LIMIT, "How many labels a page has at most.", MAX_LIMIT)


@corrections_http.get(
    "tools/{tool}/corrections",
    STATE,
    VIEW,
    *PAGE,
    returns=a_list("Corrections", CorrectionResource, MeasuredPrecision),
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
    VIEW,
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


@corrections_http.get("tools/{tool}/corrections/{correction_id}", VIEW, returns=CorrectionResource, is_management=True)
async def get_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a correction of a tool."""
    tool = await services.tools.get(req.route_params["tool"])
    correction = await services.mentions.corrections.get(tool.tool_id, req.route_params["correction_id"])
    (resource,) = await services.mentions.corrections.shown(tool, [correction], VIEW.of(req))
    return json_response(resource.shown())


@corrections_http.post(
    "tools/{tool}/corrections/{correction_id}/undo",
    VIEW,
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
