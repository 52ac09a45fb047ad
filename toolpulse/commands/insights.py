"""`mentions`, `explain`, `movement`: what is behind a figure, mention by mention and word by word."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from toolpulse.call import Call
from toolpulse.declare import command
from toolpulse.made import a_list, an_item
from toolpulse.options import Tool
from toolpulse.tables import average

OF_MENTIONS = ["published_at", "sentiment", "score", "headline", "publisher", "names", "source_id"]
_OF_EFFECTS = ["effect", "mentions", "entered", "left", "average_sentiment"]


def add_to(app: typer.Typer) -> None:
    a_list(app, "mentions", "list_mentions", OF_MENTIONS, row=mention_row)
    an_item(app, "explain", "get_mention", _explain)
    command(app, "movement")(movement)


def mention_row(_call: Call, mention: dict[str, Any]) -> dict[str, Any]:
    names = ", ".join(dict.fromkeys(match["name"] for match in mention["matches"]))
    return {**mention, "sentiment": mention["sentiment"] or "unscored", "names": names}


def _explain(call: Call, found: dict[str, Any]) -> None:
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
