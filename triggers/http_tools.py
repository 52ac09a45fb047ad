"""Tools over HTTP: the catalog, what an alias would add, merging, and the articles that name a tool."""

import typing

import azure.functions as func

from models.errors import InvalidInput
from services import container
from services.mentions.tool_articles import tool_articles
from services.tools.form import CHANGEABLE, FIELDS, new_tool, tool_change
from services.topology import REANALYZE_TOOLS
from services.workflows.backfill import preview
from services.workflows.messages import run_message
from triggers.access import MANAGE, READ, require_management
from triggers.http_codec import accepted, answering, json_answer, json_body, list_answer, page_answer, page_of, query_of

tools_http = func.Blueprint()

CONNECTION = "AzureWebJobsStorage"
STATUSES = {"ACTIVE": ("ACTIVE",), "DEPRECATED": ("DEPRECATED",), "MERGED": ("MERGED",)}


@tools_http.route(route="v1/tools", methods=["GET"], auth_level=READ)
@answering
async def list_tools(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    status = query_of(req, "status", "limit", "cursor").get("status")
    if status is not None and status not in STATUSES:
        raise InvalidInput("status", f"one of {', '.join(STATUSES)}; without it, all that are not merged")
    wanted = STATUSES[status] if status is not None else ("ACTIVE", "DEPRECATED")
    return page_answer(await services.tools.page(*page_of(req), wanted))


@tools_http.route(route="v1/tools", methods=["POST"], auth_level=MANAGE)
@tools_http.queue_output(arg_name="messages", queue_name=REANALYZE_TOOLS, connection=CONNECTION)
@answering
async def add_tool(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    tool, run = await services.tool_changes.add(new_tool(json_body(req, FIELDS)))
    messages.set([run_message(run.run_id)])
    location = {"Location": f"/api/v1/tools/{tool.tool_id}"}
    return json_answer({**tool.shown(), "run_id": run.run_id}, 201, location)


@tools_http.route(route="v1/tools/{tool}", methods=["GET"], auth_level=READ)
@answering
async def get_tool(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req)
    tool = await services.tools.get(req.route_params["tool"])
    offered = services.tool_changes.is_reanalysis_offered(tool)
    return json_answer({**tool.shown(), "reanalysis_offered": offered})


@tools_http.route(route="v1/tools/{tool}", methods=["PATCH"], auth_level=MANAGE)
@tools_http.queue_output(arg_name="messages", queue_name=REANALYZE_TOOLS, connection=CONNECTION)
@answering
async def change_tool(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    change = tool_change(json_body(req, CHANGEABLE))
    tool, run = await services.tool_changes.change(req.route_params["tool"], change)
    if run is None:
        return json_answer(tool.shown())
    messages.set([run_message(run.run_id)])
    return accepted(run.run_id, **tool.shown())


@tools_http.route(route="v1/tools/{tool}/merge", methods=["POST"], auth_level=MANAGE)
@tools_http.queue_output(arg_name="messages", queue_name=REANALYZE_TOOLS, connection=CONNECTION)
@answering
async def merge_tool(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    into = json_body(req, ("into",)).get("into")
    if not isinstance(into, str) or not into.strip():
        raise InvalidInput("into", "the id, name or alias of the tool that answers from now on")
    run = await services.tool_changes.merge(req.route_params["tool"], into)
    messages.set([run_message(run.run_id)])
    return accepted(run.run_id)


@tools_http.route(route="v1/tools/{tool}/reanalyze", methods=["POST"], auth_level=MANAGE)
@tools_http.queue_output(arg_name="messages", queue_name=REANALYZE_TOOLS, connection=CONNECTION)
@answering
async def reanalyze_tool(req: func.HttpRequest, messages: func.Out[typing.List[str]]) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    json_body(req, ())
    run = await services.tool_changes.reanalyze(req.route_params["tool"])
    messages.set([run_message(run.run_id)])
    return accepted(run.run_id)


@tools_http.route(route="v1/tools/{tool}/aliases/preview", methods=["POST"], auth_level=MANAGE)
@answering
async def preview_aliases(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    body = json_body(req, ("alias", "aliases", "name_rules"))
    if "alias" in body:
        alias, others = body.pop("alias"), body.get("aliases", [])
        body["aliases"] = [*others, alias] if isinstance(others, list) else others
    change = tool_change(body)
    if not change.get("aliases"):
        raise InvalidInput("alias", "the name to try, or several as aliases")
    tool = await services.tools.get(req.route_params["tool"])
    found = await preview(services.store, services.tools, services.watchlist, tool, change, services.clock())
    return json_answer(found.shown())


@tools_http.route(route="v1/tools/{tool}/articles", methods=["GET"], auth_level=READ)
@answering
async def list_tool_articles(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req, "limit", "cursor")
    tool = await services.tools.get(req.route_params["tool"])
    page = await tool_articles(services.store, tool.tool_id, *page_of(req))
    return list_answer(page.items, page.next, page.unreadable)
