"""`sentiment`, `evidence`, `history`, `watch`, `cache`: the figures, what they count, and how they move. `mentions`,
`explain`, `movement`: what is behind a figure, mention by mention and word by word."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from toolpulse import completing
from toolpulse.call import Call, most
from toolpulse.client import part
from toolpulse.declare import ByPeriod, Limit, command, group
from toolpulse.failures import WRONG_USAGE, Failure
from toolpulse.made import a_deletion, a_list, a_run, an_item
from toolpulse.tables import average, sparkline

cache = group("See how the cache is, refresh it, invalidate the entries of a tool.")

Tools = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TOOL]...", help="Default: every active tool.", autocompletion=completing.tools),
]
_OF_MENTIONS = ["published_at", "sentiment", "score", "headline", "publisher", "names", "source_id"]
_COLUMNS = ["tool", "total_mentions", "positive_percentage", "negative_percentage", "average_sentiment", "trend",
            "stories", "verdict"]  # fmt: skip


def add_to(app: typer.Typer) -> None:
    command(app, "sentiment", period="list_latest_sentiment.period")(sentiment)
    a_list(app, "evidence", "list_tool_evidence", _OF_MENTIONS, rows=_mention, without=["hours"])
    command(app, "history", step="get_tool_history.step", layer="get_tool_history.layer")(history)
    command(app, "watch", period="list_latest_sentiment.period")(watch)
    an_item(cache, "health", "get_cache_health")
    a_run(cache, "refresh", "refresh_cache")
    a_deletion(cache, "delete", "delete_tool_cache", "the entries of {tool}")
    app.add_typer(cache, name="cache")
    a_list(app, "mentions", "list_mentions", _OF_MENTIONS, rows=_mention)
    an_item(app, "explain", "get_mention", _explain)
    an_item(app, "movement", "get_movement", _show_movement, before=_last_day)


def sentiment(call: Call, tools: Tools = None, period: ByPeriod = "HOUR_24", limit: Limit = 0) -> None:
    """Show the aggregates of tools, with a line of how the average has moved."""
    found = (_with_trends if call.out.is_table else _aggregates)(call, tools, period, limit)
    call.out.rows(found, _COLUMNS, none="There are no tools yet: see `toolpulse tools add NAME`.")
    if call.out.is_table:
        _noted(call, found)


def _aggregates(call: Call, tools: list[str] | None, period: str, limit: int) -> list[dict[str, Any]]:
    if not tools:
        return call.listed("sentiment/latest", most(limit), period=period)
    return [call.client.get(f"tools/{call.names.tool(each)}/sentiment", period=period) for each in tools]


def _noted(call: Call, found: list[dict[str, Any]]) -> None:
    if any(each["is_stale"] for each in found):
        call.out.say("Some figures are stale: see `toolpulse cache health`.")
    if any(each["pending_articles"] for each in found):
        call.out.say(f"{found[0]['pending_articles']} articles are not analysed yet, and may change the figures.")


def _with_trends(call: Call, tools: list[str] | None, period: str, limit: int) -> list[dict[str, Any]]:
    """The aggregates with `trend`: the course of the average as a sparkline. An hour has none."""
    named = _aggregates(call, tools, period, limit) if tools or period == "HOUR_1" else []
    if period == "HOUR_1":
        return named
    rows = call.listed("sentiment/trends", None if tools else most(limit), period=period)
    trends = {each["tool_id"]: {**each, "trend": sparkline(each["trend"]["average_sentiment"])} for each in rows}
    if not tools:
        return list(trends.values())
    return [{**each, "trend": trends.get(each["tool_id"], {}).get("trend", "")} for each in named]


def history(
    call: Call,
    tools: Annotated[
        list[str], typer.Argument(metavar="TOOL...", help="One tool, or up to 20.", autocompletion=completing.tools)
    ],
    step: Annotated[str, typer.Option(help="What a point stands for.")] = "day",
    days: Annotated[int | None, typer.Option(help="The last days, 1 to 30; 7 if not given.")] = None,
    from_: Annotated[str | None, typer.Option("--from", metavar="DAY", help="Instead: from this day or time.")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="DAY", help="Up to, but without, this one.")] = None,
    layer: Annotated[str, typer.Option(help="raw: each source's own reading.")] = "canonical",
    close: Annotated[
        str | None, typer.Option("--close", metavar="DAY", help="The close of this day, which never changes.")
    ] = None,
) -> None:
    """Show the figures by day or hour, and how they changed."""
    if close is not None:
        _closes(call, tools, close)
        return
    span = {"step": step, "days": days, "from": from_, "to": to}
    if len(tools) == 1:
        raw = "raw" if layer == "raw" else None
        found = call.client.get(f"tools/{call.names.tool(tools[0])}/history", **span, layer=raw)
        points = found["items"]
    elif layer == "raw":
        raise Failure("--layer raw: one tool at a time", WRONG_USAGE)
    else:
        ids = ",".join(call.names.tool_id(each) for each in tools)
        found = call.client.get("history", **span, tools=ids)
        points = [{"tool": each["tool"], **point} for each in found["items"] for point in each["points"]]
    if call.out.form == "json":
        call.out.json(found)
        return
    columns = [*(["tool"] if len(tools) > 1 else []), step, *(["source"] if layer == "raw" else []),
               "total_mentions", "positive_count", "negative_count", "neutral_count", "average_sentiment", "stories",
               "coverage", "state"]  # fmt: skip
    call.out.rows(points, columns, none="There are no points.")
    if call.out.is_table and found.get("total") and len(tools) == 1:
        _summed(call, found)


def _summed(call: Call, found: dict[str, Any]) -> None:
    total, change = found["total"], (found.get("change") or {}).get("average_sentiment") or {}
    moved = change.get("absolute")
    than = "" if moved is None else f", {moved:+.4f} against the time before"
    call.out.say(f"in all: {total['total_mentions']} mentions, average {average(total)}{than}")


def _closes(call: Call, tools: list[str], day: str) -> None:
    found = [call.client.get(f"tools/{call.names.tool(each)}/history/{part(day)}") for each in tools]
    rows = [
        {"tool": each["tool"], "figures": name, **(figures or {})}
        for each in found
        for name, figures in (("closed", (each["closed"] or {}).get("figures")), ("present", each["present"]))
    ]
    columns = ["tool", "figures", "total_mentions", "positive_count", "negative_count", "neutral_count",
               "average_sentiment"]  # fmt: skip
    call.out.rows(found, columns, none="None.", shown=rows)


def watch(
    call: Call,
    tools: Tools = None,
    period: ByPeriod = "HOUR_24",
    every: Annotated[float, typer.Option(metavar="SECONDS", help="Between two looks.")] = 30.0,
    times: Annotated[int, typer.Option(metavar="N", help="Stop after so many looks; 0: at Ctrl-C.")] = 0,
) -> None:
    """Show the aggregates, and again whenever they are looked at, until Ctrl-C."""
    if every < 1:
        raise Failure("--every: at least 1 second", WRONG_USAGE)
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(no_color=call.out.without_color or None, highlight=False)
    looks = 0
    with Live(console=console, auto_refresh=False, transient=False) as live:
        try:
            while True:
                found = _with_trends(call, tools, period, 0)
                lines = call.out.table_lines(found, _COLUMNS) if found else ["No tools yet."]
                looked = f"{time.strftime('%H:%M:%S')}, every {every:g} s, {period}; Ctrl-C ends it"
                live.update(Text.from_ansi("\n".join([looked, "", *lines])), refresh=True)
                looks += 1
                if looks == times:
                    return
                call.let_go()
                time.sleep(every)
        except KeyboardInterrupt:
            return


_OF_EFFECTS = ["effect", "mentions", "entered", "left", "average_sentiment"]


def _mention(_call: Call, mention: dict[str, Any]) -> list[dict[str, Any]]:
    names = ", ".join(dict.fromkeys(match["name"] for match in mention["matches"]))
    return [{**mention, "sentiment": mention["sentiment"] or "unscored", "names": names}]


def _explain(call: Call, found: dict[str, Any]) -> None:
    mention = found["mention"]
    call.out.line(f"{found['tool']}: {mention['sentiment'] or 'unscored'}, {mention['headline']}")
    print()
    rows = [{**each, "words": _words(each)} for each in found["passages"]]
    call.out.table(rows, ["weight", "sentiment", "polarity", "where", "words", "text"])


def _words(passage: dict[str, Any]) -> str:
    return ", ".join(f"{each['word']} {each['effect']:+.2f}" for each in passage["deciding_words"] or ())


def _last_day(_call: Call, _path: str, query: dict[str, Any]) -> dict[str, Any]:
    """The time that is asked for. Without `to` it ends now, without `from` it is a day."""
    end = query.get("to") or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:00Z}"
    return {"from": _day_before(end), "to": end, **query}


def _show_movement(call: Call, found: dict[str, Any]) -> None:
    for when in ("previous", "present"):
        figures = found[when]
        call.out.line(f"{when}: {figures['total_mentions']} mentions, average {average(figures)}")
    for title, name in (("stories", "headline"), ("publishers", "publisher")):
        call.out.section(title, found[title], [*_OF_EFFECTS, name])


def _day_before(text: str) -> str:
    try:
        end = datetime.fromisoformat(text)
    except ValueError:
        return text  # the app says what is wrong with it
    return (end - timedelta(days=1)).isoformat()
