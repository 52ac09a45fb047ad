"""How a command is declared: its name, its function and its help text."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from services.container import Container

if TYPE_CHECKING:
    Parsers = argparse._SubParsersAction[argparse.ArgumentParser]

Command = Callable[[Container, argparse.Namespace], Awaitable[int]]
"""Returns the exit code."""


class Group:
    """The commands below one word, or at the top level."""

    def __init__(self, parser: argparse.ArgumentParser, metavar: str) -> None:
        self._parsers: Parsers = parser.add_subparsers(required=True, metavar=metavar)

    def command(self, name: str, run: Command, about: str) -> argparse.ArgumentParser:
        added = self._parsers.add_parser(name, help=about, description=about)
        added.set_defaults(run=run)
        return added

    def group(self, name: str, about: str) -> Group:
        return Group(self._parsers.add_parser(name, help=about), "WHAT")
