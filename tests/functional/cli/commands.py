"""`toolpulse` as a person runs it: in this process, so that a command takes milliseconds, with what it printed."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from toolpulse.main import main

NAMES = ("TOOLPULSE_URL", "TOOLPULSE_PROFILE", "TOOLPULSE_KEY", "TOOLPULSE_MANAGEMENT_KEY", "TOOLPULSE_CONFIG")


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """The variables of the command line are these and no others."""
    before = {name: os.environ.pop(name) for name in (*NAMES, *values) if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in (*NAMES, *values):
            os.environ.pop(name, None)
        os.environ.update(before)


@dataclass
class Cli:
    """`options` stand before each command; `said` is what the last command printed to stderr."""

    options: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=lambda: {"TOOLPULSE_CONFIG": "/nonexistent/config.toml"})
    said: str = ""

    async def run(self, *arguments: str, code: int = 0) -> str:
        """What it prints; fails if it ends with another code."""
        return await asyncio.to_thread(self.run_now, *arguments, code=code)

    def run_now(self, *arguments: str, code: int = 0) -> str:
        out, errors = io.StringIO(), io.StringIO()
        with environment(self.variables), redirect_stdout(out), redirect_stderr(errors):
            ended = main([*self.options, *arguments])
        self.said = errors.getvalue()
        assert ended == code, (ended, out.getvalue(), self.said)
        return out.getvalue()

    async def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(await self.run(*arguments, "--json", code=code))

    async def told(self, *arguments: str, code: int = 0) -> str:
        """All that it prints, results and notes."""
        return await self.run(*arguments, code=code) + self.said
