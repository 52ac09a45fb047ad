"""Articles over HTTP: lists by filter, one article with its observations, deletion, export and quarantine."""

import azure.functions as func

from services.articles.listing import CONDITIONS, article_filter
from services.articles.quarantine import STATUSES
from services.articles.reading import LAYERS
from services.container import Container
from services.topology import INGEST_FEEDS
from services.workflows import changes
from triggers.bindings import endpoint
from triggers.http_codec import (
    MAX_LIMIT,
    choice,
    integer,
    json_body,
    json_response,
    left_out,
    lines_response,
    no_content,
    page_of,
    page_response,
)

articles_http = func.Blueprint()


@endpoint(articles_http, "GET", "articles", *CONDITIONS, "limit", "cursor")
async def list_articles(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    given = {name: req.params[name] for name in CONDITIONS if name in req.params}
    return page_response(await services.articles.page(article_filter(given, services.clock()), *page_of(req)))


@endpoint(articles_http, "GET", "articles/{article_id}", "layer")
async def get_article(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    layer = choice(req, "layer", "canonical", LAYERS)
    article = await services.articles.get(req.route_params["article_id"])
    body = (await services.articles.with_further_sources(article)).shown()
    if layer == "raw":
        observations = await services.articles.observations(article)
        body |= {"observations": [each.shown() for each in observations.items], **left_out(observations.unreadable)}
    return json_response(body)


@endpoint(articles_http, "DELETE", "articles/{article_id}")
async def delete_article(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    await changes.delete_article(
        services.articles, services.workflows, services.figures.generations, req.route_params["article_id"]
    )
    return no_content()


@endpoint(articles_http, "GET", "export", "layer", "limit", "cursor")
async def export_articles(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """One page of a layer as NDJSON."""
    layer = choice(req, "layer", "canonical", LAYERS)
    limit = integer(req.params.get("limit"), "limit", MAX_LIMIT, 1, MAX_LIMIT)
    page = await services.articles.export(layer, limit, req.params.get("cursor"))
    return lines_response(page)


@endpoint(articles_http, "GET", "quarantine", "status", "limit", "cursor", is_management=True)
async def list_quarantine(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    status = choice(req, "status", "PENDING", STATUSES) if "status" in req.params else None
    return page_response(await services.quarantine.page(status, *page_of(req)))


@endpoint(articles_http, "POST", "quarantine/{quarantine_id}/review")
async def review_quarantine(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    body = json_body(req, ("decision", "note"))
    reviewed = await services.quarantine.review(
        req.route_params["quarantine_id"], body.get("decision"), body.get("note")
    )
    if reviewed.batch is not None:
        await services.queues.send(INGEST_FEEDS, [reviewed.batch.to_message()])
    run_id = reviewed.batch.run_id if reviewed.batch else None
    return json_response({**reviewed.item.shown(), "run_id": run_id})
