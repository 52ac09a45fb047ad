"""The embedded store's file: opening it safely from many processes, and keeping it small in the background.

Knows tables and indexes by services/store/sqlite_sql.py; knows nothing of documents or of the event loop.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from models.errors import Unavailable
from services.ports import Clock
from services.store import sqlite_sql

CHECKPOINT_SECONDS = 1.0
PATIENCE_SECONDS = 0.25  # with another process, while our own writers may have to wait for this thread
PAGE_BYTES = 8192  # several documents, not one and an empty half
LARGE_LOG_PAGES = 2048  # 16 MB
PURGE_BATCH = 500
WASTED_PAGES = 512  # 4 MB
CACHE_KIB = 3_000
WRITER_CACHE_KIB = 8_000
"""Holds all pages of a batch: where they do not fit, those of the indexes are written twice, and read again."""

_PURGES = [each.purge for each in sqlite_sql.STATEMENTS.values()]


def is_busy(error: sqlite3.Error) -> bool:
    # The low byte; the rest says why. Errors of the Python module itself have no code.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def translated(error: sqlite3.Error) -> Unavailable:
    if is_busy(error):
        return Unavailable("the store was busy for longer than its budget", retry_after=1.0)
    return Unavailable(f"the store could not be asked: {error}")


def open_connection(path: Path, wait_seconds: float, cache_kib: int = CACHE_KIB) -> sqlite3.Connection:
    """A connection that commits each statement by itself and leaves checkpoints to the housekeeper."""
    connection = sqlite3.connect(
        path, timeout=wait_seconds, isolation_level=None, check_same_thread=False, cached_statements=512
    )
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA cache_size = {-cache_kib}")
        # What a statement of many rows needs in order to be undone: a file of its own costs more than the statement.
        connection.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def open_file(path: Path, wait_seconds: float) -> sqlite3.Connection:
    """A connection to the file, made or brought up to date if need be. Several processes may do so at once."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"the store's folder could not be made: {error}") from error
    deadline = time.monotonic() + wait_seconds
    pause = 0.002
    while True:
        try:
            return _up_to_date(path, wait_seconds)
        except sqlite3.Error as error:
            # The switch to a write-ahead log does not wait for others as statements do.
            if not is_busy(error) or time.monotonic() + pause > deadline:
                raise translated(error) from error
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def _up_to_date(path: Path, wait_seconds: float) -> sqlite3.Connection:
    connection = open_connection(path, wait_seconds)
    try:
        _bring_up_to_date(connection)
    except BaseException:
        connection.close()
        raise
    return connection


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


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file; an old one keeps its own
    connection.execute("PRAGMA journal_mode = WAL")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > sqlite_sql.SCHEMA_VERSION:
        raise Unavailable(
            f"the store's file has schema version {version}, this program knows {sqlite_sql.SCHEMA_VERSION}: "
            "run the newer version, or another data folder"
        )
    wanted = sqlite_sql.schema()
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if version != sqlite_sql.SCHEMA_VERSION or not there.issuperset(wanted):
        with transaction(connection):
            for statement in wanted.values():
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {sqlite_sql.SCHEMA_VERSION}")
    _give_back(connection)


def _give_back(connection: sqlite3.Connection) -> None:
    """Writes a file anew of which the most is empty: what is deleted leaves room for what comes, not for others."""
    (pages,), (free,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count"))
    if free > max(WASTED_PAGES, pages // 2):
        with suppress(sqlite3.OperationalError):  # somebody is at it, or the disk is too full for a copy: another time
            connection.execute("VACUUM")


class Housekeeper(threading.Thread):
    """Copies the log into the file, and deletes what has expired, a little while after writes; sleeps otherwise."""

    def __init__(self, path: Path, clock: Clock, write_lock: threading.Lock, purge_seconds: float) -> None:
        super().__init__(name="store-housekeeper", daemon=True)
        self._path = path
        self._clock = clock
        self._write_lock = write_lock
        self._purge_seconds = purge_seconds
        self._written = threading.Event()
        self._stopping = threading.Event()

    def note_write(self) -> None:
        if not self._written.is_set():
            self._written.set()

    def stop(self) -> None:
        self._stopping.set()
        self._written.set()
        self.join()

    def run(self) -> None:
        purge_at = 0.0
        with closing(open_connection(self._path, PATIENCE_SECONDS)) as connection:
            while self._written.wait() and not self._stopping.wait(min(CHECKPOINT_SECONDS, self._purge_seconds)):
                self._written.clear()
                if self._stopping.is_set():
                    return  # said since it was looked for: nothing would wake this thread again
                try:
                    if time.monotonic() >= purge_at:
                        self._purge(connection)
                        purge_at = time.monotonic() + self._purge_seconds
                    self._checkpoint(connection)
                except sqlite3.Error:
                    # Somebody else is at it, or the disk is full, which writes report: the next round tries again.
                    self._written.set()

    def _purge(self, connection: sqlite3.Connection) -> None:
        now = int(self._clock().timestamp())
        for statement in _PURGES:
            while not self._stopping.is_set():
                with self._write_lock:
                    deleted = connection.execute(statement, (now, PURGE_BATCH)).rowcount
                if deleted < PURGE_BATCH:
                    break
                time.sleep(0.01)  # lets waiting writers in between batches

    def _checkpoint(self, connection: sqlite3.Connection) -> None:
        _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if pages > LARGE_LOG_PAGES:
            # Under writes without pause the log never ends, and so never starts afresh: hold them for the little rest.
            with self._write_lock:
                connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
