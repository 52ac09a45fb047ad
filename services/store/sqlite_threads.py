"""Where work on the embedded store's file is carried out: on the event loop, in the one writing thread, or in a reader.

A point read, and a single write when nobody holds the write lock, runs right on the event loop: it takes 10 to 50
microseconds and never an fsync, less than handing it to a thread would cost. Whatever may wait or take longer (a busy
lock, queries, batches) goes to threads. What the work is, is not known here.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from models.errors import Unavailable
from services.ports import Clock
from services.store.sqlite_file import (
    CACHE_KIB,
    WRITER_CACHE_KIB,
    Housekeeper,
    is_busy,
    open_connection,
    open_file,
    translated,
)

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

READING_THREADS = 4
MOST_CONNECTIONS = READING_THREADS + 3
"""Inline, the writer's, the readers' and the housekeeper's."""


class Threads:
    """Those of one event loop on one file; any number of others may be at it."""

    def __init__(self, path: Path, clock: Clock, wait_seconds: float, purge_seconds: float) -> None:
        self._path = path
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._purge_seconds = purge_seconds
        self._closed = False
        self._inline: sqlite3.Connection | None = None
        self._write_lock = threading.Lock()
        self._queued_writes = 0
        self._housekeeper: Housekeeper | None = None
        self._writer = ThreadPoolExecutor(1, "store-writer")
        self._readers = ThreadPoolExecutor(READING_THREADS, "store-reader")
        self._of_thread = threading.local()
        self._of_all_threads: list[sqlite3.Connection] = []

    async def opened(self) -> sqlite3.Connection:
        """The loop's own connection, when the file is there."""
        while self._inline is None:
            await self._run(self._writer, self._open)
        return self._inline

    async def read(self, work: Work[T], *, inline: bool = True) -> T:
        connection = self._inline or await self.opened()
        if inline:
            try:
                return work(connection)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise translated(error) from error
        return await self._in_thread(self._readers, work)

    async def write(self, work: Work[T], *, inline: bool) -> T:
        connection = self._inline or await self.opened()
        # Whoever waits in the queue goes first: an inline write could overtake it for ever.
        if inline and not self._queued_writes and self._write_lock.acquire(blocking=False):
            try:
                return work(connection)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise translated(error) from error
            finally:
                self._write_lock.release()
                self._note_write()
        return await self._in_writer(work)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    def _open(self) -> None:
        """Runs in the one writing thread, so that callers who come together, or are cancelled, open it once."""
        if self._inline is not None:
            return
        connection = open_file(self._path, self._wait_seconds)
        connection.execute("PRAGMA busy_timeout = 0")
        self._housekeeper = Housekeeper(self._path, self._clock, self._write_lock, self._purge_seconds)
        self._housekeeper.start()
        self._inline = connection

    async def _in_writer(self, work: Work[T]) -> T:
        """Writes that had to wait go one after the other, so that they wait for other processes only."""
        deadline = time.monotonic() + self._wait_seconds

        def locked(connection: sqlite3.Connection) -> T:
            with self._write_lock:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Unavailable(f"the store was busy for {self._wait_seconds:g} seconds")
                connection.execute(f"PRAGMA busy_timeout = {int(left * 1000) + 1}")
                return work(connection)

        self._queued_writes += 1
        try:
            return await self._in_thread(self._writer, locked)
        finally:
            self._queued_writes -= 1
            self._note_write()

    def _note_write(self) -> None:
        if self._housekeeper is not None:
            self._housekeeper.note_write()

    async def _in_thread(self, pool: ThreadPoolExecutor, work: Work[T]) -> T:
        if self._inline is None:
            await self.opened()

        def run() -> T:
            connection = getattr(self._of_thread, "connection", None)
            if connection is None:
                cache_kib = WRITER_CACHE_KIB if pool is self._writer else CACHE_KIB
                connection = self._of_thread.connection = open_connection(self._path, self._wait_seconds, cache_kib)
                self._of_all_threads.append(connection)
            return work(connection)

        return await self._run(pool, run)

    async def _run(self, pool: ThreadPoolExecutor, job: Callable[[], T]) -> T:
        if self._closed:
            raise Unavailable("the store is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, job)
        except sqlite3.Error as error:
            raise translated(error) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise Unavailable("the store is closed") from None  # closing took the job out of the queue
            raise

    def _close(self) -> None:
        for pool in (self._writer, self._readers):
            pool.shutdown(cancel_futures=True)
        if self._housekeeper is not None:
            self._housekeeper.stop()
        inline, self._inline = self._inline, None
        for connection in (*self._of_all_threads, inline):
            if connection is not None:
                connection.close()
