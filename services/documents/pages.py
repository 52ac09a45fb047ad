"""Fetches the page of a document, if robots.txt allows it, has extract_page.py read it in a process of its own, within
limits of size and time, and judges it. Follows one canonical or AMP link.

As RFC 9309 says of robots.txt: no file (4xx) allows everything; a server that fails allows nothing until it answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yarl import URL

from models.document import SkipReason
from services.documents.judging import NotRead, PageContent, PageFinding, Text, Unknown, Wanted, Withheld, judge
from services.documents.profiles import Profile, Profiles
from services.fetch.addresses import checked_url
from services.fetch.outcome import NOT_TRIED, FetchRequest, FetchResult, FetchStatus
from services.parse.feed import charset_in
from services.ports import Clock

if TYPE_CHECKING:
    from services.fetch.fetcher import Fetcher

PAGE_TYPES = "text/html, application/xhtml+xml;q=0.9, */*;q=0.1"
HTML = ("text/html", "application/xhtml+xml")
_SKIPPED: dict[FetchStatus, SkipReason] = {
    FetchStatus.GONE: "GONE",
    FetchStatus.UNAUTHORIZED: "REFUSED",
    FetchStatus.CLIENT_ERROR: "REFUSED",
    FetchStatus.REFUSED_ADDRESS: "REFUSED",
    FetchStatus.INVALID_URL: "REFUSED",
    FetchStatus.TOO_LARGE: "TOO_LARGE",
}
_PAYMENT_REQUIRED = 402

MAX_PAGE_BYTES = 5_000_000
"""Larger than nearly every article. Lists of everything and pages with their images inside are larger."""
SECONDS = 8.0
"""The longest time of the process. A usual page takes a twentieth of a second with its start."""
PAGES_AT_ONCE = 2

_TOO_SLOW = (-9, -24)
"""Exit codes: ended by SIGKILL or SIGXCPU."""
_NOT_THE_PAGE = (-1, -2, -15, 0xC000013A)
"""SIGHUP, SIGINT or SIGTERM (on Windows Ctrl-C), which end this app's processes together."""

_PROGRAM = Path(__file__).with_name("extract_page.py")

RULES_KEPT = timedelta(hours=24)
RULES_UNREACHABLE = timedelta(minutes=30)
MAX_RULES_BYTES = 500 * 1024
"""RFC 9309 asks for 500 KiB at least; what comes after is ignored."""
MAX_DELAY_SECONDS = 30.0
MAX_KEPT = 500
"""The hosts of which a worker keeps the file."""
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]+")
_VERSION = re.compile(r"^([ \t]*user-agent[ \t]*:[ \t]*[a-z_-]+)/\S*", re.IGNORECASE | re.MULTILINE)
_TOKEN = re.compile(r"[A-Za-z_-]+")
_NO_FILE = (
    *(FetchStatus.NOT_FOUND, FetchStatus.GONE, FetchStatus.UNAUTHORIZED, FetchStatus.CLIENT_ERROR),
    FetchStatus.FETCHED,
)


def agents_of(user_agents: Sequence[str]) -> tuple[str, ...]:
    """The product names of User-Agent headers, such as toolpulse of `toolpulse/1.0 (+https://…)`."""
    found = (_TOKEN.match(each.strip()) for each in user_agents)
    return tuple(dict.fromkeys(each[0] for each in found if each)) or ("toolpulse",)


def _text_of(body: bytes) -> str:
    """The rules, without what Protego does not expect: a byte order mark, which would hide the first line, and the
    versions of names, such as `toolpulse/1.0`."""
    text = _NO_TEXT.sub("", body[:MAX_RULES_BYTES].decode("utf-8-sig", "ignore"))
    return _VERSION.sub(r"\1", text)


@dataclass(frozen=True, slots=True)
class Failed:
    """A page that could not be fetched; it may be later. `not_tried`: no request was sent."""

    fingerprint: str
    wait: timedelta | None = None
    not_tried: bool = False
    error: str | None = None
    status_code: int | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """The robots.txt of one host, kept `until` then: Protego's rules, or why the host cannot be asked for pages."""

    until: datetime
    rules: Any


@dataclass
class Robots:
    """Decides which pages may be fetched. `agents` are the names by which this app looks for its rules: all of them
    must be allowed."""

    fetcher: Fetcher
    agents: Sequence[str]
    clock: Clock
    _files: dict[str, _Kept] = field(default_factory=dict, init=False)

    async def forbids(self, url: str) -> Withheld | Failed | None:
        """Why the page may not be fetched now; None if it may."""
        checked = checked_url(url)
        if isinstance(checked, str):
            return Withheld("ROBOTS")
        rules = await self._rules(checked.origin())
        if isinstance(rules, Failed):
            return rules
        return None if all(rules.can_fetch(str(checked), each) for each in self.agents) else Withheld("ROBOTS")

    async def delay_seconds(self, url: str) -> float:
        """The pause that the host asks for between two requests."""
        checked = checked_url(url)
        rules = None if isinstance(checked, str) else await self._rules(checked.origin())
        if rules is None or isinstance(rules, Failed):
            return 0.0
        return min(max(rules.crawl_delay(each) or 0.0 for each in self.agents), MAX_DELAY_SECONDS)

    async def _rules(self, origin: URL) -> Any:
        now = self.clock()
        kept = self._files.pop(str(origin), None)
        if kept is None or not now < kept.until <= now + RULES_KEPT:
            kept = await self._fetched(origin)
        self._files[str(origin)] = kept
        if len(self._files) > MAX_KEPT:
            del self._files[next(iter(self._files))]
        return kept.rules

    async def _fetched(self, origin: URL) -> _Kept:
        from protego import Protego

        result = await self.fetcher.fetch(FetchRequest(str(origin / "robots.txt"), accept="text/plain,*/*;q=0.5"))
        now = self.clock()
        if result.body is not None or result.status in _NO_FILE:
            return _Kept(now + RULES_KEPT, Protego.parse(_text_of(result.body or b"")))
        if result.status in NOT_TRIED:
            wait = RULES_UNREACHABLE if result.retry_after is None else timedelta(seconds=result.retry_after)
            return _Kept(now, Failed("ROBOTS_UNREACHABLE", wait, not_tried=True))
        return _Kept(now + RULES_UNREACHABLE, Failed("ROBOTS_UNREACHABLE", RULES_UNREACHABLE))


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page that may be stored, with what it is."""

    url: str
    body: bytes
    content_type: str
    etag: str | None
    verdict: Text | Unknown
    status_code: int | None = None


Outcome = Fetched | Withheld | Failed


@dataclass(frozen=True, slots=True)
class PageFetch:
    """Fetches pages one by one."""

    fetcher: Fetcher
    robots: Robots
    profiles: Profiles
    reader: PageReader

    async def fetch(self, wanted: Wanted) -> Outcome:
        """The page, or that of its canonical or AMP address if only that one has the text."""
        first = await self._page(wanted)
        follow = first.verdict.follow if isinstance(first, Fetched) and isinstance(first.verdict, Unknown) else None
        follow = first.follow if isinstance(first, Withheld) else follow
        if follow is None:
            return first
        second = await self._page(replace(wanted, url=follow))
        if isinstance(second, Fetched) and isinstance(second.verdict, Text):
            notes = (*second.verdict.extracted["normalization_notes"], f"read from {follow[:300]}")
            text = replace(second.verdict, extracted={**second.verdict.extracted, "normalization_notes": notes})
            return replace(second, verdict=text)
        return first

    async def _page(self, wanted: Wanted) -> Outcome:
        forbidden = await self.robots.forbids(wanted.url)
        if forbidden is not None:
            return forbidden
        result = await self.fetcher.fetch(FetchRequest(wanted.url, accept=PAGE_TYPES))
        if result.body is None:
            return _without_body(result)
        forbidden = await self.robots.forbids(result.url) if result.url != wanted.url else None
        if isinstance(forbidden, Failed):
            return replace(forbidden, not_tried=False)  # the page was asked for
        return forbidden or await self._usable(result, result.body, replace(wanted, url=result.url))

    async def _usable(self, result: FetchResult, body: bytes, wanted: Wanted) -> Outcome:
        content_type = (result.content_type or "").strip() or "text/html"
        if content_type.partition(";")[0].strip().lower() not in HTML:
            return Withheld("NOT_HTML")
        if len(body) > MAX_PAGE_BYTES:
            return Withheld("TOO_LARGE")
        verdict = await self.judged(body, content_type, wanted, result.robots_tag or "")
        if isinstance(verdict, Withheld):
            return verdict
        return Fetched(result.url, body, content_type[:200], result.etag, verdict, result.status_code)

    async def judged(self, body: bytes, content_type: str, wanted: Wanted, robots_tag: str = "") -> PageFinding:
        """What the page is, by the profile of its host."""
        profile = self.profiles.of(wanted.url)
        page = await self.reader.read(body, charset_in(content_type), profile)
        return judge(page, wanted, profile, robots_tag, self.robots.agents)


def _without_body(result: FetchResult) -> Outcome:
    if result.status_code == _PAYMENT_REQUIRED:
        return Withheld("PAYWALL")
    skipped = _SKIPPED.get(result.status)
    if skipped is not None:
        return Withheld(skipped)
    wait = timedelta(seconds=result.retry_after) if result.retry_after is not None else None
    fingerprint = (result.fingerprint or result.status.value).upper()
    return Failed(fingerprint, wait, result.status in NOT_TRIED, result.error, result.status_code)


class ReaderStopped(Exception):
    """The process could not do its work, through no fault of the page: the page is to be read later."""


class PageReader:
    """Reads pages in processes of their own."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._at_once = asyncio.Semaphore(PAGES_AT_ONCE)

    async def read(self, body: bytes, charset: str, profile: Profile) -> PageContent | NotRead:
        request = {"charset": charset, "main": profile.main or "", "drop": list(profile.drop)}
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
        return PageContent(**json.loads(done.stdout))


def _system_variables() -> dict[str, str]:
    """Variables without which a process does not start on some systems."""
    wanted = ("SYSTEMROOT", "PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "TEMP", "TMP")
    return {name: os.environ[name] for name in wanted if name in os.environ}
