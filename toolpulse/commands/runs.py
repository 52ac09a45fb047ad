"""`runs`: what the app has done, and waiting until it is done."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from toolpulse.call import Call
from toolpulse.client import part
from toolpulse.declare import command, group
from toolpulse.made import a_list

runs = group("List runs, show one with its attempts, wait for its end.")

Run = Annotated[str, typer.Argument(metavar="RUN", help="Its id, the beginning of it, or last.")]
_NAMES = ["workflow_name", "status", "started_at", "ended_at", "subject", "progress", "parameters", "metrics", "run_id"]


def add_to(app: typer.Typer) -> None:
    app.add_typer(runs, name="runs")


def _row(call: Call, run: dict[str, Any]) -> dict[str, Any]:
    return {**run, "about": call.names.of_subject(run["subject"])}


_COLUMNS = ["started_at", "workflow_name", "about", "status", "progress", "ended_at", "run_id"]
a_list(runs, "list", "list_runs", _COLUMNS, row=_row)


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
        rows = [_row(call, each) for each in found["attempts"]]
        call.out.table(rows, ["started_at", "task_name", "about", "status", "articles_new", "error_message"])


@command(runs, "wait")
def wait(call: Call, run: Run) -> int:
    """Wait until a run has ended. Exits with 1 if it did not succeed."""
    run_id = call.names.run(run)
    code = call.finished(run_id)
    if not call.out.is_table:
        _shown(call, call.client.get(f"runs/{part(run_id)}", view=call.view))
    return code
