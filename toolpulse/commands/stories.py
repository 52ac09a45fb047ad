"""`stories` and `signals`: what happened, and what it suggests for tools."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from toolpulse.call import Call, most
from toolpulse.client import part
from toolpulse.commands.articles import corrected, show_ledger
from toolpulse.declare import command, group
from toolpulse.made import a_list, an_item
from toolpulse.options import DEFAULT_LIMIT, Author, ByTool, Limit, Reason, Since, Story, Until

stories = group("List stories, show them with their articles, and correct them.")

Other = Annotated[str, typer.Argument(metavar="OTHER", help="The other story.")]


def add_to(app: typer.Typer) -> None:
    app.add_typer(stories, name="stories")
    command(app, "signals", kind="list_signals.kind", state="list_signals.state")(signals)


def _show(call: Call, found: dict[str, Any]) -> None:
    call.out.line(found["headline"])
    call.out.line(f"{found['state']}, {found['published_at']} to {found['timestamp']}")
    rows = [{**each, "publisher": each["publisher_name"],
             "why": "begins the story" if each["reason"] is None else each["reason"]["rule"]}
            for each in found["members"]]  # fmt: skip
    print()
    call.out.table(rows, ["published_at", "publisher", "sentiment", "why", "headline", "source_id"])
    if found["tools"]:
        print()
        call.out.table(found["tools"], ["tool", "articles", "positive_count", "negative_count", "neutral_count",
                                        "average_sentiment"])  # fmt: skip


a_list(
    stories, "list", "list_stories",
    ["timestamp", "article_count", "publisher_count", "state", "headline", "event_id"],
)  # fmt: skip
an_item(stories, "show", "get_story", _show)


@command(stories, "ledger")
def ledger(call: Call, story: Story, limit: Limit = 0) -> None:
    """Show why each article is in a story."""
    show_ledger(call, call.listed(f"stories/{part(call.names.story(story))}/ledger", most(limit)))


@command(stories, "split")
def split(
    call: Call,
    story: Story,
    articles: Annotated[list[str], typer.Argument(metavar="ARTICLE...", help="The articles that leave it together.")],
    author: Author,
    reason: Reason = None,
) -> None:
    """Take articles out of a story; prints the id of the correction."""
    ids = [call.names.article(each) for each in articles]
    corrected(call, f"stories/{part(call.names.story(story))}/split", author, reason, articles=ids)


@command(stories, "join")
def join(call: Call, story: Story, other: Other, author: Author, reason: Reason = None) -> None:
    """Say that the articles of both are of one story."""
    corrected(call, f"stories/{part(call.names.story(story))}/join", author, reason, story=call.names.story(other))


@command(stories, "keep-apart")
def keep_apart(call: Call, story: Story, other: Other, author: Author, reason: Reason = None) -> None:
    """Say that no article of one is in a story with an article of the other."""
    path = f"stories/{part(call.names.story(story))}/keep-apart"
    corrected(call, path, author, reason, story=call.names.story(other))


def signals(
    call: Call,
    tool: ByTool = None,
    kind: Annotated[str | None, typer.Option()] = None,
    state: Annotated[str, typer.Option()] = "active",
    since: Since = None,
    until: Until = None,
    limit: Limit = DEFAULT_LIMIT,
) -> None:
    """List the latest signals: what stories suggest for tools."""
    path = "signals" if tool is None else f"tools/{call.names.tool(tool)}/signals"
    by = {"kind": kind, "state": state, "since": since, "until": until}
    found = call.listed(path, most(limit), **by, view=call.view)
    columns = ["timestamp", "tool", "kind", "reason", "headline", "event_id"]
    call.out.rows(found, columns, none="There are none.")
