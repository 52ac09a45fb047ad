"""Feeds over HTTP: the registry, OPML import and export, a feed's history, and fetching one feed now."""

from collections.abc import Mapping
from typing import Any, get_args

import azure.functions as func

from models.feed import Feed
from models.request import Nothing
from models.resources.feeds import (
    BulkActionBody,
    BulkFacts,
    BulkResult,
    FeedChange,
    FeedImport,
    FeedPreview,
    FeedPreviewRequest,
    FeedQuery,
    FeedResource,
    FeedsApplied,
    NewFeed,
    Preset,
)
from models.resources.runs import AttemptResource, RunStarted
from models.run import JobRun
from models.states import AttemptStatus
from services.container import Container
from services.feeds import lists as feed_lists
from services.feeds.form import feed_change, new_feed
from services.feeds.lists import import_opml
from services.feeds.registry import SORTS, feed_filter
from services.work.listing import attempt_filter, history
from triggers.bindings import Routes
from triggers.contract import Answer, File, Header, ListOf, accepted_as_run, created, ok
from triggers.http_codec import (
    FORM,
    OPML,
    YAML,
    accepted,
    applied,
    json_object,
    json_response,
    list_response,
    no_content,
    resources_response,
    sent,
    sent_change,
    text_response,
    uploaded,
)
from triggers.opml import write_opml
from triggers.parameters import VIEW, fields_of, flag, given_of, maybe_one_of, one_of, page_of, time

feeds_http = Routes()

YAML_EXAMPLE = "feeds:\n- {url: 'https://example.com/listed.xml', source_name: Listed}\n"

FILTERS = fields_of(FeedQuery, "verdict", "tag", "host", "enabled", "text")
_ABOUT_SORT = "The order; `errors` begins with the most failures in a row. Feeds without the value come last."
SORT = one_of("sort", SORTS, _ABOUT_SORT, SORTS[0])
REVERSE = flag("reverse", "`true`: the opposite order.")
ATTEMPT_FILTERS = (
    maybe_one_of("status", get_args(AttemptStatus), "Attempts with this status.", "SUCCEEDED"),
    time("since", "Attempts that began at this time or later.", "2026-02-01T00:00:00Z"),
    time("until", "Attempts that began before this time.", "2027-02-01T00:00:00Z"),
)

OPML_EXAMPLE = '<opml version="2.0"><body><outline text="Example" xmlUrl="https://example.com/feed.xml"/></body></opml>'


def _feed_response(req: func.HttpRequest, feed: Feed, status: int = 200, **added: Any) -> func.HttpResponse:
    return json_response(FeedResource.of(feed, VIEW.of(req)).with_added(**added).shown(), status)


@feeds_http.get("feeds", *FILTERS, SORT, REVERSE, returns=ListOf("Feeds", FeedResource))
async def list_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List feeds.

    A feed is listed if it meets all filters that are given. Orders by `id` and `name` do not change while feeds are
    fetched.
    """
    given = {each.name: each.of(req) for each in FILTERS if each.name in req.params}
    registry, view = services.feeds.registry, VIEW.of(req)
    page = await registry.page(*page_of(req), feed_filter(given), SORT.of(req), reverse=REVERSE.of(req))
    return resources_response(page, lambda feed: FeedResource.of(feed, view))


@feeds_http.post(
    "feeds",
    body=NewFeed,
    returns=[
        created(FeedResource, "The feed is added, and due at once."),
        ok(
            FeedResource,
            "The known feed: one has this URL, in any spelling.",
            headers={"Location": Header("The path of the feed.")},
        ),
    ],
    problems={409: "Another feed has this id."},
)
async def add_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Add a feed."""
    fields = services.feeds.presets.resolved(json_object(req))
    added = await services.feeds.registry.add(new_feed(fields, services.clock()))
    feed = FeedResource.of(added.feed, VIEW.of(req))
    return json_response(feed.shown(), 201 if added.is_new else 200, {"Location": feed.links["self"]})


@feeds_http.post("feeds/preview", body=FeedPreviewRequest, returns=ok(FeedPreview, "What was found."))
async def preview_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Look at a URL before it is added as a feed.

    One poll, of which nothing is stored. A URL without a feed is an answer too. It needs the management key, since
    it fetches a URL that the request names.
    """
    found = await services.fetching.poller.preview(sent(req, FeedPreviewRequest).given(), services.clock())
    return json_response(found.shown())


@feeds_http.get("presets", tag="Feeds", returns=ListOf("Presets", Preset, is_paged=False))
async def list_presets(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the presets, which turn a tool into a feed."""
    return list_response([each.shown() for each in services.feeds.presets.every], None)


# The host tries functions in the order of their names: this one before get_feed, whose route matches too.
@feeds_http.get(
    "feeds/export",
    returns=ok(
        None, "OPML 2.0.", media_types=("text/x-opml",), headers={"Content-Disposition": Header("A file name.")}
    ),
)
async def export_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Export all feeds as OPML.

    With their tags as folders, without news APIs.
    """
    feeds = [feed for feed in await services.feeds.registry.every() if feed.kind == "feed"]
    attachment = {"Content-Disposition": 'attachment; filename="feeds.opml"'}
    return text_response(write_opml(feeds, services.clock()), "text/x-opml", attachment)


@feeds_http.post(
    "feeds/import",
    body=File("An OPML document, or a form with it in the field `file`.", (*OPML, FORM), "opml", OPML_EXAMPLE),
    returns=FeedImport,
)
async def import_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Add the feeds of an OPML document.

    Folders and the attribute `category` become tags.
    """
    report = await import_opml(services.feeds.registry, uploaded(req), services.clock())
    return json_response(
        {
            "added": [_named(each) for each in report.added],
            "known": [_named(each) for each in report.known],
            "refused": [each.shown() for each in report.refused],
        }
    )


def _named(feed: Feed) -> dict[str, str]:
    return {"feed_id": feed.feed_id, "source_name": feed.source_name}


@feeds_http.post(
    "feeds/bulk", body=BulkActionBody, returns=ListOf("BulkResults", BulkResult, BulkFacts, is_paged=False)
)
async def bulk_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Do one action with many feeds.

    A request that failed half way can be sent again.
    """
    wanted = sent(req, BulkActionBody)
    report = await services.feeds.bulk_actions.run(wanted)
    items = [each.shown() for each in report.items]
    return list_response(items, report.next, action=wanted.action, dry_run=wanted.dry_run)


@feeds_http.get("feeds/{feed_id}", returns=FeedResource)
async def get_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a feed."""
    return _feed_response(req, await services.feeds.registry.get(req.route_params["feed_id"]))


@feeds_http.patch(
    "feeds/{feed_id}", body=FeedChange, returns=FeedResource, problems={409: "Another feed has this URL."}
)
async def change_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Change a feed.

    With another `source_priority`, `run_id` is the run that applies it to stored articles.
    """
    feed_id, asked = req.route_params["feed_id"], sent_change(req, FeedChange)
    fields = asked.fields
    if asked.is_resource:
        fields = asked.differing_from(FeedResource.of(await services.feeds.registry.get(feed_id)))
    feed, run = await services.workflows.changes.change_feed(feed_id, feed_change(fields))
    if run is None:
        return _feed_response(req, feed)
    await services.start(run)
    return _feed_response(req, feed, run_id=run.run_id)


@feeds_http.delete(
    "feeds/{feed_id}",
    returns=Answer(204, "The feed is gone. Its articles stay."),
    problems={409: "The feed is that of a news API: disable it instead."},
)
async def delete_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Delete a feed."""
    await services.feeds.registry.remove(req.route_params["feed_id"])
    return no_content()


@feeds_http.get("feeds/{feed_id}/history", *ATTEMPT_FILTERS, returns=ListOf("Attempts", AttemptResource))
async def list_feed_history(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the attempts at a feed, newest first.

    Those of the last 14 days. The attempts of one run are on one page, so a page may have fewer or more than
    `limit`.
    """
    feed = await services.feeds.registry.get(req.route_params["feed_id"])
    by = attempt_filter(given_of(req, ATTEMPT_FILTERS))
    page, view = await history(services.store, feed.feed_id, *page_of(req), by), VIEW.of(req)
    return resources_response(page, lambda attempt: AttemptResource.of(attempt, view))


@feeds_http.post(
    "feeds/{feed_id}/fetch",
    body=Nothing,
    returns=accepted_as_run(RunStarted, "Accepted; if another run is about to fetch the feed, that run."),
    problems={409: "The feed is disabled."},
)
async def fetch_feed(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Fetch a feed now."""
    sent(req, Nothing)
    feed = await services.feeds.registry.get(req.route_params["feed_id"])
    return accepted(await services.feeds.claims.claim(feed.feed_id, services.clock()))


@feeds_http.post(
    "feeds/apply",
    body=File(
        "A YAML document with the list `feeds`, as `config/feeds.yaml` has it.", YAML, "yaml-of-feeds", YAML_EXAMPLE
    ),
    returns=FeedsApplied,
)
async def apply_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Add and change feeds to match a YAML list.

    What the list does not name stays as it is, as does what a refused entry names. `runs` do what follows.
    """
    runs: list[JobRun] = []

    async def change(feed_id: str, fields: Mapping[str, Any]) -> Feed:
        feed, run = await services.workflows.changes.change_feed(feed_id, fields)
        runs.extend([run] if run is not None else [])
        return feed

    report = await feed_lists.apply_yaml(
        services.feeds.registry, req.get_body(), services.clock(), change, services.feeds.presets
    )
    for run in runs:
        await services.start(run)
    named = {name: [_named(each) for each in getattr(report, name)] for name in ("added", "changed", "known")}
    return applied(named, report.refused, runs)
