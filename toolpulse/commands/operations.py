"""`health`, `metrics`, `queues`, `quarantine`: how the app is, and what waits for a person."""

from __future__ import annotations

from typing import Annotated

import typer

from toolpulse.call import Call, most
from toolpulse.client import part
from toolpulse.declare import command, group
from toolpulse.failures import FAILED
from toolpulse.options import DEFAULT_LIMIT, Author, Limit, NoWait

queues = group("List queues with their poison messages, and send these back.")
quarantine = group("List what waits for a person, see what a decision would do, and decide.")

Item = Annotated[str, typer.Argument(metavar="ITEM", help="The quarantine_id.")]
_EFFECTS = ["new_articles", "changed_articles", "ids_added", "left_out", "mentions_added"]


def add_to(app: typer.Typer) -> None:
    command(app, "health")(health)
    command(app, "metrics")(metrics)
    app.add_typer(queues, name="queues")
    app.add_typer(quarantine, name="quarantine")


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


@command(queues, "list")
def list_queues(call: Call) -> None:
    """List the queues with their messages and poison messages."""
    found = call.client.get("queues")["items"]
    call.out.rows(found, ["name", "messages", "poison", "poison_messages"], none="None.")


@command(queues, "redrive")
def redrive(
    call: Call,
    name: Annotated[str, typer.Argument(help="The queue, such as analyze-articles.")],
    limit: Annotated[int, typer.Option(help="At most so many messages.")] = 1000,
) -> None:
    """Send poison messages back to their queue."""
    moved = call.client.post(f"queues/{part(name)}/redrive", {"limit": limit})
    if call.out.is_table:
        call.out.line(f"{moved['name']}: {moved['moved']} messages were sent back")
    else:
        call.out.item(moved)


@command(quarantine, "list")
def list_(
    call: Call,
    all_: Annotated[bool, typer.Option("--all", help="Also those that were reviewed.")] = False,
    limit: Limit = DEFAULT_LIMIT,
) -> None:
    """List what waits for a review, newest first."""
    found = call.listed("quarantine", most(limit), status=None if all_ else "PENDING", view=call.view)
    rows = [{**each, "about": call.names.of_feed(each["subject"])} for each in found] if call.out.is_table else []
    columns = ["created_at", "kind", "about", "reason_code", "item_count", "manual_review_status", "quarantine_id"]
    call.out.rows(found, columns, none="Nothing waits for a review.", shown=rows)


@command(quarantine, "preview")
def preview(call: Call, item: Item) -> None:
    """Show what each decision about a batch of entries would do. Nothing changes."""
    found = call.client.get(f"quarantine/{part(item)}/preview")
    if not call.out.is_table:
        call.out.item(found)
        return
    effects = found["effects"].items()
    call.out.table([{"decision": decision, **effect} for decision, effect in effects], ["decision", *_EFFECTS])
    tools = [{"decision": decision, **each} for decision, effect in effects for each in effect["tools"]]
    if tools:
        print()
        call.out.table(tools, ["decision", "tool", "mentions_added"])
    for each in found["ambiguous"]:
        call.out.line(f"ambiguous: {each['headline']} {each['url']} may be {', '.join(each['article_ids'])}")
    if not found["complete"]:
        call.out.say(f"Of {found['entries']} entries, {found['entries_looked_at']} were looked at.")


@command(quarantine, "review", decision="Review.decision")
def review(
    call: Call,
    item: Item,
    decision: Annotated[str, typer.Argument(help="What is to happen.")],
    author: Author,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")],
    no_wait: NoWait = False,
) -> int:
    """Record a decision, and ingest what it releases."""
    body = {"decision": decision, "author": author, "reason": reason}
    reviewed = call.client.post(f"quarantine/{part(item)}/review", body)
    if call.out.is_table:
        call.out.line(f"{reviewed['quarantine_id']}: {reviewed['manual_review_status']}")
    else:
        call.out.item(reviewed)
    return call.finished(reviewed.get("run_id"), wait=not no_wait)
