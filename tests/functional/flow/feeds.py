"""Feeds over HTTP on loopback addresses, one host for each: every feed has entries that a test can change."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape

FIRST = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2)
_TEXT = "the maintainers have said today that this version is out and whoever upgrades will find it quicker. " * 4


@dataclass(frozen=True)
class Entry:
    headline: str
    link: str
    text: str = _TEXT

    def xml(self, at: datetime) -> str:
        return (
            f"<item><title>{escape(self.headline)}</title><link>{self.link}</link><guid>{self.link}</guid>"
            f"<pubDate>{format_datetime(at)}</pubDate><description>{escape(self.text)}</description></item>"
        )


@dataclass
class Feeds:
    """`entries` by the name of a feed, the newest first. `requests` counts the fetches of each."""

    port: int = 0
    entries: dict[str, list[Entry]] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    _bodies: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)

    def url(self, name: str) -> str:
        number = list(self.entries).index(name)
        return f"http://127.0.{number // 200}.{number % 200 + 1}:{self.port}/{name}.xml"

    def publish(self, name: str, entries: Iterable[Entry]) -> None:
        self.entries[name] = [*entries, *self.entries.get(name, [])]
        found = self.entries[name]
        items = "".join(each.xml(FIRST - timedelta(minutes=n)) for n, each in enumerate(found))
        head = f"<title>{name}</title><link>http://{name}.example/</link><description>news</description>"
        body = f'<?xml version="1.0"?><rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()
        self._bodies[name] = body, b'"%s"' % hashlib.md5(body, usedforsecurity=False).hexdigest().encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while head := await reader.readuntil(b"\r\n\r\n"):
                    name = head.split(b" ", 2)[1].decode().strip("/").removesuffix(".xml")
                    self.requests[name] = self.requests.get(name, 0) + 1
                    writer.write(self._answer(*self._bodies[name], head))
                    await writer.drain()
        finally:
            writer.close()

    @staticmethod
    def _answer(body: bytes, etag: bytes, head: bytes) -> bytes:
        if etag in head:
            return b"HTTP/1.1 304 Not Modified\r\nETag: %s\r\n\r\n" % etag
        fields = b"Content-Type: text/xml\r\nETag: %s\r\nContent-Length: %d" % (etag, len(body))
        return b"HTTP/1.1 200 OK\r\n%s\r\n\r\n%s" % (fields, body)


@asynccontextmanager
async def serving() -> AsyncIterator[Feeds]:
    """On every address of this machine: all of 127.0.0.0/8 is."""
    feeds = Feeds()
    server = await asyncio.start_server(feeds.serve, "0.0.0.0", 0, backlog=1024)
    feeds.port = server.sockets[0].getsockname()[1]
    try:
        yield feeds
    finally:
        server.close()
