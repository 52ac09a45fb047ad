"""Lists of tools in YAML: adds and changes the tools of a list. A wrong entry is reported by line; the others apply.

Fields that an entry does not have, and tools that the list does not name, stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.errors import Conflict, InvalidInput
from models.tool import normalize_name
from services.parse.yaml_lists import read_entries
from services.tools.catalog import Catalog
from services.tools.form import FIELDS, new_tool, tool_change


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that was not applied: its line, and why."""

    line: int
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ListReport:
    """The ids of tools that were added, changed, or equal to their entry already. `searched_for` are the tools that
    other articles name now: these need a backfill."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    known: tuple[str, ...]
    refused: tuple[Refused, ...]
    searched_for: tuple[str, ...]


async def apply_yaml(catalog: Catalog, document: bytes) -> ListReport:
    """Adds and changes tools until they are as the list has them. A known tool is found by its primary name.

    Raises InvalidInput if the document is no such list.
    """
    added: list[str] = []
    changed: list[str] = []
    known: list[str] = []
    refused: list[Refused] = []
    searched_for: list[str] = []
    for entry in read_entries(document, "tools", f"name, and maybe {', '.join(FIELDS[1:])}, status"):
        name = entry.text("name")
        try:
            before = await catalog.find(name) if normalize_name(name) else None
            if before is not None and before.primary_name_normalized != normalize_name(name):
                raise Conflict(f"name: is an alias of the tool {before.primary_name!r}; list it there")
            if before is None:
                given = {field: value for field, value in entry.fields.items() if field != "status"}
                before = await catalog.add(new_tool(given))
                added.append(before.tool_id)
                searched_for.append(before.tool_id)
                if "status" not in entry.fields:
                    continue
            tool, is_other = await catalog.change(before.tool_id, tool_change(entry.fields))
        except (InvalidInput, Conflict) as error:
            refused.append(Refused(entry.line, name, str(error)))
            continue
        if tool.tool_id not in added:
            (known if tool.stored_etag == before.stored_etag else changed).append(tool.tool_id)
            searched_for += [tool.tool_id] if is_other and tool.status == "ACTIVE" else []
    return ListReport(tuple(added), tuple(changed), tuple(known), tuple(refused), tuple(searched_for))
