"""`runs`: what the app has done, and waiting until it is done."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from toolpulse.call import Call, most
from toolpulse.client import part
from toolpulse.declare import command, group
from toolpulse.options import DEFAULT_LIMIT, ByFeed, Limit, Since, Until

runs = group("List runs, show one with its attempts, wait for its end.")

Status = Literal["QUEUED", "RUNNING", "SUCCEEDED", "PARTIAL", "FAILED"]
Run = Annotated[str, typer.Argument(metavar="RUN", help="Its id, the beginning of it, or last.")]
_NAMES = ["workflow_name", "status", "started_at", "ended_at", "subject", "progress", "parameters", "metrics", "run_id"]


def add_to(app: typer.Typer) -> None:
    app.add_typer(runs, name="runs")


@command(runs, "list")
def list_(
    call: Call,
    workflow: Annotated[str | None, typer.Option(help="Only of this kind, such as backfill_tools.")] = None,
    status: Annotated[Status | None, typer.Option(help="Only with this status.")] = None,
    subject: Annotated[str | None, typer.Option(metavar="NAME", help="Only about this feed, tool or article.")] = None,
    feed: ByFeed = None,
    since: Since = None,
    until: Until = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Also those that brought nothing new.")] = False,
    limit: Limit = DEFAULT_LIMIT,
) -> None:
    """List runs, newest first."""
    found = call.listed(
        "runs", most(limit), workflow=workflow, status=status,
        subject=None if subject is None else call.names.subject(subject),
        feed=None if feed is None else call.names.feed(feed), since=since, until=until, quiet=quiet or None,
        view=call.view,
    )  # fmt: skip
    rows = [{**each, "about": call.names.of_subject(each["subject"])} for each in found] if call.out.is_table else []
    columns = ["started_at", "workflow_name", "about", "status", "progress", "ended_at", "run_id"]
    call.out.rows(found, columns, none="None.", shown=rows)


@command(runs, "show")
def show(call: Call, run: Run) -> None:
    """Show a run with its attempts."""
    _shown(call, call.client.get(f"runs/{part(call.names.run(run))}", view=call.view))


def _shown(call: Call, found: dict[str, Any]) -> None:
    if not call.out.is_table:
        call.out.item(found)
        return
    call.out.item({**found, "subject": call.names.of_subject(found["subject"])}, _NAMES)
    for error in found["errors"]:
        call.out.line(f"  {error}")
    if found["attempts"]:
        print()
        rows = [{**each, "about": call.names.of_subject(each["subject"])} for each in found["attempts"]]
        call.out.table(rows, ["started_at", "task_name", "about", "status", "articles_new", "error_message"])


@command(runs, "wait")
def wait(call: Call, run: Run) -> int:
    """Wait until a run has ended. Exits with 1 if it did not succeed."""
    run_id = call.names.run(run)
    code = call.finished(run_id)
    if not call.out.is_table:
        _shown(call, call.client.get(f"runs/{part(run_id)}", view=call.view))
    return code
