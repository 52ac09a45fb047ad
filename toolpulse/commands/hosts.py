"""`hosts`: the hosts that feeds are fetched from, and which of them fail."""

from __future__ import annotations

import typer

from toolpulse.declare import group
from toolpulse.made import a_list, an_item

hosts = group("See the hosts that feeds are fetched from, and which hosts fail.")
_COLUMNS = ["host", "feeds", "failing_feeds", "next_fetch_time", "failing.reason", "failing.cools_until"]

a_list(hosts, "list", "list_hosts", _COLUMNS, none="No feed is fetched from such a host.")
an_item(hosts, "show", "get_host")


def add_to(app: typer.Typer) -> None:
    app.add_typer(hosts, name="hosts")
