"""`audit`, `migrate`, `backup`, `restore`: work on the store itself, beside an app that runs or without one.
`profiles`, `completion`: what this machine has for the command line."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from toolpulse.call import Call
from toolpulse.completing import VARIABLE
from toolpulse.declare import ByTool, command
from toolpulse.failures import FAILED
from toolpulse.targets import config_file, profiles_of, read_config

if TYPE_CHECKING:
    from services.container import Container

_MAX_SHOWN = 50
_READABLE_BY_OTHERS = 0o077
Shell = Literal["bash", "zsh", "fish", "powershell"]


def add_to(app: typer.Typer) -> None:
    command(app, "audit")(audit)
    command(app, "migrate")(migrate)
    command(app, "backup")(backup)
    command(app, "restore")(restore)
    command(app, "profiles")(profiles)
    command(app, "completion")(completion)


def audit(call: Call, tool: ByTool = None) -> int:
    """Compare what is stored with what it is counted from. Exits with 1 if there are differences."""
    from toolpulse import local

    target = call.data_folder("audit")
    checked, found = local.with_services(target, lambda app: _audited(app, call, tool))
    if call.out.form == "json":
        call.out.json({"checked": checked, "differences": found})
    elif call.out.form == "csv":
        call.out.rows(found, [], none="")
    else:
        if found:
            call.out.table(found[:_MAX_SHOWN], ["kind", "subject", "detail"])
        more = f", the first {_MAX_SHOWN} are shown" if len(found) > _MAX_SHOWN else ""
        print(f"{checked} documents checked, {len(found)} differences{more}")
    return FAILED if found else 0


async def _audited(app: Container, call: Call, tool: str | None) -> tuple[int, list[dict[str, Any]]]:
    tool_id = None if tool is None else (await app.tools.get(tool)).tool_id
    section, checked = "", 0
    found: list[dict[str, Any]] = []
    async for part in app.operations.audit.round(tool_id):
        if part.section != section:
            section = part.section
            call.out.say(f"{section} ...")
        checked += part.checked
        found += [dataclasses.asdict(each) for each in part.differences]
    return checked, found


def migrate(
    call: Call, only_list: Annotated[bool, typer.Option("--list", help="List the migrations and run none.")] = False
) -> None:
    """Run the migrations that have not been run on the store. The app of a data folder runs them itself."""
    from toolpulse import local

    target = call.data_folder("migrate")
    found = local.with_services(target, lambda app: _listed(app) if only_list else _migrated(app), migrate=False)
    none = "nothing to do: every migration has been run"
    call.out.rows(found, ["number", "name", "state", "about"], none=none)


async def _listed(app: Container) -> list[dict[str, Any]]:
    from services.operations.migrations import states

    return [dataclasses.asdict(each) for each in await states(app.store)]


async def _migrated(app: Container) -> list[dict[str, Any]]:
    from services.operations.migrations import run_pending

    return [{"number": each.number, "name": each.name, "state": "done", "about": each.about}
            async for each in run_pending(app.store, app.clock)]  # fmt: skip


def backup(call: Call, target: Annotated[Path, typer.Argument(help="A new folder for the backup.")]) -> None:
    """Copy the data folder, whose app may run, into a new folder."""
    from toolpulse import local

    data = call.data_folder("backup")
    with local.the_app():
        from scripts import backup as copies

        manifest = copies.backup(local.folder_of(data), target)
    _copied(call, manifest, target)


def restore(call: Call, source: Annotated[Path, typer.Argument(help="The folder of the backup.")]) -> None:
    """Put a backup into an empty data folder, all of it checked before."""
    from toolpulse import local

    data = call.data_folder("restore")
    with local.the_app():
        from scripts import backup as copies

        folder = local.folder_of(data)
        manifest = copies.restore(source, folder)
    _copied(call, manifest, folder)


def _copied(call: Call, manifest: Any, into: Path) -> None:
    found = {"folder": str(into), "files": len(manifest.files), "size_bytes": manifest.size_bytes,
             "made_at": f"{manifest.made_at:%Y-%m-%dT%H:%M:%SZ}", "not_included": manifest.not_included}  # fmt: skip
    call.out.item(found)


def profiles(call: Call) -> None:
    """List the profiles of the configuration file, without their keys."""
    path = config_file(os.environ)
    document = read_config(path)
    found = [
        {"profile": name, "app": each.get("url") or each["data"], "is_default": document.get("default") == name,
         "has_key": "key" in each, "has_management_key": "management_key" in each}
        for name, each in profiles_of(document, path).items()
    ]  # fmt: skip
    columns = ["profile", "app", "is_default", "has_key", "has_management_key"]
    call.out.rows(found, columns, none=f"There are no profiles in {path}.")
    has_keys = any(each["has_key"] or each["has_management_key"] for each in found)
    if os.name == "posix" and has_keys and path.stat().st_mode & _READABLE_BY_OTHERS:
        call.out.say(f"warning: others can read the keys in {path}: chmod 600 {path}")


def completion(call: Call, shell: Annotated[Shell, typer.Argument(help="For this shell.")]) -> None:
    """Print the completion script; `toolpulse completion bash >> ~/.bashrc` and the like install it."""
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name="toolpulse", complete_var=VARIABLE, shell=shell)
    sys.stdout.write(f"{script}\n")
