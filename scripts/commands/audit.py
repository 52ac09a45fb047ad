"""`audit`: compares what is stored with what it is counted from, and repairs derived data on request."""

from __future__ import annotations

import argparse
import dataclasses
import json

from scripts.commands.form import Group
from scripts.commands.printed import say, table
from services.container import Container
from services.operations.audit_rules import HARMLESS

_MOST_SHOWN = 50


def add_to(commands: Group) -> None:
    """Declares the command of this module."""
    auditing = commands.command(
        "audit", audit, "compare articles, mentions and figures with what they are counted from"
    )
    auditing.add_argument("--repair", action="store_true", help="repair figures, and announce articles to be analysed")
    auditing.add_argument("--tool", help="only this tool, with its mentions: id, name or alias")
    auditing.add_argument("--json", action="store_true", help="as JSON, with all differences")


async def audit(app: Container, given: argparse.Namespace) -> int:
    """The exit code is 1 if there are differences that were not repaired."""
    tool_id = None if given.tool is None else (await app.tools.get(given.tool)).tool_id
    section, checked, repaired = "", 0, 0
    found = []
    async for part in app.audit.round(tool_id=tool_id, repair=given.repair):
        if part.section != section:
            section = part.section
            say(f"{section} ...")
        checked += part.checked
        repaired += part.repaired
        found += part.differences
    wrong = [each for each in found if each.kind not in HARMLESS]
    if given.json:
        rows = [{name: getattr(each, name) for name in ("kind", "subject", "detail")} for each in found]
        print(json.dumps({"checked": checked, "repaired": repaired, "differences": rows}, ensure_ascii=False, indent=2))
    else:
        shown = [dataclasses.asdict(each) for each in found[:_MOST_SHOWN]]
        if shown:
            print(table(shown, ["kind", "subject", "detail"]))
        more = f", the first {_MOST_SHOWN} are shown" if len(found) > _MOST_SHOWN else ""
        print(f"{checked} documents checked, {len(wrong)} differences, {repaired} repaired{more}")
    return 1 if len(wrong) > repaired else 0
