"""Has a page read by extract_page.py in a process of its own, within limits of size and time."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services.documents.profiles import Profile

MAX_PAGE_BYTES = 5_000_000
"""Larger than nearly every article. Lists of everything and pages with their images inside are larger."""
SECONDS = 8.0
"""The longest time of the process. A usual page takes a twentieth of a second with its start."""
PAGES_AT_ONCE = 2

_TOO_SLOW = (-9, -24)
"""Exit codes: ended by SIGKILL or SIGXCPU."""
_NOT_THE_PAGE = (3, -1, -2, -15, 0xC000013A)
"""The parser is not installed; or SIGHUP, SIGINT or SIGTERM (on Windows Ctrl-C), which end this app's processes
together."""

_PROGRAM = Path(__file__).with_name("extract_page.py")


@dataclass(frozen=True, slots=True)
class PageContent:
    """What is on a page. `text` has one paragraph in a line. `meta` are its metadata by name in small letters, `shape`
    is what the pages of one site have in common. `main_found`: the profile's selector was found. `free` is false if
    the page says that its text is not; `paywall` and `consent`: it has elements that are named so."""

    encoding: str
    title: str
    headings: Sequence[str]
    base: str
    canonical: str
    amphtml: str
    meta: Mapping[str, str]
    shape: str
    free: bool
    paywall: bool
    consent: bool
    main_found: bool
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NotRead:
    """The page could not be read: it took too long or too much memory, or the parser failed."""

    reason: str


class ReaderStopped(Exception):
    """The process could not do its work, through no fault of the page: the page is to be read later."""


class PageReader:
    """Reads pages in processes of their own."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._at_once = asyncio.Semaphore(PAGES_AT_ONCE)

    async def read(self, body: bytes, charset: str, profile: Profile) -> PageContent | NotRead:
        request = {"charset": charset, "main": profile.main, "drop": list(profile.drop)}
        async with self._at_once:
            return await asyncio.to_thread(self._run, json.dumps(request).encode() + b"\n" + body)

    def _run(self, given: bytes) -> PageContent | NotRead:
        # The child finds packages where this process does. It gets no setting: none is its business.
        environment = {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each), **_system_variables()}
        try:
            done = subprocess.run(  # noqa: S603 - our own program; the page is its input
                [sys.executable, "-S", str(_PROGRAM)],
                input=given,
                capture_output=True,
                timeout=self._seconds,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return NotRead("EXTRACTION_TOO_SLOW")
        except OSError as error:
            raise ReaderStopped(f"no process could be started: {error}") from error
        if done.returncode in _NOT_THE_PAGE:
            said = done.stderr.decode("utf-8", "replace").strip()[-500:]
            raise ReaderStopped(f"the process that reads pages ended with {done.returncode}: {said}")
        if done.returncode:
            return NotRead("EXTRACTION_TOO_SLOW" if done.returncode in _TOO_SLOW else "EXTRACTION_FAILED")
        found: dict[str, Any] = json.loads(done.stdout)
        return PageContent(**found)


def _system_variables() -> dict[str, str]:
    """Variables without which a process does not start on some systems."""
    wanted = ("SYSTEMROOT", "PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "TEMP", "TMP")
    return {name: os.environ[name] for name in wanted if name in os.environ}
