"""Operations over HTTP: health, metrics, hosts, queues and their poison messages, and runs with their attempts."""

from typing import get_args

import azure.functions as func

from models.errors import NotFound
from models.request import MAX_REDRIVEN, Redrive
from models.resources.base import ROOT, CollectionsResource, path
from models.resources.feeds import HostResource
from models.resources.health import Health, Queue, Redriven
from models.resources.runs import AttemptResource, RunResource
from models.run import WORKFLOWS
from models.states import RunStatus
from models.version import VERSION
from services.container import Container
from services.feeds.hosts import HOST_SORTS
from services.mentions.due import ANALYSIS_STAGE, redrive_errors
from services.topology import ANALYZE_ARTICLES, QUEUES
from services.work.listing import page_of_runs, run_filter
from triggers.bindings import Routes
from triggers.contract import Answer, ListOf, of_app, ok
from triggers.http_codec import json_response, left_out, list_response, resources_response, sent, text_response
from triggers.http_page import CONTRACT, DASHBOARD, DOCS, MCP
from triggers.parameters import VIEW, flag, given_of, maybe_flag, maybe_one_of, one_of, page_of, text, time
from triggers.prometheus import MEDIA_TYPE, text_of

operations_http = Routes()

SAMPLES = 5
ID = "^[^\\x00-\\x1f/\\\\?#]{1,200}$"
RUN_FILTERS = (
    maybe_one_of("workflow", WORKFLOWS, "Runs of this workflow.", "ingest_feeds"),
    maybe_one_of("status", get_args(RunStatus), "Runs with this status.", "SUCCEEDED"),
    text("subject", "Runs about this tool, article or feed: its id.", pattern=ID, example="python-insider"),
    text("feed", "Runs that fetched this feed: its id.", pattern=ID, example="python-insider"),
    time("since", "Runs that began at this time or later.", "2026-02-01T00:00:00Z"),
    time("until", "Runs that began before this time.", "2027-02-01T00:00:00Z"),
)
HOST_TEXT = text("text", "Hosts with this text in their name.", longest=200, example="example")
FAILING = maybe_flag("failing", "Hosts that fail, or do not fail, at present.")
HOST_SORT = one_of("sort", HOST_SORTS, "The order. `feeds`: the hosts with the most feeds first.", HOST_SORTS[0])
REVERSE = flag("reverse", "`true`: the opposite order.")
QUIET = flag("quiet", "`true`: also runs that brought nothing new. With a stage as `workflow`, all its runs.")


@operations_http.get(
    "health",
    tag="Operations",
    returns=[ok(Health, "The app is `healthy` or `degraded`."), Answer(503, "The app is `unhealthy`.", Health)],
    is_open=True,
)
async def health(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say whether the app is well.

    Needs no key, and says nothing secret. Unknown parameters are ignored.
    """
    report = await services.operations.health.report()
    return json_response(report.shown(), status=503 if report.status == "unhealthy" else 200)


@operations_http.get("", tag="Operations", returns=CollectionsResource)
async def list_collections(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the collections.

    Every endpoint that can be read without an id or a parameter.
    """
    return json_response(CollectionsResource(version=VERSION, links=collections()).shown())


def collections() -> dict[str, str]:
    """The paths of all endpoints that need neither an id nor a parameter, by their routes."""
    found = {
        each.route: path(*each.route.split("/"))
        for each in of_app()
        if each.method == "GET" and each.route and "{" not in each.route
        if not any(parameter.is_required for parameter in each.parameters)
    }
    others = {"openapi": CONTRACT, "docs": DOCS, "dashboard": DASHBOARD, "mcp": MCP}
    return {"self": ROOT, **dict(sorted(found.items())), **others}


@operations_http.get(
    "metrics",
    tag="Operations",
    returns=ok(None, "Metrics, in the text format of Prometheus.", media_types=("text/plain",)),
    problems={404: "`METRICS_ENABLED` is false."},
)
async def get_metrics(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get metrics for Prometheus."""
    if not services.settings.metrics_enabled:
        raise NotFound("metrics: METRICS_ENABLED is false")
    return text_response(text_of(await services.operations.metrics.measure()), MEDIA_TYPE)


@operations_http.get("runs", *RUN_FILTERS, QUIET, returns=ListOf("Runs", RunResource))
async def list_runs(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List runs, newest first."""
    by, view = run_filter(given_of(req, RUN_FILTERS)), VIEW.of(req)
    page = await page_of_runs(services.store, *page_of(req), by, with_quiet=QUIET.of(req))
    return resources_response(page, lambda run: RunResource.of(run, view))


@operations_http.get("runs/{run_id}", returns=RunResource)
async def get_run(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a run with its attempts."""
    run, view = await services.runs.get(req.route_params["run_id"]), VIEW.of(req)
    attempts = await services.runs.listed_attempts(run)
    tried = [AttemptResource.of(attempt, view) for attempt in attempts.items]
    resource = RunResource.of(run, view).with_added(attempts=tried, **left_out(attempts.unreadable))
    return json_response(resource.shown())


@operations_http.get("hosts", HOST_TEXT, FAILING, HOST_SORT, REVERSE, returns=ListOf("Hosts", HostResource))
async def list_hosts(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the hosts that feeds are fetched from."""
    limit, after = page_of(req)
    text, failing, sort, reverse = HOST_TEXT.of(req), FAILING.of(req), HOST_SORT.of(req), REVERSE.of(req)
    page = await services.feeds.host_listing.page(limit, after, text=text, failing=failing, sort=sort, reverse=reverse)
    return list_response([each.shown() for each in page.items], page.next)


@operations_http.get("hosts/{host}", returns=HostResource)
async def get_host(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a host with the number of its feeds, and its failures."""
    found = await services.feeds.host_listing.get(req.route_params["host"])
    return json_response(found.shown())


@operations_http.get("queues", tag="Operations", returns=ListOf("Queues", Queue, is_paged=False), is_management=True)
async def list_queues(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the queues with their poison messages."""
    items = []
    for depth in await services.queues.depths(QUEUES):
        samples = await services.queues.peek_poison(depth.name, SAMPLES) if depth.poison else []
        items.append(
            {"name": depth.name, "messages": depth.messages, "poison": depth.poison, "poison_messages": samples}
        )
    return list_response(items, None)


@operations_http.post("queues/{name}/redrive", tag="Operations", body=Redrive, returns=Redriven)
async def redrive_queue(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Send poison messages back to their queue.

    A redrive of `analyze-articles` also sends articles with the status `error`.
    """
    name = req.route_params["name"]
    if name not in QUEUES:
        raise NotFound(f"name: no queue {name!r}; there are {', '.join(QUEUES)}")
    limit = sent(req, Redrive).limit or MAX_REDRIVEN
    moved = await services.queues.redrive(name, limit)
    if name == ANALYZE_ARTICLES and moved < limit:
        # An analysis that keeps failing leaves an article in error, not a poison message.
        articles = await redrive_errors(services.store, limit - moved, services.clock())
        await services.announcer.announce(ANALYSIS_STAGE, articles)
        moved += len(articles)
    return json_response({"name": name, "moved": moved})
