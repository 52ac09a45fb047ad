"""`ingest`: fetches every enabled feed now, and waits until its articles are stored. `sources`: what they brought."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from toolpulse.call import Call, without_nothing, writable
from toolpulse.commands.exports import as_array
from toolpulse.commands.feeds import ByHost, ByTag, acted
from toolpulse.declare import command
from toolpulse.failures import FAILED

_WINDOW = timedelta(hours=24)


def add_to(app: typer.Typer) -> None:
    command(app, "ingest")(ingest)
    command(app, "sources")(sources)


def ingest(
    call: Call,
    tag: ByTag = None,
    host: ByHost = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Then write all stored articles as JSON.")
    ] = None,
    raw_all_sources: Annotated[
        bool, typer.Option("--raw-all-sources", help="Export what each source published, not the canonical readings.")
    ] = False,
) -> int:
    """Fetch every enabled feed now, due or not. Exits with 1 if every fetch failed."""
    if export is not None:
        writable(export)
    by = {"enabled": True, **without_nothing(tag=tag, host=host)}
    results = acted(call, {"action": "fetch", "filter": by})
    for each in results:
        if each["run_id"] is None:
            call.out.say(f"  {each['feed_id']}: {each['reason']}")
    ids = list(dict.fromkeys(each["run_id"] for each in results if each["run_id"] is not None))
    runs = [call.waited(each) for each in ids]
    for error in (error for run in runs for error in run["errors"]):
        call.out.say(f"  {error}")
    found = {"feeds": len(results), **_summed(runs)}
    if call.out.is_table:
        print(f"feeds: {found['feeds']}, new articles: {found['articles_stored']}, known from another source: "
              f"{found['collisions_detected']}, errors: {found['errors']}")  # fmt: skip
    else:
        call.out.item(found)
    if export is not None:
        call.let_go()
        layer = "raw" if raw_all_sources else "canonical"
        call.out.say(f"exported from the {layer} layer: {as_array(call, layer, export)}, to {export}")
    statuses = {attempt["status"] for run in runs for attempt in run["attempts"]}
    if runs and not statuses:
        call.out.say("another run fetched these feeds at the same moment: see `toolpulse runs list`")
    elif results and "SUCCEEDED" not in statuses:
        call.out.say("no feed could be fetched: `toolpulse feeds health` says what each one needs")
        return FAILED
    return 0


def _summed(runs: Sequence[dict[str, Any]]) -> dict[str, int]:
    counts = [run["metrics"] or {} for run in runs]
    return {
        **{name: sum(each.get(name) or 0 for each in counts) for name in ("articles_stored", "collisions_detected")},
        "errors": sum(len(run["errors"]) for run in runs),
    }


def sources(call: Call) -> None:
    """Count the articles of the last 24 hours by source, with their average age in hours."""
    now = datetime.now(UTC)
    ages: defaultdict[str, list[float]] = defaultdict(list)
    since = (now - _WINDOW).strftime("%Y-%m-%dT%H:%M:%SZ")
    for article in call.listed("articles", None, since=since):
        age = (now - datetime.fromisoformat(article["timestamp"])) / timedelta(hours=1)
        for name in {call.names.of_feed(each) for each in article["sources"]}:
            ages[name].append(age)
    found = [{"source_name": name, "article_count": len(each), "avg_age_hours": round(sum(each) / len(each), 2)}
             for name, each in ages.items()]  # fmt: skip
    found.sort(key=lambda each: (-int(str(each["article_count"])), str(each["source_name"])))
    columns = ["source_name", "article_count", "avg_age_hours"]
    call.out.rows(found, columns, none="No article was published in the last 24 hours.")
