"""The embedded store's file and the threads that work on it: opening, connections, locks, errors, checkpoints.

A point read, and a single write when no other thread has the write lock, runs on the event loop: it takes 10 to 50
microseconds and never an fsync, less than handing it to a thread would cost. Work that may wait or take longer (a busy
lock, queries, batches) goes to threads. This module knows nothing of documents.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from shutil import disk_usage
from typing import TypeVar

from models.errors import Damaged, Unavailable, Unusable
from services.ports import Clock
from services.store import sqlite_sql

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

READING_THREADS = 4
MAX_CONNECTIONS = READING_THREADS + 3
"""The event loop's, the writer's, the readers' and the keeper's."""

KEEPER_WAITS_SECONDS = 0.25  # for another process's lock: our own writers may wait for the keeper meanwhile
PAGE_BYTES = 8192  # several documents, not one and an empty half
CACHE_KIB = 3_000
WRITER_CACHE_KIB = 8_000
"""Enough for all pages of a batch. With a smaller cache, pages of indexes are written twice and read again."""

LARGE_LOG_PAGES = 2048  # 16 MB

FAILED_WRITE_SHOWN_FOR = timedelta(seconds=60)
"""On a full disk some writes succeed: those for which the file has room."""


_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_STOPS_WRITES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR)
_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR)


def _code(error: sqlite3.Error) -> int:
    # The low byte is the error, the other bytes are its reason. Errors of the Python module itself have no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def damaged(path: Path, why: object) -> Damaged:
    return Damaged(
        f"{path} is damaged, or no database of this program ({why}): "
        "restore a backup, or move its whole folder away to start with an empty store"
    )


def foreign(path: Path, why: object) -> Unusable:
    return Unusable(
        f"{path} is a database of another program ({why}): move the file away, or choose another data folder"
    )


def full(path: Path) -> Unusable:
    return Unusable(f"no space is left on the disk of {path}: make room")


def translated(error: sqlite3.Error, path: Path) -> Unavailable:
    code = _code(error)
    if is_busy(error):
        return Unavailable("the store was busy for longer than its budget", retry_after=1.0)
    if code in _DAMAGED:
        return damaged(path, error)
    if code == sqlite3.SQLITE_FULL:
        return full(path)
    if code in _NOT_WRITABLE:
        return Unusable(f"{path} cannot be used ({error}): check its rights and the space on its disk")
    return Unavailable(f"the store {path} failed: {error}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise


class Threads:
    """The connections of one event loop to one file, which other processes and loops may use as well."""

    least_free_bytes = 1024 * 1024
    """With less room on the disk, the check fails: some writes succeed, since the write-ahead log is used again."""

    def __init__(self, path: Path, clock: Clock, wait_seconds: float, checkpoint_seconds: float) -> None:
        self._path = path
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._checkpoint_seconds = checkpoint_seconds
        self._closed = False
        self._damage: object = None
        self._failed_write: tuple[datetime, str] | None = None
        """When the disk could not be written, the last time, and why."""
        self._inline: sqlite3.Connection | None = None
        self._write_lock = threading.Lock()
        self._inline_writes = 0
        self._is_checkpoint_due = False
        self._keeper = ThreadPoolExecutor(1, "store-keeper")
        self._writer = ThreadPoolExecutor(1, "store-writer")
        self._readers = ThreadPoolExecutor(READING_THREADS, "store-reader")
        self._of_thread = threading.local()
        self._of_all_threads: list[sqlite3.Connection] = []

    def check(self) -> None:
        """Raises Unusable if damage of the file is known, if the disk could not be written in the last minute, or if it
        is full. Reads the file a little."""
        if self._damage:
            raise damaged(self._path, self._damage)
        if self._failed_write is not None and self._clock() - self._failed_write[0] < FAILED_WRITE_SHOWN_FOR:
            raise Unusable(self._failed_write[1])
        with suppress(OSError):  # of a folder that is gone
            if disk_usage(self._path.parent).free < self.least_free_bytes:
                raise full(self._path)
        if self._inline is not None:
            try:
                self._inline.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
            except sqlite3.Error as error:
                if not is_busy(error):  # a busy store is alive
                    raise self._noted(error) from error

    def last_write(self) -> object:
        """See services.ports.LastWrite. Takes three microseconds."""
        if self._inline is None:
            return object()
        try:
            # It tells of the writes of all other connections.
            return self._inline_writes, self._inline.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return object()  # there may have been a write

    async def opened(self) -> sqlite3.Connection:
        """The connection of the event loop. Opens the file at the first call."""
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
                    raise self._noted(error) from error
        return await self._in_thread(self._readers, work)

    async def write(self, work: Work[T], *, inline: bool) -> T:
        connection = self._inline or await self.opened()
        if inline and self._write_lock.acquire(blocking=False):
            try:
                return work(connection)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise self._noted(error) from error
            finally:
                self._write_lock.release()
                self._inline_writes += 1
                self._note_write()
        return await self._in_writer(work)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            # Here, in the thread that uses it: closing it under a statement of that thread crashes the process.
            inline, self._inline = self._inline, None
            await asyncio.to_thread(self._close, inline)

    def _noted(self, error: sqlite3.Error) -> Unavailable:
        if _code(error) in _DAMAGED:
            self._damage = error
        found = translated(error, self._path)
        if _code(error) in _STOPS_WRITES and isinstance(found, Unusable):
            self._failed_write = self._clock(), str(found)
        return found

    def _open(self) -> None:
        """Runs in the one writing thread, so that callers who come together, or are cancelled, open the file once."""
        if self._inline is not None:
            return
        connection = open_file(self._path, self._wait_seconds)
        connection.execute("PRAGMA busy_timeout = 0")
        self._inline = connection
        self._keep(self._search_damage)

    async def _in_writer(self, work: Work[T]) -> T:
        """Waits for other processes and for checkpoints: the store itself writes one transaction after another."""
        deadline = time.monotonic() + self._wait_seconds

        def locked(connection: sqlite3.Connection) -> T:
            with self._write_lock:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Unavailable(f"the store was busy for {self._wait_seconds:g} seconds")
                connection.execute(f"PRAGMA busy_timeout = {int(left * 1000) + 1}")
                return work(connection)

        result = await self._in_thread(self._writer, locked)
        self._note_write()
        return result

    def _note_write(self) -> None:
        """A while after a write, the log is copied into the file."""
        if not self._is_checkpoint_due:
            self._is_checkpoint_due = True
            asyncio.get_running_loop().call_later(self._checkpoint_seconds, self._begin_checkpoint)

    def _begin_checkpoint(self) -> None:
        self._is_checkpoint_due = False
        if not self._closed:
            self._keep(self._checkpoint)

    def _keep(self, work: Work[None]) -> None:
        """Does the work some time, in a thread of its own."""
        self._keeper.submit(self._connected, work, KEEPER_WAITS_SECONDS, CACHE_KIB)

    def _checkpoint(self, connection: sqlite3.Connection) -> None:
        # If another process has the lock, or the disk is full, which writers notice, the next write brings another one.
        with suppress(sqlite3.Error):
            _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if pages > LARGE_LOG_PAGES:
                # While writes never pause, the log is never empty and grows: stop them until the rest is copied.
                with self._write_lock:
                    connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()

    def _search_damage(self, connection: sqlite3.Connection) -> None:
        """Searches the pages of the file for damage: SQLite notices damage only where it reads."""
        try:
            (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if result != "ok":
                self._damage = str(result).splitlines()[-1]
        except sqlite3.DatabaseError as error:
            if _code(error) in _DAMAGED:
                self._damage = error

    async def _in_thread(self, pool: ThreadPoolExecutor, work: Work[T]) -> T:
        if self._inline is None:
            await self.opened()

        cache_kib = WRITER_CACHE_KIB if pool is self._writer else CACHE_KIB
        return await self._run(pool, partial(self._connected, work, self._wait_seconds, cache_kib))

    def _connected(self, work: Work[T], wait_seconds: float, cache_kib: int) -> T:
        """Does the work with the connection of this thread."""
        connection = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = connect(self._path, wait_seconds, cache_kib)
            self._of_all_threads.append(connection)
        return work(connection)

    async def _run(self, pool: ThreadPoolExecutor, job: Callable[[], T]) -> T:
        if self._closed:
            raise Unavailable("the store is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, job)
        except sqlite3.Error as error:
            raise self._noted(error) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise Unavailable("the store is closed") from None  # closing removed the job from the queue
            raise

    def _close(self, inline: sqlite3.Connection | None = None) -> None:
        for pool in (self._writer, self._readers, self._keeper):
            pool.shutdown(cancel_futures=True)
        opened_late, self._inline = self._inline, None
        for connection in (*self._of_all_threads, inline, opened_late):
            if connection is not None:
                connection.close()


def connect(path: Path, wait_seconds: float, cache_kib: int = CACHE_KIB) -> sqlite3.Connection:
    """A connection that commits each statement by itself and leaves checkpoints to the keeper."""
    connection = sqlite3.connect(
        path, timeout=wait_seconds, isolation_level=None, check_same_thread=False, cached_statements=512
    )
    with _closed_on_error(connection):
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA cache_size = {-cache_kib}")
        # SQLite keeps the old rows of a large statement, to undo it. In a file, that costs more than the statement.
        connection.execute("PRAGMA temp_store = MEMORY")
    return connection


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def open_file(path: Path, wait_seconds: float) -> sqlite3.Connection:
    """A connection to the file, created or brought up to date if need be. Several processes may do so at once."""
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        path.touch(0o600)  # the files that SQLite adds have the rights of this one
    except OSError as error:
        raise Unusable(
            f"the folder {path.parent} of the store cannot be made or written ({error.strerror}): "
            "check its rights, or choose another data folder"
        ) from error
    deadline = time.monotonic() + wait_seconds
    pause = 0.002
    while True:
        try:
            connection = connect(path, wait_seconds)
            with _closed_on_error(connection):
                _bring_up_to_date(connection, path)
            return connection
        except sqlite3.Error as error:
            # Unlike a statement, the switch to a write-ahead log does not wait for other processes.
            if _code(error) == sqlite3.SQLITE_ERROR:  # its tables have the names of ours, and other columns
                raise foreign(path, error) from error
            if not is_busy(error) or time.monotonic() + pause > deadline:
                raise translated(error, path) from error
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file; an old one keeps its own
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, sqlite_sql.SCHEMA_VERSION):
        raise Unusable(
            f"{path} has schema version {version}, this program reads only {sqlite_sql.SCHEMA_VERSION}: "
            "run the version that wrote it, or choose another data folder"
        )
    wanted = sqlite_sql.schema()
    found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if found and not found & wanted.keys():
        raise foreign(path, "it has none of this program's tables")
    connection.execute("PRAGMA journal_mode = WAL")
    if version != sqlite_sql.SCHEMA_VERSION or not found >= wanted.keys():
        with transaction(connection):
            for statement in wanted.values():
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {sqlite_sql.SCHEMA_VERSION}")
