"""`runs`: lists runs and attempts. Also carries out the run of a command in this process."""

from __future__ import annotations

import argparse
from typing import get_args

from models.resources.runs import AttemptResource, RunResource
from models.run import WORKFLOWS, JobRun
from models.states import AttemptStatus, RunStatus
from scripts.commands.form import Group
from scripts.commands.printed import say, show
from services.container import Container
from services.runs.listing import ATTEMPT_FILTERS, RUN_FILTERS, attempt_filter, run_filter

LISTED = 50


def add_to(runs: Group) -> None:
    """Declares the commands of this module."""
    listing = runs.command("list", list_, f"list the {LISTED} latest runs, without those that brought nothing new")
    listing.add_argument("--workflow", choices=WORKFLOWS, help="only runs of this kind")
    listing.add_argument("--status", choices=get_args(RunStatus), help="only runs with this status")
    listing.add_argument("--subject", metavar="ID", help="only runs about this feed, tool or article")
    listing.add_argument("--feed", metavar="ID", help="only ingestions with an attempt at this feed")
    listing.add_argument("--quiet", action="store_true", help="also runs that brought nothing new")
    history = runs.command("history", history_of, f"list the {LISTED} latest attempts at a feed")
    history.add_argument("feed", metavar="FEED", help="the id of a feed")
    history.add_argument("--status", choices=get_args(AttemptStatus), help="only attempts with this status")
    for each in (listing, history):
        each.add_argument("--since", metavar="TIME", help="begun at or after this time, such as 2026-02-21T20:00Z")
        each.add_argument("--until", metavar="TIME", help="begun before this time")
        each.add_argument("--json", action="store_true", help="as JSON")


async def list_(app: Container, given: argparse.Namespace) -> int:
    filters = {name: value for name in RUN_FILTERS if (value := getattr(given, name)) is not None}
    page = await app.runs.page(LISTED, None, run_filter(filters, with_quiet=given.quiet))
    columns = ["run_id", "workflow_name", "subject", "status", "started_at", "ended_at", "progress"]
    show([RunResource.of(run).shown() for run in page.items], columns, as_json=given.json, none="None.")
    return 0


async def history_of(app: Container, given: argparse.Namespace) -> int:
    feed = await app.feeds.get(given.feed)
    filters = {name: value for name in ATTEMPT_FILTERS if (value := getattr(given, name)) is not None}
    page = await app.runs.history(feed.feed_id, LISTED, None, attempt_filter(filters))
    columns = ["started_at", "status", "status_code", "articles_found", "articles_new", "error_type", "run_id"]
    show([AttemptResource.of(attempt).shown() for attempt in page.items], columns, as_json=given.json, none="None.")
    return 0


async def carried_out(app: Container, run: JobRun) -> int:
    """Works on the run to its end, and returns the exit code. If interrupted, the app's clean_up resumes the run."""
    result = await app.workflows.advance(run.run_id)
    while result.send_again:
        say(f"{(await app.runs.get(run.run_id)).progress} done")
        result = await app.workflows.advance(run.run_id)
    for tool_id in result.changed_tools:
        await app.figures.generations.invalidate_tool_cache(tool_id)
    done = await app.runs.get(run.run_id)
    say(f"{done.workflow_name} {done.status}: {', '.join(f'{count} {name}' for name, count in done.metrics.items())}")
    for error in done.errors:
        say(f"  {error}")
    return 0 if done.status == "SUCCEEDED" else 1
