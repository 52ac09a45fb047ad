"""Articles over HTTP: lists by filter, one article with its observations, deletion, export and quarantine."""

import azure.functions as func

from services.articles.listing import CONDITIONS, article_filter
from services.articles.quarantine import STATUSES
from services.articles.reading import LAYERS
from services.container import Container
from services.documents.reading import shown_document
from services.mentions.correction_form import signed_with_reason
from services.mentions.of_article import mentions_of_article, shown_observation
from services.operations.export import LAYERS as EXPORT_LAYERS
from services.operations.export_csv import csv_lines
from services.parse.publisher_id import shown_name
from services.topology import INGEST_FEEDS
from services.workflows import changes
from triggers.bindings import endpoint
from triggers.http_codec import (
    MAX_LIMIT,
    choice,
    integer,
    json_body,
    json_lines,
    json_response,
    left_out,
    no_content,
    page_of,
    page_response,
    text_response,
)

articles_http = func.Blueprint()


@endpoint(articles_http, "GET", "articles", *CONDITIONS, "limit", "cursor")
async def list_articles(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    given = {name: req.params[name] for name in CONDITIONS if name in req.params}
    if "tool" in given:
        given["tool"] = (await services.tools.get(given["tool"])).tool_id
    return page_response(await services.articles.page(article_filter(given), *page_of(req)))


@endpoint(articles_http, "GET", "articles/{article_id}", "layer")
async def get_article(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    layer = choice(req, "layer", "canonical", LAYERS)
    article = await services.articles.get(req.route_params["article_id"])
    mentions = await mentions_of_article(services.store, services.tools, article)
    body = (await services.articles.with_further_sources(article)).shown()
    body |= {"publisher_name": shown_name(article.publisher_id), "mentions": [each.shown() for each in mentions.items]}
    unreadable = mentions.unreadable
    if layer == "raw":
        observations = await services.articles.observations(article)
        shown = [shown_observation(each, article, mentions.items) for each in observations.items]
        body, unreadable = {**body, "observations": shown}, (*unreadable, *observations.unreadable)
    return json_response({**body, **left_out(unreadable)})


@endpoint(articles_http, "DELETE", "articles/{article_id}")
async def delete_article(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    await changes.delete_article(
        services.articles, services.workflows, services.figures.generations, req.route_params["article_id"]
    )
    return no_content()


@endpoint(articles_http, "GET", "articles/{article_id}/document")
async def get_document(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    found = await services.documents.documents.get(req.route_params["article_id"])
    return json_response({**found.shown(), **left_out((*found.files.unreadable, *found.attempts.unreadable))})


@endpoint(articles_http, "POST", "articles/{article_id}/document")
async def acquire_document(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    json_body(req, ())
    document = await services.documents.documents.acquire(req.route_params["article_id"])
    return json_response(shown_document(document), 202)


@endpoint(articles_http, "GET", "export", "layer", "format", "limit", "cursor")
async def export_articles(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """One page of a layer as NDJSON or CSV."""
    layer = choice(req, "layer", "canonical", EXPORT_LAYERS)
    form = choice(req, "format", "ndjson", ("ndjson", "csv"))
    limit, cursor = integer(req.params.get("limit"), "limit", MAX_LIMIT, 1, MAX_LIMIT), req.params.get("cursor")
    page = await services.export.page(layer, limit, cursor)
    headers = {"X-Resume-Cursor": page.resume}
    if page.next is not None:
        headers["X-Next-Cursor"] = page.next
    if page.unreadable:
        headers["X-Unreadable"] = str(page.unreadable)
    if form == "csv":
        text = csv_lines(layer, page.items, with_header=cursor is None)
        return text_response(text, "text/csv", headers)
    return text_response(json_lines(page.items), "application/x-ndjson", headers)


@endpoint(articles_http, "GET", "quarantine", "status", "limit", "cursor", is_management=True)
async def list_quarantine(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    status = choice(req, "status", "PENDING", STATUSES) if "status" in req.params else None
    return page_response(await services.quarantine.page(status, *page_of(req)))


@endpoint(articles_http, "GET", "quarantine/{quarantine_id}/preview", is_management=True)
async def preview_quarantine(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return json_response(await services.quarantine_preview.of(req.route_params["quarantine_id"]))


@endpoint(articles_http, "POST", "quarantine/{quarantine_id}/review")
async def review_quarantine(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    body = json_body(req, ("decision", "author", "reason"))
    by = signed_with_reason(body)
    reviewed = await services.quarantine.review(req.route_params["quarantine_id"], body.get("decision"), *by)
    if reviewed.batch is not None:
        await services.queues.send(INGEST_FEEDS, [reviewed.batch.to_message()])
    if reviewed.item.kind == "DOCUMENT" and reviewed.item.released_at is None:
        await services.documents.overdue.follow(reviewed.item)
    run_id = reviewed.batch.run_id if reviewed.batch else None
    return json_response({**reviewed.item.shown(), "run_id": run_id})
