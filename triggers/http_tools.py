"""Tools over HTTP: the catalog, previews, merging, reanalysis, and the articles and references of a tool."""

from typing import Any, get_args

import azure.functions as func

from models.request import SignedBody
from models.resources.articles import ArticleResource
from models.resources.runs import RunStarted
from models.resources.tools import (
    MergeResource,
    MergeStarted,
    NameResource,
    NewTool,
    Reanalysis,
    ReferenceResource,
    ReferencesFacts,
    ToolChange,
    ToolFields,
    ToolMergeRequest,
    ToolPreview,
    ToolResource,
    ToolsApplied,
)
from models.tool import ReferenceRole, Tool
from services.articles.reading import SAID
from services.container import Container
from services.figures.reader import is_reanalysis_offered
from services.mentions.listing import tool_articles
from services.mentions.references import Asked
from services.tools.catalog import new_tool, tool_change
from services.work.listing import asked_span
from triggers.bindings import Routes
from triggers.contract import File, ListOf, accepted_as_run, created, ok
from triggers.http_codec import (
    YAML,
    accepted,
    applied,
    json_object,
    json_response,
    list_response,
    resources_response,
    sent,
    sent_change,
)
from triggers.parameters import VIEW, maybe_one_of, page_of, time

tools_http = Routes()

YAML_EXAMPLE = "tools:\n- {name: Listed tool, aliases: [Listed]}\n"

STATUS = maybe_one_of(
    "status", ("ACTIVE", "DEPRECATED", "MERGED"), "Tools with this status. Absent: all that are not merged.", "ACTIVE"
)
SENTIMENT = maybe_one_of("sentiment", SAID, "Articles whose mention of the tool says so.", "positive")
ROLE = maybe_one_of(
    "role", get_args(ReferenceRole), "References with this role. A page may be shorter than `limit`.", "DISCOVERY"
)
TIMES = (
    time("since", "Published at this time or later.", "2026-02-01T00:00:00Z"),
    time("until", "Published before this time.", "2027-02-01T00:00:00Z"),
)
UNDOING_A_MERGE = (
    "To undo a merge, take the names back from the other tool, and add the tool again: the last 30 days are searched "
    "for both."
)
TAKEN = "A name belongs to another tool, or the tool was merged: the problem says into which one."


def _shown(req: func.HttpRequest, tool: Tool, **added: Any) -> dict[str, Any]:
    return ToolResource.of(tool, VIEW.of(req)).with_added(**added).shown()


async def _change(services: Container, req: func.HttpRequest) -> ToolFields:
    """The change of the tool that the body asks for."""
    asked = sent_change(req, ToolChange)
    if not asked.is_resource:
        return tool_change(asked.fields)
    return tool_change(asked.differing_from(ToolResource.of(await services.tools.get(req.route_params["tool"]))))


@tools_http.get("tools", STATUS, returns=ListOf("Tools", ToolResource))
async def list_tools(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List tools by name."""
    status = STATUS.of(req)
    wanted = (status,) if status is not None else ("ACTIVE", "DEPRECATED")
    page, view = await services.tools.page(*page_of(req), wanted), VIEW.of(req)
    return resources_response(page, lambda tool: ToolResource.of(tool, view))


@tools_http.post(
    "tools",
    body=NewTool,
    returns=created(ToolResource, "The tool is added. `run_id`: the run that searches the last 30 days for it."),
    problems={409: "A name belongs to another tool."},
)
async def add_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Add a tool."""
    tool, run = await services.workflows.changes.add_tool(new_tool(json_object(req)))
    await services.start(run)
    shown = _shown(req, tool, run_id=run.run_id)
    return json_response(shown, 201, {"Location": shown["links"]["self"]})


@tools_http.get("tools/{tool}", returns=ToolResource)
async def get_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a tool."""
    tool = await services.tools.get(req.route_params["tool"])
    analyzers = await services.figures.history.analyzers(tool.tool_id)
    offered = is_reanalysis_offered(analyzers, services.figures.analyzer())
    return json_response(_shown(req, tool, reanalysis_offered=offered))


@tools_http.patch(
    "tools/{tool}",
    body=ToolChange,
    returns=[
        ok(ToolResource, "Changed."),
        accepted_as_run(ToolResource, "Changed: other articles may name the tool now, and a run searches them."),
    ],
    problems={409: TAKEN},
)
async def change_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Change a tool."""
    change = await _change(services, req)
    tool, run = await services.workflows.changes.change_tool(req.route_params["tool"], change)
    if run is None:
        return json_response(_shown(req, tool))
    await services.start(run)
    return accepted(run.run_id, **_shown(req, tool))


@tools_http.post(
    "tools/{tool}/merge",
    body=ToolMergeRequest,
    about=UNDOING_A_MERGE,
    returns=accepted_as_run(MergeStarted),
    problems={
        409: "Both are one tool, the other is not `ACTIVE`, another merge is under way, or the tool was merged before."
    },
)
async def merge_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Merge a tool into another one."""
    body = sent(req, ToolMergeRequest)
    by = SignedBody(author=body.author, reason=body.reason) if body.author is not None else None
    run = await services.workflows.changes.merge(req.route_params["tool"], body.into, by)
    await services.start(run)
    return accepted(run.run_id, undo=UNDOING_A_MERGE)


@tools_http.get("tools/{tool}/merges", returns=ListOf("ToolMerges", MergeResource), is_management=True)
async def list_merges(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the merges of a tool.

    That of the tool itself first, then those into it, by the id of the merged tool.
    """
    page, view = await services.tools.merges(req.route_params["tool"], *page_of(req)), VIEW.of(req)
    return resources_response(page, lambda merge: MergeResource.of(merge, view))


@tools_http.get("tools/{tool}/names", returns=ListOf("ToolNames", NameResource, is_paged=False))
async def list_names(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the names of a tool.

    The primary name first, then the aliases, each with who gave the tool the name.
    """
    page, view = await services.tools.names(req.route_params["tool"]), VIEW.of(req)
    return resources_response(page, lambda name: NameResource.of(name, view))


@tools_http.post(
    "tools/{tool}/reanalyze",
    body=Reanalysis,
    returns=accepted_as_run(RunStarted),
    problems={409: "The tool is not `ACTIVE`, or a merge of it is under way."},
)
async def reanalyze_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Score all mentions of a tool again, or compare analyzers."""
    analyzer = services.analyzers.compared_with(sent(req, Reanalysis))
    if analyzer is None:
        run = await services.workflows.changes.reanalyze(req.route_params["tool"])
    else:
        run = await services.workflows.changes.compare(req.route_params["tool"], analyzer)
    await services.start(run)
    return accepted(run.run_id)


@tools_http.post("tools/{tool}/preview", body=ToolChange, returns=ToolPreview, problems={409: TAKEN})
async def preview_tool(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Show which articles a change of a tool would add or remove.

    Nothing is changed.
    """
    change = await _change(services, req)
    tool = await services.tools.get(req.route_params["tool"])
    found = await services.workflows.previews.of_tool(tool, change)
    return json_response(found.shown())


@tools_http.get("tools/{tool}/articles", SENTIMENT, returns=ListOf("Articles", ArticleResource))
async def list_tool_articles(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the articles that mention a tool, newest first.

    Mentions outlive articles, so a page may be shorter than `limit`.
    """
    tool = await services.tools.get(req.route_params["tool"])
    page = await tool_articles(services.store, tool.tool_id, *page_of(req), SENTIMENT.of(req), VIEW.of(req))
    return list_response(page.items, page.next, page.unreadable)


@tools_http.get(
    "tools/{tool}/references", ROLE, *TIMES, returns=ListOf("References", ReferenceResource, ReferencesFacts)
)
async def list_tool_references(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the references of a tool, latest first.

    All articles with a mention of the tool, also those that have expired.
    """
    tool = await services.tools.get(req.route_params["tool"])
    page = await services.references.page(tool, Asked.of(ROLE.of(req), *asked_span(req.params)), *page_of(req))
    return list_response(page.items, page.next, page.unreadable, not_kept=page.not_kept)


@tools_http.post(
    "tools/apply",
    body=File(
        "A YAML document with the list `tools`, as `config/tools.yaml` has it.", YAML, "yaml-of-tools", YAML_EXAMPLE
    ),
    returns=ToolsApplied,
)
async def apply_tools(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Add and change tools to match a YAML list.

    What the list does not name stays as it is, as does what a refused entry names. `runs` do what follows.
    """
    report, runs = await services.workflows.changes.apply_tools(req.get_body())
    for run in runs:
        await services.start(run)
    named = {
        name: [{"tool_id": tool.tool_id, "name": tool.primary_name} for tool in getattr(report, name)]
        for name in ("added", "changed", "known")
    }
    return applied(named, report.refused, runs)
