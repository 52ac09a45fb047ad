"""The host's data folder: one SQLite file, and a lock that ends with the process.

Calls are made from the event loop: each takes tens of microseconds, less than a thread would cost.
WAL without a sync at each commit outlives a killed process, though not a power cut: enough for a development host.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from . import Refused

_REMEDY = "Check its rights and the space on its disk, or choose another with --data"
_NOT_OURS = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS queues (name TEXT PRIMARY KEY, metadata TEXT NOT NULL DEFAULT '{}') STRICT;
CREATE TABLE IF NOT EXISTS messages (
    number INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    inserted REAL NOT NULL,
    expires REAL NOT NULL,
    visible REAL NOT NULL,
    dequeue_count INTEGER NOT NULL DEFAULT 0,
    receipt TEXT NOT NULL,
    held INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS messages_by_turn ON messages (queue, held, visible, number);
CREATE TABLE IF NOT EXISTS timers (
    name TEXT PRIMARY KEY, last TEXT, next TEXT NOT NULL, updated TEXT NOT NULL
) STRICT;
"""


LOCK = "host.lock"


class Taken(Refused):
    """Another process works with the data folder."""


class DataFolder:
    """Locks the folder for one host, which serves at `urls`: its own addresses, then the functions, if that is another
    port. Raises Taken if another host has it."""

    def __init__(self, path: Path, *urls: str) -> None:
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(path / LOCK, *urls)
            self.path = path
        except OSError as error:
            raise Refused(f"the data folder {path} cannot be used: {error.strerror}. {_REMEDY}") from None
        try:
            self.connection = _connection(path / "host.sqlite")
        except sqlite3.Error as error:
            self._lock.close()
            raise Refused(unusable(path, error)) from None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def close(self) -> None:
        self.connection.close()
        self._lock.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps hosts away from the folder, which is made if need be. Raises Refused if a host has it, and OSError."""
    path.mkdir(parents=True, exist_ok=True)
    with _locked(path / LOCK, ""):
        yield


def unusable(folder: Path, error: sqlite3.Error) -> str:
    """The file of the queues, why it cannot be used, and what to do."""
    # SQLITE_ERROR: the tables are not of this program, or not of this version.
    is_wrong = getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_OURS
    remedy = "Move it away to start with empty queues" if is_wrong else _REMEDY
    return f"{folder / 'host.sqlite'} cannot be used: {error}. {remedy}"


def _connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_SCHEMA)
        connection.execute("SELECT metadata FROM queues LIMIT 1")
        connection.execute("SELECT text, dequeue_count, receipt, held FROM messages LIMIT 1")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


@dataclass(frozen=True, slots=True)
class Running:
    """The host that works with a data folder now: `own` is where it serves its queues, `functions` where the app is."""

    own: str
    functions: str


def running_host(path: Path) -> Running | None:
    """None if no host works with this folder, or another program without an address."""
    try:
        file = (path / LOCK).open("r+", encoding="ascii")
    except OSError:
        return None
    with file:
        try:
            _take(file)
        except OSError:
            file.seek(0)
            _, *urls = file.read().split()
            return Running(urls[0], urls[-1]) if urls else None
    return None


def _locked(path: Path, *urls: str) -> IO[str]:
    """The lock file. The lock ends when the file is closed or the process ends; the file names the process and its
    URLs. Raises OSError if the file cannot be written."""
    file = path.open("a+", encoding="ascii")
    try:
        _take(file)
    except OSError:
        file.seek(0)
        holder = file.read().partition(" ")[0] or "unknown"
        file.close()
        raise Taken(
            f"another host (process {holder}) works with the data folder {path.parent}: stop it first"
        ) from None
    try:
        file.truncate(0)
        os.write(file.fileno(), " ".join([str(os.getpid()), *urls]).encode())
    except OSError:
        file.close()
        raise
    return file


if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[str]) -> None:
        # Behind the text, since other processes cannot read a locked byte.
        file.seek(4096)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
