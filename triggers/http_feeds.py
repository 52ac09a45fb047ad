"""Feeds over HTTP: the registry, OPML import and export, a feed's history, and fetching one feed now."""

import azure.functions as func

from services.container import Container
from services.feeds.form import FIELDS, feed_change, new_feed
from services.feeds.lists import import_opml, write_opml
from services.topology import INGEST_FEEDS
from triggers.bindings import endpoint
from triggers.http_codec import (
    OPML,
    accepted,
    json_body,
    json_response,
    no_content,
    page_of,
    page_response,
    text_response,
)

feeds_http = func.Blueprint()


@endpoint(feeds_http, "GET", "feeds", "limit", "cursor")
async def list_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return page_response(await services.feeds.page(*page_of(req)))


@endpoint(feeds_http, "POST", "feeds")
async def add_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    added = await services.feeds.add(new_feed(json_body(req, FIELDS), services.clock()))
    location = {"Location": f"/api/v1/feeds/{added.feed.feed_id}"}
    return json_response(added.feed.shown(), 201 if added.is_new else 200, location)


# The host tries functions in the order of their names: this one before get_feed, whose route matches too.
@endpoint(feeds_http, "GET", "feeds/export")
async def export_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    feeds = [feed for feed in await services.feeds.every() if feed.kind == "feed"]
    attachment = {"Content-Disposition": 'attachment; filename="feeds.opml"'}
    return text_response(write_opml(feeds, services.clock()), "text/x-opml", attachment)


@endpoint(feeds_http, "POST", "feeds/import", accepts=OPML)
async def import_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    report = await import_opml(services.feeds, req.get_body(), services.clock())
    refused = [{"line": each.line, "url": each.url, "reason": each.reason} for each in report.refused]
    return json_response({"added": report.added, "known": report.known, "refused": refused})


@endpoint(feeds_http, "GET", "feeds/{feed_id}")
async def get_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return json_response((await services.feeds.get(req.route_params["feed_id"])).shown())


@endpoint(feeds_http, "PATCH", "feeds/{feed_id}")
async def change_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    change = feed_change(json_body(req, FIELDS))
    feed, run = await services.feed_changes.change(req.route_params["feed_id"], change)
    if run is None:
        return json_response(feed.shown())
    await services.run_starts.start_after_change(run)
    return json_response({**feed.shown(), "run_id": run.run_id})


@endpoint(feeds_http, "DELETE", "feeds/{feed_id}")
async def delete_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    await services.feeds.remove(req.route_params["feed_id"])
    return no_content()


@endpoint(feeds_http, "GET", "feeds/{feed_id}/history", "limit", "cursor")
async def list_feed_history(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    feed = await services.feeds.get(req.route_params["feed_id"])
    return page_response(await services.runs.history(feed.feed_id, *page_of(req)))


@endpoint(feeds_http, "POST", "feeds/{feed_id}/fetch")
async def fetch_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    json_body(req, ())
    feed = await services.feeds.get(req.route_params["feed_id"])
    batch = await services.claims.claim(feed.feed_id, services.clock())
    # No feeds: another run has claimed the feed already, and its message was sent.
    if batch.feeds:
        await services.run_starts.send(batch.run_id, INGEST_FEEDS, [batch.to_message()])
    return accepted(batch.run_id)
