"""Feeds over HTTP: the registry, lists of feeds as OPML, a feed's history, and fetching one now."""

import typing

import azure.functions as func

from services import container
from services.feeds.form import FIELDS, feed_change, new_feed
from services.feeds.lists import import_opml
from services.feeds.opml import write_opml
from services.topology import INGEST_FEEDS, REANALYZE_TOOLS
from services.workflows.messages import run_message
from triggers.access import MANAGE, READ, require_management
from triggers.http_codec import (
    accepted,
    answering,
    json_answer,
    json_body,
    no_content,
    page_answer,
    page_of,
    query_of,
)

feeds_http = func.Blueprint()

CONNECTION = "AzureWebJobsStorage"


@feeds_http.route(route="v1/feeds", methods=["GET"], auth_level=READ)
@answering
async def list_feeds(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req, "limit", "cursor")
    return page_answer(await services.feeds.page(*page_of(req)))


@feeds_http.route(route="v1/feeds", methods=["POST"], auth_level=MANAGE)
@answering
async def add_feed(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    added = await services.feeds.add(new_feed(json_body(req, FIELDS)))
    location = {"Location": f"/api/v1/feeds/{added.feed.feed_id}"}
    return json_answer(added.feed.shown(), 201 if added.is_new else 200, location)


# The host takes functions by name, so this one is asked before get_feed, whose route fits too.
@feeds_http.route(route="v1/feeds/export", methods=["GET"], auth_level=READ)
@answering
async def export_feeds(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req)
    feeds = [feed async for feed in services.feeds.every() if feed.kind == "feed"]
    return func.HttpResponse(
        write_opml(feeds, services.clock()),
        headers={"Content-Disposition": 'attachment; filename="feeds.opml"', "Cache-Control": "no-store"},
        mimetype="text/x-opml",
        charset="utf-8",
    )


@feeds_http.route(route="v1/feeds/import", methods=["POST"], auth_level=MANAGE)
@answering
async def import_feeds(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    report = await import_opml(services.feeds, req.get_body())
    refused = [{"line": each.line, "url": each.url, "reason": each.reason} for each in report.refused]
    return json_answer({"added": report.added, "known": report.known, "refused": refused})


@feeds_http.route(route="v1/feeds/{feed_id}", methods=["GET"], auth_level=READ)
@answering
async def get_feed(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req)
    return json_answer((await services.feeds.get(req.route_params["feed_id"])).shown())


@feeds_http.route(route="v1/feeds/{feed_id}", methods=["PATCH"], auth_level=MANAGE)
@feeds_http.queue_output(arg_name="messages", queue_name=REANALYZE_TOOLS, connection=CONNECTION)
@answering
async def change_feed(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    change = feed_change(json_body(req, FIELDS))
    feed, run = await services.feed_changes.change(req.route_params["feed_id"], change)
    if run is None:
        return json_answer(feed.shown())
    messages.set([run_message(run.run_id)])
    return json_answer({**feed.shown(), "run_id": run.run_id})


@feeds_http.route(route="v1/feeds/{feed_id}", methods=["DELETE"], auth_level=MANAGE)
@answering
async def delete_feed(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    await services.feeds.remove(req.route_params["feed_id"])
    return no_content()


@feeds_http.route(route="v1/feeds/{feed_id}/history", methods=["GET"], auth_level=READ)
@answering
async def list_feed_history(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req, "limit", "cursor")
    feed = await services.feeds.get(req.route_params["feed_id"])
    return page_answer(await services.runs.history(feed.feed_id, *page_of(req)))


@feeds_http.route(route="v1/feeds/{feed_id}/fetch", methods=["POST"], auth_level=MANAGE)
@feeds_http.queue_output(arg_name="messages", queue_name=INGEST_FEEDS, connection=CONNECTION)
@answering
async def fetch_feed(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    json_body(req, ())
    feed = await services.feeds.get(req.route_params["feed_id"])
    batch = await services.claims.claim(feed.feed_id, services.clock())
    # Without feeds it is being fetched already, in that run.
    if batch.feeds:
        messages.set([batch.to_message()])
    return accepted(batch.run_id)
