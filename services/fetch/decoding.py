"""Bodies within bounds: decoded piece by piece, so that a bomb is noticed before it has cost memory or time. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Literal

Problem = Literal["too_large", "corrupt", "unknown_encoding"]

STEP_BYTES = 256 * 1024
RATIO_FROM_BYTES = 1024 * 1024
MOST_RATIO = 100
"""A feed compresses to a tenth or twentieth; a bomb to a thousandth. Small bodies may be as regular as they like."""
MOST_MEMBERS = 64

GZIP_MAGIC = b"\x1f\x8b"


class BoundedDecoder:
    """Takes the bytes of one body in turn. After a `problem` nothing more is taken.

    Servers lie about Content-Encoding: what is called gzip but is not is passed on as it is, and a file that was
    compressed beforehand and is sent without saying so is read.
    """

    def __init__(self, encoding: str, most_bytes: int) -> None:
        self.problem: Problem | None = None
        self.received_bytes = 0
        self._encoding = encoding.strip().lower()
        self._most = most_bytes
        self._decoded = bytearray()
        self._head: bytes | None = b""
        self._inflater: zlib._Decompress | None = None
        self._members = 0
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            self.problem = "unknown_encoding"

    def feed(self, chunk: bytes) -> Iterator[int]:
        """Has to be gone through: yields how many bytes are held, before it holds many more."""
        if self.problem:
            return
        self.received_bytes += len(chunk)
        if self.received_bytes > self._most:
            self.problem = "too_large"
            return
        if self._head is not None:
            chunk = self._head + chunk
            if len(chunk) < 2:
                self._head = chunk
                return
            self._begin(chunk)
        yield from self._take(chunk)

    def finish(self) -> bytes | None:
        """The whole body, or None with the `problem`."""
        if self.problem is None and self._head:
            self._keep(self._head)
        if self.problem is None and self._inflater is not None and not self._inflater.eof:
            self.problem = "corrupt"
        return None if self.problem else bytes(self._decoded)

    def _begin(self, start: bytes) -> None:
        self._head = None
        if start.startswith(GZIP_MAGIC):
            self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        elif self._encoding == "deflate":
            # RFC 9110 means zlib's format, but a good many servers send the bare stream.
            wrapped = start[0] & 0x0F == 8 and (start[0] << 8 | start[1]) % 31 == 0
            self._inflater = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)

    def _take(self, chunk: bytes) -> Iterator[int]:
        if self._inflater is None:
            self._keep(chunk)
            yield len(self._decoded)
            return
        while self.problem is None:
            if self._inflater.eof and not self._next_member(chunk):
                return
            try:
                decoded = self._inflater.decompress(chunk, STEP_BYTES)
            except zlib.error:
                self.problem = "corrupt"
                return
            self._keep(decoded)
            yield len(self._decoded)
            chunk = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
            # All input may be taken while output is still held back: only a step that was not full was the last.
            if not chunk and len(decoded) < STEP_BYTES:
                return

    def _next_member(self, rest: bytes) -> bool:
        """Whether `rest`, after the end of one gzip member, begins another; what else follows is padding."""
        if not rest.startswith(GZIP_MAGIC):
            return False
        self._members += 1
        if self._members > MOST_MEMBERS:
            self.problem = "corrupt"
            return False
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return True

    def _keep(self, decoded: bytes) -> None:
        size = len(self._decoded) + len(decoded)
        if size > self._most or size > max(RATIO_FROM_BYTES, self.received_bytes * MOST_RATIO):
            self.problem = "too_large"
            self._decoded.clear()
            return
        self._decoded += decoded
