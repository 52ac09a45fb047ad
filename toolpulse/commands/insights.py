"""`mentions`, `explain`, `movement`: what is behind a figure, mention by mention and word by word."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from toolpulse.call import Call, most
from toolpulse.client import part
from toolpulse.commands.articles import BySentiment
from toolpulse.declare import command
from toolpulse.options import DEFAULT_LIMIT, Article, Limit, Since, Tool, Until
from toolpulse.tables import average

_OF_MENTIONS = ["published_at", "sentiment", "score", "headline", "publisher", "names", "source_id"]
_OF_EFFECTS = ["effect", "mentions", "entered", "left", "average_sentiment"]


def add_to(app: typer.Typer) -> None:
    for name, run in (("mentions", mentions), ("explain", explain), ("movement", movement)):
        command(app, name)(run)


def mentions(
    call: Call,
    tool: Tool,
    sentiment: BySentiment = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = DEFAULT_LIMIT,
) -> None:
    """List the mentions of a tool, latest first."""
    path = f"tools/{call.names.tool(tool)}/mentions"
    show_mentions(call, call.listed(path, most(limit), sentiment=sentiment, since=since, until=until))


def show_mentions(call: Call, found: list[dict[str, Any]]) -> None:
    rows = [{**each, "sentiment": each["sentiment"] or "unscored", "names": _names(each)} for each in found]
    call.out.rows(found, _OF_MENTIONS, none="There are none.", shown=rows)


def _names(mention: dict[str, Any]) -> str:
    return ", ".join(dict.fromkeys(match["name"] for match in mention["matches"]))


def explain(call: Call, tool: Tool, article: Article) -> None:
    """Show a mention passage by passage, with the words that decided."""
    found = call.client.get(f"tools/{call.names.tool(tool)}/mentions/{part(call.names.article(article))}")
    if not call.out.is_table:
        call.out.item(found)
        return
    mention = found["mention"]
    call.out.line(f"{found['tool']}: {mention['sentiment'] or 'unscored'}, {mention['headline']}")
    print()
    rows = [{**each, "words": _words(each)} for each in found["passages"]]
    call.out.table(rows, ["weight", "sentiment", "polarity", "where", "words", "text"])


def _words(passage: dict[str, Any]) -> str:
    return ", ".join(f"{each['word']} {each['effect']:+.2f}" for each in passage["deciding_words"] or ())


def movement(
    call: Call,
    tool: Tool,
    from_: Annotated[str | None, typer.Option("--from", metavar="TIME", help="A day before --to if not given.")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Now if not given.")] = None,
    shift_hours: Annotated[
        int | None, typer.Option("--shift-hours", metavar="N", help="Compare with so many hours earlier.")
    ] = None,
) -> None:
    """Say what a figure is made of, and what moved it since the time before."""
    end = to or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:00Z}"
    begin = from_ or _day_before(end)
    path = f"tools/{call.names.tool(tool)}/movement"
    found = call.client.get(path, **{"from": begin, "to": end}, shift_hours=shift_hours)
    if not call.out.is_table:
        call.out.item(found)
        return
    for when in ("previous", "present"):
        figures = found[when]
        call.out.line(f"{when}: {figures['total_mentions']} mentions, average {average(figures)}")
    for title, name in (("stories", "headline"), ("publishers", "publisher")):
        if found[title]:
            print(f"\n{title}")
            call.out.table(found[title], [*_OF_EFFECTS, name])


def _day_before(text: str) -> str:
    try:
        end = datetime.fromisoformat(text)
    except ValueError:
        return text  # the app says what is wrong with it
    return (end - timedelta(days=1)).isoformat()
