"""`health`, `metrics`, `queues`, `quarantine`, `runs`: how the app is, what it did, and what waits for a person."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from toolpulse.call import LISTED, Call, most
from toolpulse.client import part
from toolpulse.declare import Limit, Run, command, group
from toolpulse.failures import FAILED
from toolpulse.made import a_list, an_act, an_item

queues = group("List queues with their poison messages, and send these back.")
quarantine = group("List what waits for a person, see what a decision would do, and decide.")
runs = group("List runs, show one with its attempts, wait for its end.")

_EFFECTS = ["new_articles", "changed_articles", "ids_added", "left_out", "mentions_added"]
_OF_A_RUN = ["workflow_name", "status", "started_at", "ended_at", "subject", "progress", "parameters", "metrics",
             "run_id"]  # fmt: skip


def add_to(app: typer.Typer) -> None:
    command(app, "health")(health)
    command(app, "metrics")(metrics)
    app.add_typer(queues, name="queues")
    app.add_typer(quarantine, name="quarantine")
    app.add_typer(runs, name="runs")


def health(call: Call) -> int:
    """Show how the app is. Exits with 1 if it is unhealthy."""
    found = call.client.get("health")
    checks = [{"check": name, **each} for name, each in found.get("checks", {}).items()]
    if call.out.form == "json":
        call.out.item(found)
    elif call.out.form == "csv":
        call.out.rows(checks, [], none="")
    else:
        call.out.line(f"{found['status']}, version {found.get('version')}, {found.get('timestamp')}")
        call.out.table(checks, ["check", "status", "detail"])
    return FAILED if found["status"] == "unhealthy" else 0


def metrics(call: Call) -> None:
    """Print the metrics of the app, as Prometheus reads them."""
    print(call.client.text("metrics").text, end="")


def _show_moved(call: Call, moved: dict[str, Any]) -> None:
    call.out.line(f"{moved['name']}: {moved['moved']} messages were sent back")


def _show_preview(call: Call, found: dict[str, Any]) -> None:
    effects = found["effects"].items()
    call.out.table([{"decision": decision, **effect} for decision, effect in effects], ["decision", *_EFFECTS])
    tools = [{"decision": decision, **each} for decision, effect in effects for each in effect["tools"]]
    call.out.section("tools", tools, ["decision", "tool", "mentions_added"])
    for each in found["ambiguous"]:
        call.out.line(f"ambiguous: {each['headline']} {each['url']} may be {', '.join(each['article_ids'])}")
    for line in (found["finding"], "", *found["text"].splitlines()) if found["text"] is not None else ():
        call.out.line(line)
    if not found["complete"]:
        call.out.say(f"Of {found['entries']} entries, {found['entries_looked_at']} were looked at.")


def _show_review(call: Call, reviewed: dict[str, Any]) -> None:
    call.out.line(f"{reviewed['quarantine_id']}: {reviewed['manual_review_status']}")


def _about(call: Call, run: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**run, "about": call.names.of_subject(run["subject"])}]


def _show_run(call: Call, found: dict[str, Any]) -> None:
    call.out.item({**found, "subject": call.names.of_subject(found["subject"])}, _OF_A_RUN)
    for error in found["errors"]:
        call.out.line(f"  {error}")
    columns = ["started_at", "task_name", "about", "status", "articles_new", "error_message"]
    call.out.section("attempts", [row for each in found["attempts"] for row in _about(call, each)], columns)


a_list(queues, "list", "list_queues", ["name", "messages", "poison", "poison_messages"], limit=0)
an_act(queues, "redrive", "redrive_queue", show=_show_moved)
an_item(quarantine, "preview", "preview_quarantine", _show_preview)
an_act(
    quarantine, "review", "review_quarantine", arguments=["decision"], show=_show_review, waits=True,
    about="Record a decision, and ingest what it releases.",
)  # fmt: skip
a_list(
    runs, "list", "list_runs",
    ["started_at", "workflow_name", "about", "status", "progress", "ended_at", "run_id"], rows=_about,
)  # fmt: skip
an_item(runs, "show", "get_run", _show_run)


@command(quarantine, "list")
def list_(
    call: Call,
    all_: Annotated[bool, typer.Option("--all", help="Also those that were reviewed.")] = False,
    limit: Limit = LISTED,
) -> None:
    """List what waits for a review, newest first."""
    found = call.listed("quarantine", most(limit), status=None if all_ else "PENDING", view=call.view)
    rows = [row for each in found for row in _about(call, each)] if call.out.is_table else []
    columns = ["created_at", "kind", "about", "reason_code", "item_count", "manual_review_status", "quarantine_id"]
    call.out.rows(found, columns, none="Nothing waits for a review.", shown=rows)


@command(runs, "wait")
def wait(call: Call, run: Run) -> int:
    """Wait until a run has ended. Exits with 1 if it did not succeed."""
    run_id = call.names.run(run)
    code = call.finished(run_id)
    if not call.out.is_table:
        call.out.item(call.client.get(f"runs/{part(run_id)}", view=call.view))
    return code
