"""Writes docs/command-line.md: every command of toolpulse with its arguments and options, as its help says them.

python -m scripts.command_reference           write the page
python -m scripts.command_reference --check   exit with 1 if the page is not as it would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from toolpulse.declare import SHARED
from toolpulse.failures import MEANINGS
from toolpulse.main import PROGRAM, application

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"
BEGIN = "<!-- generated: python -m scripts.command_reference -->"


def commands() -> Iterator[tuple[str, Any]]:
    """Each command with its words, in the order of the alphabet."""
    root: Any = typer.main.get_command(application())
    for name, found in sorted(root.commands.items()):
        if hasattr(found, "commands"):
            for below, each in sorted(found.commands.items()):
                yield f"{name} {below}", each
        else:
            yield name, found


def reference() -> str:
    return "\n".join([BEGIN, "", *_exit_codes(), "", *_shared(), "", *_commands()]).rstrip() + "\n"


def _exit_codes() -> Iterator[str]:
    yield "## Exit codes\n\n| code | |\n|---|---|"
    for code, meaning in MEANINGS:
        yield f"| {code} | {meaning.replace('|', chr(92) + '|')} |"


def _shared() -> Iterator[str]:
    yield "## Options of every command\n\nThey stand before the command, or after it.\n\n| option | |\n|---|---|"
    (_, command), *_ = commands()
    for option in (each for each in command.params if each.name in SHARED):
        yield _row(command, option)


def _commands() -> Iterator[str]:
    yield "## Commands"
    for words, command in commands():
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        options = [each for each in command.params if each.param_type_name == "option" and each.name not in SHARED]
        usage = " ".join([PROGRAM, words, *(_argument(each) for each in arguments)])
        yield f"\n### {words}\n\n`{usage}`\n\n{' '.join((command.help or '').split())}"
        rows = [_row(command, each) for each in (*arguments, *options) if each.name != "help"]
        if rows:
            yield "\n| | |\n|---|---|"
            yield from rows


def _argument(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _row(command: Any, parameter: Any) -> str:
    """As the help of the command has it."""
    left, right = parameter.get_help_record(typer.Context(command))
    texts = (left.replace(" <str>", ""), " ".join(right.split()))
    name, about = (text.replace("|", "\\|") for text in texts)
    return f"| `{name}` | {about} |"


def written(page: str) -> str:
    """The page with the reference as it is now."""
    return page.partition(BEGIN)[0] + reference()


def main(arguments: list[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in arguments:
        return int(written(page) != page)
    PAGE.write_text(written(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
