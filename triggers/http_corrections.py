"""Corrections over HTTP: verdicts on mentions, muted sources, excluded phrases, undoing them, and labelled data."""

import azure.functions as func

from models.correction import Correction
from models.run import JobRun
from models.tool import Tool, shown_reviews
from services.container import Container
from services.mentions.correction_form import FIELDS, STATES, UNDO_FIELDS, new_correction, signed
from triggers.bindings import endpoint
from triggers.http_codec import (
    MAX_LIMIT,
    accepted,
    choice,
    integer,
    json_body,
    json_response,
    lines_response,
    list_response,
    page_of,
)

corrections_http = func.Blueprint()


@endpoint(corrections_http, "GET", "tools/{tool}/corrections", "state", "limit", "cursor", is_management=True)
async def list_corrections(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    state = choice(req, "state", "active", STATES) if "state" in req.params else None
    limit, cursor = page_of(req)
    tool = await services.tools.get(req.route_params["tool"])
    page = await services.corrections.page(tool, state, limit, cursor)
    precision = {}
    if cursor is None:
        of_all = await services.corrections.reviews_of_all()
        precision = {"precision": shown_reviews(tool.reviews), "precision_of_all_tools": shown_reviews(of_all)}
    return list_response([each.shown() for each in page.items], page.next, page.unreadable, **precision)


@endpoint(corrections_http, "POST", "tools/{tool}/corrections")
async def make_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    wanted = new_correction(json_body(req, FIELDS))
    made = await services.correction_changes.make(req.route_params["tool"], wanted)
    return await _response(services, *made, status=201)


@endpoint(corrections_http, "GET", "tools/{tool}/corrections/{correction_id}", is_management=True)
async def get_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    tool = await services.tools.get(req.route_params["tool"])
    correction = await services.corrections.get(tool.tool_id, req.route_params["correction_id"])
    (shown,) = await services.corrections.shown(tool, [correction])
    return json_response(shown.shown())


@endpoint(corrections_http, "POST", "tools/{tool}/corrections/{correction_id}/undo")
async def undo_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    by = signed(json_body(req, UNDO_FIELDS))
    undone = await services.correction_changes.undo(req.route_params["tool"], req.route_params["correction_id"], by)
    return await _response(services, *undone, status=200)


@endpoint(corrections_http, "GET", "export/corrections", "limit", "cursor", is_management=True)
async def export_corrections(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """One page of labelled data as NDJSON."""
    limit = integer(req.params.get("limit"), "limit", MAX_LIMIT, 1, MAX_LIMIT)
    return lines_response(await services.corrections.labels(limit, req.params.get("cursor")))


async def _response(
    services: Container, tool: Tool, correction: Correction, run: JobRun | None, *, status: int
) -> func.HttpResponse:
    """With a run, articles are searched as after a change of the tool's names."""
    (shown,) = await services.corrections.shown(tool, [correction])
    if run is None:
        location = {"Location": f"/api/v1/tools/{tool.tool_id}/corrections/{correction.correction_id}"}
        return json_response(shown.shown(), status, location if status == 201 else {})
    await services.run_starts.start_after_change(run)
    return accepted(run.run_id, **shown.shown())
