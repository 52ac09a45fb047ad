"""Writes docs/command-line.md: every command of toolpulse with its arguments and options, as its help says them.

python -m scripts.command_reference           write the page
python -m scripts.command_reference --check   exit with 1 if the page is not as it would be written
"""

from __future__ import annotations

import sys
from collections import Counter
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
    yield "## Exit codes\n"
    yield from (f"* {code}: {meaning}" for code, meaning in MEANINGS)


def _shared() -> Iterator[str]:
    yield "## Options of every command\n\nThey stand before the command, or after it.\n"
    (_, command), *_ = commands()
    yield from (_row(command, each) for each in command.params if each.name in SHARED)
    yield "\n## What several commands have\n\nTheir first lines name it.\n"
    yield from sorted(_repeated())


def _repeated() -> set[str]:
    """The rows that at least three commands have."""
    rows = Counter(_row(command, each) for _, command in commands() for each in _own(command))
    return {row for row, number in rows.items() if number > 2}


def _own(command: Any) -> list[Any]:
    """The arguments of a command, then its options."""
    own = [each for each in command.params if each.name not in (*SHARED, "help")]
    return sorted(own, key=lambda each: str(each.param_type_name))


def _commands() -> Iterator[str]:
    yield "## Commands"
    repeated = _repeated()
    for words, command in commands():
        usage, own = [PROGRAM, words], []
        for each in _own(command):
            row = _row(command, each)
            if row not in repeated:
                own.append(row)
            if each.required or each.param_type_name == "argument" or row in repeated:
                usage.append(_named(each))
        yield f"\n### {words}\n\n`{' '.join(usage)}`\n\n{' '.join((command.help or '').split())}"
        if own:
            yield "\n" + "\n".join(own)


def _named(parameter: Any) -> str:
    """As it stands in the first line of its command."""
    is_argument = parameter.param_type_name == "argument"
    name = str(parameter.metavar or parameter.name.upper()) if is_argument else parameter.opts[0]
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _row(command: Any, parameter: Any) -> str:
    """As the help of the command has it, but for "[required]", which the first line shows."""
    left, right = parameter.get_help_record(typer.Context(command))
    return f"* `{left.replace(' <str>', '')}`: {' '.join(right.removesuffix('[required]').split())}"


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
