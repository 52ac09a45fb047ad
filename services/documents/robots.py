"""robots.txt of the hosts of pages: read with Protego, kept for a day in the store, for all workers.

As RFC 9309 says: no file (4xx) allows everything; a server that fails allows nothing until it answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from yarl import URL

from models.errors import UnreadableDocument
from models.robots import RobotsFile, RobotsOutcome
from models.values import unix_seconds
from services.fetch.addresses import checked_url
from services.fetch.outcome import NOT_TRIED, FetchRequest, FetchResult, FetchStatus
from services.ports import Clock, Store
from services.store.containers import CATALOG

if TYPE_CHECKING:
    from services.fetch.fetcher import Fetcher

KEPT = timedelta(hours=24)
KEPT_UNREACHABLE = timedelta(minutes=30)
MOST_BYTES = 500 * 1024
"""RFC 9309 asks for 500 KiB at least; what comes after is ignored."""
MOST_DELAY_SECONDS = 30.0
MOST_PARSED = 200
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]+")
_VERSION = re.compile(r"^([ \t]*user-agent[ \t]*:[ \t]*[a-z_-]+)/\S*", re.IGNORECASE | re.MULTILINE)
_TOKEN = re.compile(r"[A-Za-z_-]+")
_NO_FILE = (FetchStatus.NOT_FOUND, FetchStatus.GONE, FetchStatus.UNAUTHORIZED, FetchStatus.CLIENT_ERROR)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the page may be fetched. `allowed` is None if the host could not be asked: then `wait` is for how long,
    and `not_tried` says that no request was sent. `delay_seconds` is the pause that the host asks for between two
    requests."""

    allowed: bool | None
    wait: timedelta = KEPT_UNREACHABLE
    not_tried: bool = False
    delay_seconds: float | None = None


def agents_of(user_agents: Sequence[str]) -> tuple[str, ...]:
    """The product names of User-Agent headers, such as toolpulse of `toolpulse/1.0 (+https://…)`."""
    found = (_TOKEN.match(each.strip()) for each in user_agents)
    return tuple(dict.fromkeys(each[0] for each in found if each)) or ("toolpulse",)


def _text_of(body: bytes) -> str:
    """The rules, without what Protego does not expect: a byte order mark, which would hide the first line, and the
    versions of names, such as `toolpulse/1.0`."""
    text = _NO_TEXT.sub("", body[:MOST_BYTES].decode("utf-8-sig", "ignore"))
    return _VERSION.sub(r"\1", text)


class Robots:
    """`agents` are the names by which this app looks for its rules: all of them must be allowed."""

    def __init__(self, store: Store, fetcher: Fetcher, agents: Sequence[str], clock: Clock) -> None:
        self._store = store
        self._fetcher = fetcher
        self._agents = tuple(agents)
        self._clock = clock
        self._parsed: dict[str, tuple[RobotsFile, Any]] = {}

    async def decide(self, url: str) -> Decision:
        checked = checked_url(url)
        if isinstance(checked, str):
            return Decision(allowed=False)
        origin = str(checked.origin())
        file = await self._file(origin)
        if isinstance(file, Decision):
            return file
        if file.outcome == "UNREACHABLE":
            return Decision(allowed=None)
        if file.outcome == "NONE":
            return Decision(allowed=True)
        rules = self._rules(origin, file)
        allowed = all(rules.can_fetch(str(checked), each) for each in self._agents)
        delays = [delay for each in self._agents if (delay := rules.crawl_delay(each)) is not None]
        return Decision(allowed, delay_seconds=min(max(delays), MOST_DELAY_SECONDS) if delays else None)

    async def _file(self, origin: str) -> RobotsFile | Decision:
        known = self._parsed.get(origin)
        now = unix_seconds(self._clock())
        if known is not None and (known[0].ttl_timestamp or 0) > now:
            return known[0]
        key = RobotsFile.partition_of(origin)
        stored = await self._store.read(CATALOG.name, key, RobotsFile.ID)
        if stored is not None:
            try:
                return RobotsFile.from_document(stored)
            except UnreadableDocument:
                pass  # it is fetched anew, and overwritten
        result = await self._fetcher.fetch(FetchRequest(str(URL(origin) / "robots.txt"), accept="text/plain,*/*;q=0.5"))
        if result.status in NOT_TRIED:
            wait = KEPT_UNREACHABLE if result.retry_after is None else timedelta(seconds=result.retry_after)
            return Decision(allowed=None, wait=wait, not_tried=True)
        fetched = self._file_of(origin, result)
        await self._store.upsert(CATALOG.name, fetched.to_document())
        return fetched

    def _file_of(self, origin: str, result: FetchResult) -> RobotsFile:
        now, kept, text = self._clock(), KEPT, None
        outcome: RobotsOutcome = "UNREACHABLE"
        if result.body is not None:
            outcome, text = "RULES", _text_of(result.body)
        elif result.status in _NO_FILE or result.status is FetchStatus.FETCHED:
            outcome = "NONE"
        else:
            kept = KEPT_UNREACHABLE
        return RobotsFile(
            created_at=now,
            updated_at=now,
            ttl_timestamp=unix_seconds(now + kept),
            origin=origin,
            outcome=outcome,
            text=text or None,
        )

    def _rules(self, origin: str, file: RobotsFile) -> Any:
        """The rules as Protego reads them, kept by this process while the file stays the same."""
        from protego import Protego

        known = self._parsed.get(origin)
        if known is None or known[0].updated_at != file.updated_at:
            self._parsed.pop(origin, None)
            self._parsed[origin] = known = (file, Protego.parse(file.text or ""))
            if len(self._parsed) > MOST_PARSED:
                del self._parsed[next(iter(self._parsed))]
        return known[1]
