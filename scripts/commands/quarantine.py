"""`quarantine`: lists what waits for a person, shows what each decision would do, and records a decision."""

from __future__ import annotations

import argparse
import json
from typing import Any

from models.resources.quarantine import QuarantineResource
from models.resources.runs import RunResource
from scripts.commands.form import Group
from scripts.commands.printed import say, show, table
from services.articles.quarantine import DECISIONS
from services.container import Container
from services.mentions.correction_form import signed_with_reason

LISTED = 100


def add_to(quarantine: Group) -> None:
    """Declares the commands of this module."""
    listing = quarantine.command("list", list_, f"list the {LISTED} latest items that wait for a review")
    listing.add_argument("--all", action="store_true", help="also those that were reviewed")
    listing.add_argument("--json", action="store_true", help="as JSON")
    preview = quarantine.command("preview", preview_, "show what each decision about a batch of entries would do")
    preview.add_argument("item", help="the quarantine_id")
    preview.add_argument("--json", action="store_true", help="as JSON, with every figure before and after")
    review = quarantine.command("review", review_, "record a decision, and ingest what it releases")
    review.add_argument("item", help="the quarantine_id")
    review.add_argument("decision", choices=DECISIONS)
    review.add_argument("--author", required=True, help="who decides")
    review.add_argument("--reason", required=True, help="why")


async def list_(app: Container, given: argparse.Namespace) -> int:
    found = await app.quarantine.page(None if given.all else "PENDING", LISTED, None)
    rows = [QuarantineResource.of(each).shown() for each in found.items]
    columns = ["created_at", "kind", "subject", "reason_code", "item_count", "manual_review_status", "quarantine_id"]
    show(rows, columns, as_json=given.json, none="Nothing waits for a review.")
    return 0


async def preview_(app: Container, given: argparse.Namespace) -> int:
    preview: dict[str, Any] = await app.quarantine_preview.of(given.item)
    if given.json:
        print(json.dumps(preview, ensure_ascii=False, indent=2))
        return 0
    numbers = ["new_articles", "changed_articles", "ids_added", "left_out", "mentions_added", "mentions_removed"]
    rows = [{"decision": decision, **effect} for decision, effect in preview["effects"].items()]
    print(table(rows, ["decision", *numbers]))
    tools = [
        {"decision": decision, **each, **_week(each)}
        for decision, effect in preview["effects"].items()
        for each in effect["tools"]
    ]
    if tools:
        print(f"\n{table(tools, ['decision', 'tool', 'mentions_added', 'mentions_removed', 'DAY_7', 'after'])}")
    for each in preview["ambiguous"]:
        print(f"\nambiguous: {each['headline']}\n  {each['url']}\n  may be {', '.join(each['article_ids'])}")
    if not preview["complete"]:
        say(f"Of {preview['entries']} entries, {preview['entries_looked_at']} were looked at.")
    return 0


def _week(tool: dict[str, Any]) -> dict[str, float]:
    week = tool["figures"]["DAY_7"]
    return {"DAY_7": week["before"]["total_mentions"], "after": week["after"]["total_mentions"]}


async def review_(app: Container, given: argparse.Namespace) -> int:
    by = signed_with_reason({"author": given.author, "reason": given.reason})
    reviewed = await app.quarantine.review(given.item, given.decision, *by)
    print(f"{reviewed.item.quarantine_id}: {reviewed.item.decided}")
    if reviewed.item.kind == "DOCUMENT" and reviewed.item.released_at is None:
        await app.documents.overdue.follow(reviewed.item)
    if reviewed.batch is not None:
        await app.ingestion.ingest(reviewed.batch)
        run = await app.runs.get(reviewed.batch.run_id)
        metrics = RunResource.of(run).shown()["metrics"] or {}
        print(f"ingested by run {run.run_id}: {metrics.get('articles_stored', 0)} new articles")
    return 0
