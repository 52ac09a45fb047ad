"""`hosts`: the hosts that feeds are fetched from, and which of them fail."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from toolpulse.call import Call, most
from toolpulse.client import part
from toolpulse.declare import command, group
from toolpulse.options import DEFAULT_LIMIT, Limit, Text

hosts = group("See the hosts that feeds are fetched from, and which hosts fail.")

Sort = Literal["feeds", "host"]
_COLUMNS = ["host", "feeds", "failing_feeds", "next_fetch_time", "failing.reason", "failing.cools_until"]


def add_to(app: typer.Typer) -> None:
    app.add_typer(hosts, name="hosts")


@command(hosts, "list")
def list_(
    call: Call,
    text: Text = None,
    failing: Annotated[bool | None, typer.Option("--failing/--working", help="Only hosts that are so.")] = None,
    sort: Annotated[Sort | None, typer.Option(help="By what; feeds if not given.")] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    limit: Limit = DEFAULT_LIMIT,
) -> None:
    """List hosts with their feeds and failures."""
    by = {"text": text, "failing": failing, "sort": sort, "reverse": reverse or None}
    call.out.rows(call.listed("hosts", most(limit), **by), _COLUMNS, none="No feed is fetched from such a host.")


@command(hosts, "show")
def show(call: Call, host: Annotated[str, typer.Argument(help="As a feed has it, such as example.com.")]) -> None:
    """Show one host."""
    call.out.item(call.client.get(f"hosts/{part(host)}"))
