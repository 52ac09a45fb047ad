"""`stories` and `signals`: what happened, and what it suggests for tools."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from toolpulse.call import LISTED, Call, most
from toolpulse.client import part
from toolpulse.commands.articles import OF_REASONS, reasons
from toolpulse.declare import command, group
from toolpulse.made import a_list, an_act, an_item
from toolpulse.options import ByTool, Limit, Since, Story, Until

stories = group("List stories, show them with their articles, and correct them.")


def add_to(app: typer.Typer) -> None:
    app.add_typer(stories, name="stories")
    command(app, "signals", kind="list_signals.kind", state="list_signals.state")(signals)


def _show(call: Call, found: dict[str, Any]) -> None:
    call.out.line(found["headline"])
    call.out.line(f"{found['state']}, {found['published_at']} to {found['timestamp']}")
    rows = [{**each, "publisher": each["publisher_name"],
             "why": "begins the story" if each["reason"] is None else each["reason"]["rule"]}
            for each in found["members"]]  # fmt: skip
    call.out.section("articles", rows, ["published_at", "publisher", "sentiment", "why", "headline", "source_id"])
    columns = ["tool", "articles", "positive_count", "negative_count", "neutral_count", "average_sentiment"]
    call.out.section("tools", found["tools"], columns)


a_list(
    stories, "list", "list_stories",
    ["timestamp", "article_count", "publisher_count", "state", "headline", "event_id"],
)  # fmt: skip
an_item(stories, "show", "get_story", _show)
an_act(stories, "split", "split_story", arguments=["articles"], prints="correction_id")
an_act(stories, "join", "join_stories", arguments=["story"], prints="correction_id")
an_act(stories, "keep-apart", "keep_stories_apart", arguments=["story"], prints="correction_id")


@command(stories, "ledger")
def ledger(call: Call, story: Story, limit: Limit = 0) -> None:
    """Show why each article is in a story."""
    found = call.listed(f"stories/{part(call.names.story(story))}/ledger", most(limit))
    rows = [row for each in found for row in reasons(call, each)] if call.out.is_table else []
    call.out.rows(found, OF_REASONS, none="None.", shown=rows)


def signals(
    call: Call,
    tool: ByTool = None,
    kind: Annotated[str | None, typer.Option()] = None,
    state: Annotated[str, typer.Option()] = "active",
    since: Since = None,
    until: Until = None,
    limit: Limit = LISTED,
) -> None:
    """List the latest signals: what stories suggest for tools."""
    path = "signals" if tool is None else f"tools/{call.names.tool(tool)}/signals"
    by = {"kind": kind, "state": state, "since": since, "until": until}
    found = call.listed(path, most(limit), **by, view=call.view)
    columns = ["timestamp", "tool", "kind", "reason", "headline", "event_id"]
    call.out.rows(found, columns, none="There are none.")
