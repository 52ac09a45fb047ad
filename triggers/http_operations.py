"""Operations over HTTP: health, metrics, hosts, queues and their poison messages, and runs with their attempts."""

import azure.functions as func

from models.errors import NotFound
from services.container import Container
from services.feeds.host_figures import DEFAULT_DAYS, HOST_FILTERS, HOST_SORTS, MOST_DAYS, host_filter
from services.mentions.handler import article_messages
from services.operations.metrics import MEDIA_TYPE
from services.runs.listing import RUN_FILTERS, run_filter
from services.topology import ANALYZE_ARTICLES, QUEUES
from triggers.bindings import OPEN, endpoint, with_container
from triggers.http_codec import (
    choice,
    flag,
    given_of,
    integer,
    json_body,
    json_response,
    left_out,
    list_response,
    page_of,
    page_response,
    text_response,
    with_problem_responses,
)

operations_http = func.Blueprint()

SAMPLES = 5
MOST_REDRIVEN = 1000


@operations_http.route(route="v1/health", methods=["GET", "HEAD"], auth_level=OPEN)
@with_problem_responses
@with_container
async def health(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Liveness and readiness. Needs no key, so the response has no address, key or feed."""
    report = await services.health.report()
    return json_response(report.shown(), status=503 if report.status == "unhealthy" else 200)


@endpoint(operations_http, "GET", "metrics")
async def get_metrics(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    if not services.settings.metrics_enabled:
        raise NotFound("metrics: METRICS_ENABLED is false")
    return text_response(await services.metrics.text(), MEDIA_TYPE)


@endpoint(operations_http, "GET", "runs", *RUN_FILTERS, "quiet", "limit", "cursor")
async def list_runs(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    by = run_filter(given_of(req, RUN_FILTERS), with_quiet=flag(req, "quiet"))
    return page_response(await services.runs.page(*page_of(req), by))


@endpoint(operations_http, "GET", "runs/{run_id}")
async def get_run(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    run = await services.runs.get(req.route_params["run_id"])
    attempts = await services.runs.listed_attempts(run.run_id)
    tried = [attempt.shown() for attempt in attempts.items]
    return json_response({**run.shown(), "attempts": tried, **left_out(attempts.unreadable)})


@endpoint(operations_http, "GET", "hosts", *HOST_FILTERS, "days", "sort", "reverse", "limit", "cursor")
async def list_hosts(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    by = host_filter(req.params.get("text"), flag(req, "failing") if "failing" in req.params else None)
    sort = choice(req, "sort", HOST_SORTS[0], HOST_SORTS)
    page = await services.host_figures.page(*page_of(req), _days(req), by, sort, reverse=flag(req, "reverse"))
    return list_response([each.model_dump(mode="json") for each in page.items], page.next)


@endpoint(operations_http, "GET", "hosts/{host}", "days")
async def get_host(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    found = await services.host_figures.get(req.route_params["host"], _days(req))
    return json_response(found.model_dump(mode="json"))


def _days(req: func.HttpRequest) -> int:
    return integer(req.params.get("days"), "days", DEFAULT_DAYS, 1, MOST_DAYS)


@endpoint(operations_http, "GET", "queues", is_management=True)
async def list_queues(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    items = []
    for depth in await services.queues.depths(QUEUES):
        samples = await services.queues.peek_poison(depth.name, SAMPLES) if depth.poison else []
        items.append(
            {"name": depth.name, "messages": depth.messages, "poison": depth.poison, "poison_messages": samples}
        )
    return list_response(items, None)


@endpoint(operations_http, "POST", "queues/{name}/redrive")
async def redrive_queue(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    name = req.route_params["name"]
    if name not in QUEUES:
        raise NotFound(f"name: no queue {name!r}; there are {', '.join(QUEUES)}")
    limit = integer(json_body(req, ["limit"]).get("limit"), "limit", MOST_REDRIVEN, 1, MOST_REDRIVEN)
    moved = await services.queues.redrive(name, limit)
    if name == ANALYZE_ARTICLES and moved < limit:
        # An analysis that keeps failing leaves an article in error, not a poison message.
        articles = await services.analysis.reset_errors(limit - moved)
        await services.queues.send(ANALYZE_ARTICLES, article_messages(articles, services.settings.batch_size))
        moved += len(articles)
    return json_response({"name": name, "moved": moved})
