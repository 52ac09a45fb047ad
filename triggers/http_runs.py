"""Runs over HTTP: what was done lately, and each with its attempts."""

import azure.functions as func

from services import container
from triggers.access import READ
from triggers.http_codec import answering, json_answer, left_out, page_answer, page_of, query_of

runs_http = func.Blueprint()


@runs_http.route(route="v1/runs", methods=["GET"], auth_level=READ)
@answering
async def list_runs(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req, "limit", "cursor")
    return page_answer(await services.runs.page(*page_of(req)))


@runs_http.route(route="v1/runs/{run_id}", methods=["GET"], auth_level=READ)
@answering
async def get_run(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req)
    run = await services.runs.get(req.route_params["run_id"])
    attempts = await services.runs.attempts(run)
    tried = [attempt.shown() for attempt in attempts.items]
    return json_answer({**run.shown(), "attempts": tried, **left_out(attempts.unreadable)})
