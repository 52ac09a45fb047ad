"""README.md lists the commands of scripts/dev.py, docs/command-line.md those of toolpulse."""

import re
import subprocess
import sys
from pathlib import Path

from scripts import command_reference, openapi

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")


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


def test_the_page_of_the_command_line_has_every_command_as_its_help_describes_it() -> None:
    page = command_reference.PAGE.read_text(encoding="utf-8")
    assert page == command_reference.written(page), "python -m scripts.command_reference writes the page"


def test_the_command_line_has_the_present_contract() -> None:
    written = openapi.COMMANDS.read_text(encoding="utf-8")
    assert written == openapi.text(openapi.of_commands()), "python -m scripts.openapi --commands writes it"


def test_pages_name_commands_that_exist() -> None:
    known = {words for words, _ in command_reference.commands()}
    groups = {words.partition(" ")[0] for words in known}
    named = set()
    for page in (*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("config/*")):
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"(?:`|bin/)toolpulse ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)", text)
        named |= {words for words in found if words.partition(" ")[0] in groups}
    assert named
    wrong = {words for words in named if words not in known and words.partition(" ")[0] not in known}
    assert wrong == set()
