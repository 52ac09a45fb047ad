"""`profiles`: the apps that the configuration file names. `completion`: words that the shell completes."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Literal

import typer

from toolpulse.call import Call
from toolpulse.completing import VARIABLE
from toolpulse.declare import command
from toolpulse.targets import config_file, profiles_of, read_config

Shell = Literal["bash", "zsh", "fish", "powershell"]
_READABLE_BY_OTHERS = 0o077


def add_to(app: typer.Typer) -> None:
    command(app, "profiles")(profiles)
    command(app, "completion")(completion)


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
