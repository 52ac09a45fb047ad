"""Lists in YAML over HTTP: adds and changes feeds or tools until they are as the list has them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import azure.functions as func

from models.feed import Feed
from models.resources.lists import FeedsApplied, ToolsApplied
from models.run import JobRun
from services.container import Container
from services.feeds import lists as feed_lists
from services.tools import lists as tool_lists
from triggers.bindings import endpoint
from triggers.declared import File, ok
from triggers.http_codec import YAML, json_response

lists_http = func.Blueprint()

_FEEDS = "feeds:\n- {url: 'https://example.com/listed.xml', source_name: Listed}\n"
_TOOLS = "tools:\n- {name: Listed tool, aliases: [Listed]}\n"
_ABOUT = "What the list does not name stays as it is, as does what a refused entry names. `runs` do what follows."


@endpoint(
    lists_http,
    "POST",
    "feeds/apply",
    about=_ABOUT,
    body=File("A YAML document with the list `feeds`, as `config/feeds.yaml` has it.", YAML, "yaml-of-feeds", _FEEDS),
    answers=[ok(FeedsApplied)],
)
async def apply_feeds(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Add and change feeds to match a YAML list."""
    runs: list[JobRun] = []

    async def change(feed_id: str, fields: Mapping[str, Any]) -> Feed:
        feed, run = await services.workflows.feed_changes.change(feed_id, fields)
        runs.extend([run] if run is not None else [])
        return feed

    report = await feed_lists.apply_yaml(
        services.feeds.registry, req.get_body(), services.clock(), change, services.feeds.presets
    )
    for run in runs:
        await services.run_starts.start_after_change(run)
    named = {name: [_feed(each) for each in getattr(report, name)] for name in ("added", "changed", "known")}
    return _applied(named, report.refused, runs)


@endpoint(
    lists_http,
    "POST",
    "tools/apply",
    about=_ABOUT,
    body=File("A YAML document with the list `tools`, as `config/tools.yaml` has it.", YAML, "yaml-of-tools", _TOOLS),
    answers=[ok(ToolsApplied)],
)
async def apply_tools(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Add and change tools to match a YAML list."""
    report = await tool_lists.apply_yaml(services.tools, req.get_body())
    runs = [await services.workflows.tool_changes.backfill(report.searched_for)] if report.searched_for else []
    for run in runs:
        await services.run_starts.start_after_change(run)
    named = {
        name: [await _tool(services, each) for each in getattr(report, name)] for name in ("added", "changed", "known")
    }
    return _applied(named, report.refused, runs)


def _feed(feed: Feed) -> dict[str, str]:
    return {"feed_id": feed.feed_id, "source_name": feed.source_name}


async def _tool(services: Container, tool_id: str) -> dict[str, str]:
    tool = await services.tools.get(tool_id)
    return {"tool_id": tool.tool_id, "name": tool.primary_name}


def _applied(named: Mapping[str, Any], refused: Any, runs: list[JobRun]) -> func.HttpResponse:
    told = [dataclasses.asdict(each) for each in refused]
    return json_response({**named, "refused": told, "runs": [run.run_id for run in runs]})
