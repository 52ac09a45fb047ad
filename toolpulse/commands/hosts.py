"""`hosts`: what requests to each host cost, and what they brought."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from toolpulse.call import Call, most
from toolpulse.client import part
from toolpulse.declare import command, group
from toolpulse.options import DEFAULT_LIMIT, Limit, Text

hosts = group("See what requests to each host cost, and which hosts fail.")

Sort = Literal["requests", "host", "bytes", "not_modified", "rate_limited", "failed", "delay"]
Days = Annotated[int | None, typer.Option("--days", metavar="N", help="Of so many days, 1 to 35; 7 if not given.")]
_COLUMNS = ["requests", "bytes", "not_modified_share", "rate_limited", "failed"]


def add_to(app: typer.Typer) -> None:
    app.add_typer(hosts, name="hosts")


@command(hosts, "list")
def list_(
    call: Call,
    text: Text = None,
    failing: Annotated[bool | None, typer.Option("--failing/--working", help="Only hosts that are so.")] = None,
    days: Days = None,
    sort: Annotated[Sort | None, typer.Option(help="By what; requests if not given.")] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    limit: Limit = DEFAULT_LIMIT,
) -> None:
    """List hosts with their requests, failures and delays."""
    by = {"text": text, "failing": failing, "days": days, "sort": sort, "reverse": reverse or None}
    found = call.listed("hosts", most(limit), **by)
    columns = ["host", *_COLUMNS, "discovery_delay.p95_seconds", "failing.reason"]
    call.out.rows(found, columns, none="No request was sent in these days.")


@command(hosts, "show")
def show(
    call: Call, host: Annotated[str, typer.Argument(help="As a feed has it, such as example.com.")], days: Days = None
) -> None:
    """Show one host, day by day."""
    found = call.client.get(f"hosts/{part(host)}", days=days)
    if not call.out.is_table:
        call.out.item(found)
        return
    call.out.item({name: value for name, value in found.items() if name != "by_day"})
    if found["by_day"]:
        print()
        call.out.table(found["by_day"], ["day", *_COLUMNS])
