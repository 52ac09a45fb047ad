"""Queues over HTTP, for whoever runs the app: how deep they are, what was given up, and sending that back to work."""

import typing

import azure.functions as func

from models.errors import NotFound
from services import container
from services.articles.analysis_messages import article_messages
from services.topology import ANALYZE_ARTICLES, QUEUES
from triggers.access import MANAGE, require_management
from triggers.http_codec import answering, integer, json_answer, json_body, list_answer, query_of

queues_http = func.Blueprint()

CONNECTION = "AzureWebJobsStorage"

SAMPLES = 5
MOST_REDRIVEN = 1000


@queues_http.route(route="v1/queues", methods=["GET"], auth_level=MANAGE)
@answering
async def list_queues(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    items = []
    for depth in await services.queues.depths(QUEUES):
        samples = await services.queues.peek_poison(depth.name, SAMPLES) if depth.poison else []
        items.append(
            {"name": depth.name, "messages": depth.messages, "poison": depth.poison, "poison_messages": samples}
        )
    return list_answer(items, None)


@queues_http.route(route="v1/queues/{name}/redrive", methods=["POST"], auth_level=MANAGE)
@queues_http.queue_output(arg_name="messages", queue_name=ANALYZE_ARTICLES, connection=CONNECTION)
@answering
async def redrive_queue(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    name = req.route_params["name"]
    if name not in QUEUES:
        raise NotFound(f"name: no queue {name!r}; there are {', '.join(QUEUES)}")
    limit = integer(json_body(req, ["limit"]).get("limit"), "limit", MOST_REDRIVEN, 1, MOST_REDRIVEN)
    moved = await services.queues.redrive(name, limit)
    if name == ANALYZE_ARTICLES and moved < limit:
        # What fails there is given up as an article in error, and leaves no poison message.
        articles = await services.analysis.reset_errors(limit - moved)
        messages.set(article_messages(articles, services.settings.batch_size))
        moved += len(articles)
    return json_answer({"name": name, "moved": moved})
