"""The human gate over HTTP: what is held back, and the decision about it."""

import typing

import azure.functions as func

from services import container
from services.articles.quarantine import STATUSES
from services.topology import INGEST_FEEDS
from triggers.access import MANAGE, require_management
from triggers.http_codec import answering, choice, json_answer, json_body, page_answer, page_of, query_of

quarantine_http = func.Blueprint()


@quarantine_http.route(route="v1/quarantine", methods=["GET"], auth_level=MANAGE)
@answering
async def list_quarantine(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    given = query_of(req, "status", "limit", "cursor")
    status = choice(req, "status", "PENDING", STATUSES) if "status" in given else None
    return page_answer(await services.quarantine.page(status, *page_of(req)))


@quarantine_http.route(route="v1/quarantine/{quarantine_id}/review", methods=["POST"], auth_level=MANAGE)
@quarantine_http.queue_output(arg_name="messages", queue_name=INGEST_FEEDS, connection="AzureWebJobsStorage")
@answering
async def review_quarantine(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    said = json_body(req, ("decision", "note"))
    reviewed = await services.quarantine.review(
        req.route_params["quarantine_id"], said.get("decision"), said.get("note")
    )
    if reviewed.batch is not None:
        messages.set([reviewed.batch.to_message()])
    run_id = reviewed.batch.run_id if reviewed.batch else None
    return json_answer({**reviewed.item.shown(), "run_id": run_id})
