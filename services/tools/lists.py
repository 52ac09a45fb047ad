"""Lists of tools in YAML: adds and changes the tools of a list. A wrong entry is reported with its line; the others are
applied.

Fields that an entry does not have, and tools that the list does not name, stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from models.errors import Conflict, InvalidInput
from models.tool import normalize_name
from services.parse.yaml_lists import Entry, read_entries
from services.tools.catalog import Catalog
from services.tools.form import NewTool, new_tool, tool_change


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that was not applied: its line, and why."""

    line: int
    name: str
    reason: str


@dataclass(slots=True)
class ListReport:
    """The ids of tools that were added, changed, or equal to their entry already. `searched_for` are the tools whose
    names have changed, so that they need a backfill."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    searched_for: list[str] = field(default_factory=list)


async def apply_yaml(catalog: Catalog, document: bytes) -> ListReport:
    """Adds and changes tools until they are as the list has them. A known tool is found by its primary name.

    Raises InvalidInput if the document is not such a list.
    """
    report = ListReport()
    for entry in read_entries(document, "tools", f"name, and maybe {', '.join([*NewTool.model_fields][1:])}, status"):
        try:
            await _apply(catalog, entry, report)
        except (InvalidInput, Conflict) as error:
            report.refused.append(Refused(entry.line, entry.text("name"), str(error)))
    return report


async def _apply(catalog: Catalog, entry: Entry, report: ListReport) -> None:
    name = entry.text("name")
    before = await catalog.find(name) if normalize_name(name) else None
    if before is None:
        given = {field: value for field, value in entry.fields.items() if field != "status"}
        before = await catalog.add(new_tool(given))
        report.added.append(before.tool_id)
        report.searched_for.append(before.tool_id)
        if "status" not in entry.fields:
            return
    if before.primary_name_normalized != normalize_name(name):
        raise Conflict(f"name: is an alias of the tool {before.primary_name!r}; list it there")
    tool, is_other = await catalog.change(before.tool_id, tool_change(entry.fields))
    if tool.tool_id in report.added:
        return
    (report.known if tool.stored_etag == before.stored_etag else report.changed).append(tool.tool_id)
    if is_other and tool.status == "ACTIVE":
        report.searched_for.append(tool.tool_id)
