"""The housekeeper of the embedded store's file: checkpoints, deletion of expired documents, search for damage."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing

from services.ports import Clock
from services.store import sqlite_sql

CHECKPOINT_SECONDS = 1.0
LARGE_LOG_PAGES = 2048  # 16 MB
PURGE_BATCH = 500

LONGEST_STEP_SECONDS = 24 * 3600
"""A clock that moves on by more between two purges was wrong before or is wrong now, or the program did not run."""
PURGES_PAUSED_SECONDS = 24 * 3600
"""The pause after such a step, for a wrong clock to be set right before everything has expired by it."""


def purging_after(seen: int, purged_from: int, now: int) -> int:
    """The time from which expired documents are deleted. `seen` is the time of the last purge, or of its last attempt;
    `purged_from` the result of then."""
    return now + PURGES_PAUSED_SECONDS if abs(now - seen) > LONGEST_STEP_SECONDS else purged_from


class Housekeeper(threading.Thread):
    """Copies the log into the file, and deletes what has expired, a little while after writes; sleeps otherwise.

    Closes `connection` when it stops. `damage` is why the file cannot be trusted, once that is known.
    """

    def __init__(
        self, connection: sqlite3.Connection, clock: Clock, write_lock: threading.Lock, purge_seconds: float
    ) -> None:
        super().__init__(name="store-housekeeper", daemon=True)
        self.damage: str | None = None
        self._connection = connection
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
        with closing(self._connection) as connection:
            self._check(connection)
            while self._written.wait() and not self._stopping.wait(min(CHECKPOINT_SECONDS, self._purge_seconds)):
                self._written.clear()
                if self._stopping.is_set():
                    return  # `stop` was called before `clear`: nothing would wake this thread again
                try:
                    if time.monotonic() >= purge_at:
                        self._purge(connection)
                        purge_at = time.monotonic() + self._purge_seconds
                    self._checkpoint(connection)
                except sqlite3.Error:
                    # Another process has the lock, or the disk is full, which writers notice. The next round tries
                    # again.
                    self._written.set()

    def _check(self, connection: sqlite3.Connection) -> None:
        """Searches the pages of the file for damage: SQLite notices damage only where it reads."""
        try:
            (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            self.damage = None if result == "ok" else str(result).splitlines()[-1]
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                self.damage = str(error)

    def _purge(self, connection: sqlite3.Connection) -> None:
        now = int(self._clock().timestamp())
        if not self._may_purge(connection, now):
            return
        for statements in sqlite_sql.STATEMENTS.values():
            while not self._stopping.is_set():
                with self._write_lock:
                    deleted = connection.execute(statements.purge, (now, PURGE_BATCH)).rowcount
                if deleted < PURGE_BATCH:
                    break
                time.sleep(0.01)  # lets waiting writers in between batches

    def _may_purge(self, connection: sqlite3.Connection, now: int) -> bool:
        found = connection.execute("SELECT seen, purged_from FROM clock").fetchone()
        seen, purged_from = found or (now, now)
        after = purging_after(seen, purged_from, now)
        with self._write_lock:
            connection.execute("INSERT OR REPLACE INTO clock (id, seen, purged_from) VALUES (1, ?, ?)", (now, after))
        return now >= after

    def _checkpoint(self, connection: sqlite3.Connection) -> None:
        _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if pages > LARGE_LOG_PAGES:
            # While writes never pause, the log is never empty and grows: stop them until the rest is copied.
            with self._write_lock:
                connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
