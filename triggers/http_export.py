"""Everything in one layer, page by page as NDJSON, for whoever wants to take it elsewhere."""

import json

import azure.functions as func

from services import container
from services.articles.reading import LAYERS
from triggers.access import READ
from triggers.http_codec import MAX_LIMIT, answering, choice, integer, query_of

export_http = func.Blueprint()


@export_http.route(route="v1/export", methods=["GET"], auth_level=READ)
@answering
async def export_articles(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    given = query_of(req, "layer", "limit", "cursor")
    layer = choice(req, "layer", "canonical", LAYERS)
    limit = integer(given.get("limit"), "limit", MAX_LIMIT, 1, MAX_LIMIT)
    page = await services.articles.export(layer, limit, given.get("cursor"))
    lines = (json.dumps(item, ensure_ascii=False, separators=(",", ":")) + "\n" for item in page.items)
    headers = {"Cache-Control": "no-store"}
    if page.next is not None:
        headers["X-Next-Cursor"] = page.next
    if page.unreadable:
        headers["X-Unreadable"] = str(len(page.unreadable))
    return func.HttpResponse(
        "".join(lines).encode(),
        headers=headers,
        mimetype="application/x-ndjson",
        charset="utf-8",
    )
