"""robots.txt of the hosts of pages: read with Protego, and kept by each worker for a day.

As RFC 9309 says: no file (4xx) allows everything; a server that fails allows nothing until it answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from yarl import URL

from services.fetch.addresses import checked_url
from services.fetch.outcome import NOT_TRIED, FetchRequest, FetchStatus
from services.ports import Clock

if TYPE_CHECKING:
    from services.fetch.fetcher import Fetcher

KEPT = timedelta(hours=24)
KEPT_UNREACHABLE = timedelta(minutes=30)
MAX_BYTES = 500 * 1024
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


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the page may be fetched. `allowed` is None if the host could not be asked: then `wait` is for how long,
    and `not_tried` says that no request was sent. `delay_seconds` is the pause that the host asks for between two
    requests."""

    allowed: bool | None
    wait: timedelta = KEPT_UNREACHABLE
    not_tried: bool = False
    delay_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _File:
    """The robots.txt of one host until it is asked for again: its rules, unless every page has the same `decision`."""

    until: datetime
    rules: Any = None
    decision: Decision | None = None


def agents_of(user_agents: Sequence[str]) -> tuple[str, ...]:
    """The product names of User-Agent headers, such as toolpulse of `toolpulse/1.0 (+https://…)`."""
    found = (_TOKEN.match(each.strip()) for each in user_agents)
    return tuple(dict.fromkeys(each[0] for each in found if each)) or ("toolpulse",)


def _text_of(body: bytes) -> str:
    """The rules, without what Protego does not expect: a byte order mark, which would hide the first line, and the
    versions of names, such as `toolpulse/1.0`."""
    text = _NO_TEXT.sub("", body[:MAX_BYTES].decode("utf-8-sig", "ignore"))
    return _VERSION.sub(r"\1", text)


class Robots:
    """Decides which pages may be fetched. `agents` are the names by which this app looks for its rules: all of them
    must be allowed."""

    def __init__(self, fetcher: Fetcher, agents: Sequence[str], clock: Clock) -> None:
        self._fetcher = fetcher
        self._agents = tuple(agents)
        self._clock = clock
        self._files: dict[str, _File] = {}

    async def decide(self, url: str) -> Decision:
        checked = checked_url(url)
        if isinstance(checked, str):
            return Decision(allowed=False)
        origin, now = str(checked.origin()), self._clock()
        file = self._files.get(origin)
        if file is None or not now < file.until <= now + KEPT:
            self._files.pop(origin, None)
            file = self._files[origin] = await self._fetched(origin)
            if len(self._files) > MAX_KEPT:
                del self._files[next(iter(self._files))]
        if file.decision is not None:
            return file.decision
        allowed = all(file.rules.can_fetch(str(checked), each) for each in self._agents)
        delays = [delay for each in self._agents if (delay := file.rules.crawl_delay(each)) is not None]
        return Decision(allowed, delay_seconds=min(max(delays), MAX_DELAY_SECONDS) if delays else None)

    async def _fetched(self, origin: str) -> _File:
        from protego import Protego

        result = await self._fetcher.fetch(FetchRequest(str(URL(origin) / "robots.txt"), accept="text/plain,*/*;q=0.5"))
        now = self._clock()
        if result.body is not None:
            return _File(now + KEPT, rules=Protego.parse(_text_of(result.body)))
        if result.status in _NO_FILE:
            return _File(now + KEPT, decision=Decision(allowed=True))
        if result.status in NOT_TRIED:
            wait = KEPT_UNREACHABLE if result.retry_after is None else timedelta(seconds=result.retry_after)
            return _File(now, decision=Decision(allowed=None, wait=wait, not_tried=True))
        return _File(now + KEPT_UNREACHABLE, decision=Decision(allowed=None))
