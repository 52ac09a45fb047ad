"""Tools over HTTP: the catalog, previews, merging, reanalysis, and the articles and references of a tool."""

import azure.functions as func

from models.errors import InvalidInput
from services.container import Container
from services.figures.reader import is_reanalysis_offered
from services.mentions.correction_form import UNDO_FIELDS, signed
from services.mentions.listing import check_sentiment
from services.mentions.tool_articles import tool_articles
from services.mentions.tool_references import Asked
from services.tools.form import CHANGEABLE, FIELDS, new_tool, tool_change
from services.workflows.comparing import compared_with
from services.workflows.preview import preview
from triggers.bindings import endpoint
from triggers.http_codec import accepted, json_body, json_response, list_response, page_of, page_response

tools_http = func.Blueprint()

STATUSES = ("ACTIVE", "DEPRECATED", "MERGED")


@endpoint(tools_http, "GET", "tools", "status", "limit", "cursor")
async def list_tools(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    status = req.params.get("status")
    if status is not None and status not in STATUSES:
        raise InvalidInput("status", f"one of {', '.join(STATUSES)}; without it, all that are not merged")
    wanted = (status,) if status is not None else ("ACTIVE", "DEPRECATED")
    return page_response(await services.tools.page(*page_of(req), wanted))


@endpoint(tools_http, "POST", "tools")
async def add_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    tool, run = await services.tool_changes.add(new_tool(json_body(req, FIELDS)))
    await services.run_starts.start_after_change(run)
    location = {"Location": f"/api/v1/tools/{tool.tool_id}"}
    return json_response({**tool.shown(), "run_id": run.run_id}, 201, location)


@endpoint(tools_http, "GET", "tools/{tool}")
async def get_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    tool = await services.tools.get(req.route_params["tool"])
    analyzers = await services.figures.history.analyzers(tool.tool_id)
    offered = is_reanalysis_offered(analyzers, services.figures.analyzer())
    return json_response({**tool.shown(), "reanalysis_offered": offered})


@endpoint(tools_http, "PATCH", "tools/{tool}")
async def change_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    change = tool_change(json_body(req, CHANGEABLE))
    tool, run = await services.tool_changes.change(req.route_params["tool"], change)
    if run is None:
        return json_response(tool.shown())
    await services.run_starts.start_after_change(run)
    return accepted(run.run_id, **tool.shown())


@endpoint(tools_http, "POST", "tools/{tool}/merge")
async def merge_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    body = json_body(req, ("into", *UNDO_FIELDS))
    into = body.get("into")
    if not isinstance(into, str) or not into.strip():
        raise InvalidInput("into", "the id, name or alias of the tool into which this one is merged")
    # Merges were made without an author before.
    by = signed(body) if any(body.get(name) is not None for name in UNDO_FIELDS) else None
    run = await services.tool_changes.merge(req.route_params["tool"], into, by)
    await services.run_starts.start(run)
    return accepted(run.run_id)


@endpoint(tools_http, "POST", "tools/{tool}/merge/undo")
async def undo_merge(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    merge, run = await services.tool_changes.unmerge(req.route_params["tool"], signed(json_body(req, UNDO_FIELDS)))
    if run is None:
        return json_response({**merge.shown(), "run_id": None})
    if run.run_id != merge.undone_by_run:
        await services.run_starts.start(run)
    return accepted(run.run_id, **merge.shown())


@endpoint(tools_http, "GET", "tools/{tool}/merges", "limit", "cursor", is_management=True)
async def list_merges(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return page_response(await services.merges.page(req.route_params["tool"], *page_of(req)))


@endpoint(tools_http, "POST", "tools/{tool}/reanalyze")
async def reanalyze_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    analyzer = compared_with(json_body(req, ("apply", "analyzer")), services.analyzers)
    if analyzer is None:
        run = await services.tool_changes.reanalyze(req.route_params["tool"])
    else:
        run = await services.tool_changes.compare(req.route_params["tool"], analyzer)
    await services.run_starts.start(run)
    return accepted(run.run_id)


@endpoint(tools_http, "POST", "tools/{tool}/preview")
async def preview_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    change = tool_change(json_body(req, CHANGEABLE))
    tool = await services.tools.get(req.route_params["tool"])
    found = await preview(services.store, services.tools, services.watchlist, tool, change, services.clock())
    return json_response(found.shown())


@endpoint(tools_http, "GET", "tools/{tool}/articles", "limit", "cursor", "sentiment")
async def list_tool_articles(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    tool = await services.tools.get(req.route_params["tool"])
    said = check_sentiment(req.params.get("sentiment"))
    page = await tool_articles(services.store, tool.tool_id, *page_of(req), said)
    return list_response(page.items, page.next, page.unreadable)


@endpoint(tools_http, "GET", "tools/{tool}/references", "role", "since", "until", "limit", "cursor")
async def list_tool_references(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    tool = await services.tools.get(req.route_params["tool"])
    page = await services.references.page(tool, Asked.of(req.params), *page_of(req))
    return list_response(page.items, page.next, page.unreadable, not_kept=page.not_kept)
