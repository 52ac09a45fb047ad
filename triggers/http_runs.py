"""Runs over HTTP: what was done lately, and each with its attempts."""

import azure.functions as func

from services import container
from services.reading.shown import shown
from triggers.access import READ
from triggers.http_codec import answering, json_answer, list_answer, page_of, query_of

runs_http = func.Blueprint()


@runs_http.route(route="v1/runs", methods=["GET"], auth_level=READ)
@answering
async def list_runs(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req, "limit", "cursor")
    runs, cursor = await services.runs.page(*page_of(req))
    return list_answer([shown(run) for run in runs], cursor)


@runs_http.route(route="v1/runs/{run_id}", methods=["GET"], auth_level=READ)
@answering
async def get_run(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req)
    run = await services.runs.get(req.route_params["run_id"])
    attempts = await services.runs.attempts(run)
    return json_answer({**shown(run), "attempts": [shown(attempt) for attempt in attempts]})
