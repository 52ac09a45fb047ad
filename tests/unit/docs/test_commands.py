"""README.md and docs/api.md list the commands of scripts/dev.py and scripts/cli.py."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from scripts import cli

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found.update(action.choices)
    return found


def test_the_readme_lists_every_command_of_dev() -> None:
    source = (ROOT / "scripts" / "dev.py").read_text(encoding="utf-8")
    assert set(re.findall(r"scripts/dev\.py (\w+)", README)) == set(re.findall(r'add_parser\("(\w+)"', source))


def test_the_readme_lists_every_option_of_run() -> None:
    command = [sys.executable, "scripts/dev.py", "run", "--help"]
    options = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.partition(
        "options:"
    )[2]
    table = README.partition("## Run it")[2].partition("## ")[0]
    listed = [
        name for row in re.findall(r"^\| (`--.*?) \|", table, re.MULTILINE) for name in re.findall(r"--[\w-]+", row)
    ]
    assert set(listed) == set(re.findall(r"--[\w-]+", options)) - {"--help"}


def test_the_api_page_lists_every_command_of_the_command_line() -> None:
    rows = re.findall(r"^\| (`cli\.py .*?) \|", API, re.MULTILINE)
    listed: list[str] = []
    for row in rows:
        first, *others = re.findall(r"`([^`]*)`", row)
        words = first.removeprefix("cli.py ").split()
        named = (
            words[:2]
            if words[0] in ("feeds", "tools", "corrections", "stories", "quarantine", "documents", "runs")
            else words[:1]
        )
        listed += [" ".join(named), *(f"{named[0]} {other.split()[0]}" for other in others)]
    commands = [
        f"{group} {name}".strip()
        for group, parser in subcommands(cli.parser()).items()
        for name in (subcommands(parser) or [""])
    ]
    assert sorted(listed) == sorted(commands)
