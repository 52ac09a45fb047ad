"""`documents`: shows the full text behind an article, and acquires it."""

from __future__ import annotations

import argparse
import json

from scripts.commands.form import Group
from scripts.commands.printed import show
from services.container import Container


def add_to(documents: Group) -> None:
    """Declares the commands of this module."""
    showing = documents.command("show", show_, "show the state of an article's full text, its files and attempts")
    showing.add_argument("article", help="the article's id")
    showing.add_argument("--json", action="store_true", help="as JSON, with all fields")
    acquiring = documents.command("acquire", acquire, "acquire an article's full text now, or again")
    acquiring.add_argument("article", help="the article's id")


async def show_(app: Container, given: argparse.Namespace) -> int:
    found = (await app.documents.documents.get(given.article)).resource("full").shown()
    if given.json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
        return 0
    for name in ("acquisition_status", "skip_reason", "validation_status", "last_error_fingerprint", "quarantine_id"):
        if found[name] is not None:
            print(f"{name}: {found[name]}")
    if found["eligibility"] == "ACQUIRE":
        print(f"next_eligible_attempt_at: {found['next_eligible_attempt_at']}")
    columns = ["attempt_no", "started_at", "status", "duration_ms", "error_fingerprint"]
    rows = [{name: each[name] for name in columns} for each in found["attempts"]]
    show(rows, columns, as_json=False, none="No attempt was made yet.")
    return 0


async def acquire(app: Container, given: argparse.Namespace) -> int:
    document = await app.documents.documents.acquire(given.article)
    print(f"{document.source_id}: {document.acquisition_status}, to be acquired now")
    return 0
