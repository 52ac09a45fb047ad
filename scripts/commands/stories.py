"""`stories` lists stories, and shows one with its articles; `signals` lists what stories suggest for tools."""

from __future__ import annotations

import argparse
import json
from typing import Any

from scripts.commands.form import Group
from scripts.commands.printed import show, table
from services.container import Container
from services.signals.reading import KINDS, signal_filter
from services.signals.reading import STATES as SIGNAL_STATES
from services.stories.listing import FEWEST_ARTICLES, STATES, story_filter

LISTED = 50


def add_to(stories: Group) -> None:
    """Declares the commands of this module."""
    listing = stories.command("list", list_, f"list the {LISTED} latest stories of two articles or more")
    listing.add_argument("--tool", help="id, name or alias")
    listing.add_argument("--state", choices=STATES, help="default: both")
    listing.add_argument("--text", help="words in headlines of the story")
    listing.add_argument("--min-articles", type=int, default=FEWEST_ARTICLES, metavar="N")
    listing.add_argument("--json", action="store_true", help="as JSON")
    showing = stories.command("show", show_, "show a story with its articles, and what it says of each tool")
    showing.add_argument("story", help="the event_id of an article")
    showing.add_argument("--json", action="store_true", help="as JSON")


def add_signals_to(commands: Group) -> None:
    listing = commands.command("signals", signals, f"list the {LISTED} latest signals: what stories suggest for tools")
    listing.add_argument("--tool", help="id, name or alias")
    listing.add_argument("--kind", choices=KINDS)
    listing.add_argument("--state", choices=SIGNAL_STATES, default="active")
    listing.add_argument("--json", action="store_true", help="as JSON")


async def signals(app: Container, given: argparse.Namespace) -> int:
    tool_id = None if given.tool is None else (await app.tools.get(given.tool)).tool_id
    where = signal_filter({}, given.kind, given.state)
    found = (await app.signals.page(tool_id, where, LISTED, None)).items
    rows = [{**each, "tool": each["tool"] or each["tool_id"], "headline": each["headline"] or ""} for each in found]
    columns = ["timestamp", "tool", "kind", "reason", "headline", "event_id"]
    show(found if given.json else rows, columns, as_json=given.json, none="There are none.")
    return 0


async def list_(app: Container, given: argparse.Namespace) -> int:
    filters = {} if given.text is None else {"text": given.text}
    if given.tool is not None:
        filters["tool"] = (await app.tools.get(given.tool)).tool_id
    where = story_filter(filters, given.state, given.min_articles, app.clock())
    stories = (await app.stories.page(where, LISTED, None)).items
    columns = ["timestamp", "article_count", "publisher_count", "state", "headline", "event_id"]
    show(stories, columns, as_json=given.json, none="There are none.")
    return 0


async def show_(app: Container, given: argparse.Namespace) -> int:
    story: dict[str, Any] = await app.stories.get(given.story)
    if given.json:
        print(json.dumps(story, ensure_ascii=False, indent=2))
        return 0
    print(f"{story['headline']}\n{story['state']}, {story['published_at']} to {story['timestamp']}\n")
    rows = [
        {**each, "publisher": each["publisher_name"] or "", "why": _why(each), "sentiment": each["sentiment"] or ""}
        for each in story["members"]
    ]
    print(table(rows, ["published_at", "publisher", "sentiment", "why", "headline", "source_id"]))
    if story["tools"]:
        counts = ["tool", "articles", "positive_count", "negative_count", "neutral_count", "average_sentiment"]
        tools = [{**each, "tool": each["tool"] or each["tool_id"]} for each in story["tools"]]
        print(f"\n{table(_with_texts(tools), counts)}")
    return 0


def _why(member: dict[str, Any]) -> str:
    reason = member["reason"]
    return "begins the story" if reason is None else str(reason["rule"])


def _with_texts(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An average that is not known is shown as such."""
    return [
        {**each, "average_sentiment": "unknown" if each["average_sentiment"] is None else each["average_sentiment"]}
        for each in tools
    ]
