"""Feeds over HTTP: the registry, OPML import and export, a feed's history, and fetching one feed now."""

import dataclasses
from typing import Any

import azure.functions as func

from models.feed import Feed
from services.container import Container
from services.feeds.bulk import FIELDS as BULK_FIELDS
from services.feeds.bulk import MOST_FEEDS, bulk_action
from services.feeds.form import FIELDS, feed_change, new_feed
from services.feeds.listing import FILTERS, SORTS, Sorting, feed_filter
from services.feeds.lists import import_opml
from services.feeds.opml import write_opml
from services.feeds.presets import PRESET_FIELDS
from services.runs.listing import ATTEMPT_FILTERS, attempt_filter
from services.topology import INGEST_FEEDS
from triggers.bindings import endpoint
from triggers.http_codec import (
    FORM,
    OPML,
    accepted,
    choice,
    flag,
    given_of,
    integer,
    json_body,
    json_response,
    list_response,
    no_content,
    page_of,
    page_response,
    text_response,
    uploaded,
)

feeds_http = func.Blueprint()


@endpoint(feeds_http, "GET", "feeds", *FILTERS, "sort", "reverse", "limit", "cursor")
async def list_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    given: dict[str, Any] = given_of(req, FILTERS)
    if "enabled" in given:
        given["enabled"] = flag(req, "enabled")
    sorting = Sorting(choice(req, "sort", SORTS[0], SORTS), flag(req, "reverse"))
    return page_response(await services.feeds.page(*page_of(req), feed_filter(given), sorting))


@endpoint(feeds_http, "POST", "feeds")
async def add_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    fields = services.presets.resolved(json_body(req, (*FIELDS, *PRESET_FIELDS)))
    added = await services.feeds.add(new_feed(fields, services.clock()))
    location = {"Location": f"/api/v1/feeds/{added.feed.feed_id}"}
    return json_response(added.feed.shown(), 201 if added.is_new else 200, location)


@endpoint(feeds_http, "GET", "presets")
async def list_presets(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return list_response([dataclasses.asdict(each) for each in services.presets.every], None)


# The host tries functions in the order of their names: this one before get_feed, whose route matches too.
@endpoint(feeds_http, "GET", "feeds/export")
async def export_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    feeds = [feed for feed in await services.feeds.every() if feed.kind == "feed"]
    attachment = {"Content-Disposition": 'attachment; filename="feeds.opml"'}
    return text_response(write_opml(feeds, services.clock()), "text/x-opml", attachment)


@endpoint(feeds_http, "POST", "feeds/import", accepts=(*OPML, FORM))
async def import_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    report = await import_opml(services.feeds, uploaded(req), services.clock())
    return json_response(
        {
            "added": [_named(each) for each in report.added],
            "known": [_named(each) for each in report.known],
            "refused": [dataclasses.asdict(each) for each in report.refused],
        }
    )


def _named(feed: Feed) -> dict[str, str]:
    return {"feed_id": feed.feed_id, "source_name": feed.source_name}


@endpoint(feeds_http, "POST", "feeds/bulk")
async def bulk_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    fields = json_body(req, BULK_FIELDS)
    wanted = bulk_action(fields)
    limit = integer(fields.get("limit"), "limit", MOST_FEEDS, 1, MOST_FEEDS)
    report = await services.bulk_actions.run(wanted, limit, fields.get("cursor"))
    await services.run_starts.send_each(INGEST_FEEDS, [(each.run_id, each.to_message()) for each in report.messages])
    items = [dataclasses.asdict(each) for each in report.results]
    return list_response(items, report.next, action=wanted.action, dry_run=wanted.dry_run)


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


@endpoint(feeds_http, "GET", "feeds/{feed_id}/history", *ATTEMPT_FILTERS, "limit", "cursor")
async def list_feed_history(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    feed = await services.feeds.get(req.route_params["feed_id"])
    by = attempt_filter(given_of(req, ATTEMPT_FILTERS))
    return page_response(await services.runs.history(feed.feed_id, *page_of(req), by))


@endpoint(feeds_http, "POST", "feeds/{feed_id}/fetch")
async def fetch_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    json_body(req, ())
    feed = await services.feeds.get(req.route_params["feed_id"])
    batch = await services.claims.claim(feed.feed_id, services.clock())
    # No feeds: another run has claimed the feed already, and its message was sent.
    if batch.feeds:
        await services.run_starts.send(batch.run_id, INGEST_FEEDS, [batch.to_message()])
    return accepted(batch.run_id)
