"""Serves feeds on loopback from memory: `python -m benchmarks.feed_server FOLDER DELAY_MS` prints its port.

FOLDER holds one folder for each corpus. `/serve/CORPUS/1` changes to that corpus, with validators or (0) without.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from pathlib import Path

HOSTS = [f"127.0.0.{number}" for number in range(1, 201)]
"""Feeds are on many hosts, as they are in life: nobody should crowd one."""

BACKLOG = 1024


class Corpora:
    def __init__(self, folder: Path) -> None:
        self._bodies: dict[tuple[str, str], tuple[bytes, bytes]] = {}
        for path in folder.glob("*/*.xml"):
            body = path.read_bytes()
            etag = b'"%s"' % hashlib.md5(body, usedforsecurity=False).hexdigest().encode()
            self._bodies[path.parent.name, path.name] = body, etag
        self._corpus, self._validators = "base", True

    def answer(self, path: str, head: bytes) -> bytes:
        if path.startswith("/serve/"):
            _, _, self._corpus, validators = path.split("/")
            self._validators = validators == "1"
            return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        body, etag = self._bodies[self._corpus, path[1:]]
        if not self._validators:
            return b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        if etag in head:
            return b"HTTP/1.1 304 Not Modified\r\nETag: %s\r\n\r\n" % etag
        fields = b"Content-Type: text/xml\r\nETag: %s\r\nContent-Length: %d" % (etag, len(body))
        return b"HTTP/1.1 200 OK\r\n%s\r\n\r\n%s" % (fields, body)


async def main(folder: Path, delay_seconds: float) -> None:
    corpora = await asyncio.to_thread(Corpora, folder)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                await asyncio.sleep(0 if path.startswith("/serve/") else delay_seconds)
                writer.write(corpora.answer(path, head))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it has what it wanted
        finally:
            writer.close()

    first = await asyncio.start_server(handle, HOSTS[0], 0, backlog=BACKLOG)
    port = first.sockets[0].getsockname()[1]
    others = await asyncio.start_server(handle, HOSTS[1:], port, backlog=BACKLOG)
    print(port, flush=True)
    await asyncio.gather(first.serve_forever(), others.serve_forever())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2]) / 1000))
