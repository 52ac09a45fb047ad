"""The host's data folder: one SQLite file, and a lock that ends with the process.

Calls are made from the event loop: each takes tens of microseconds, less than a thread would cost.
WAL without a sync at each commit outlives a killed process, though not a power cut: enough for a development host.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from . import Refused

_REMEDY = "Check its rights and the space on its disk, or choose another with --data"
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


LOCK, QUEUES = "host.lock", "host.sqlite"


class Taken(Refused):
    """Another process works with the data folder."""


class Blocked(Refused):
    """The file of the queues cannot be written now, for example on a full disk. A later try may succeed."""


class DataFolder:
    """Locks the folder for one host, which serves at `urls`: its own addresses, then the functions, if that is another
    port. Raises Taken if another host has it. Its methods raise Blocked, and Refused if the file is damaged."""

    least_free_bytes = 1024 * 1024
    """With less room on the disk, the work of a message would probably fail."""

    def __init__(self, path: Path, *urls: str) -> None:
        try:
            path.mkdir(0o700, parents=True, exist_ok=True)
            self._lock = _locked(path / LOCK, *urls)
            (path / QUEUES).touch(0o600)
            _make_private(path)
            self.path = path
        except OSError as error:
            raise Refused(f"the data folder {path} cannot be used: {error.strerror}. {_REMEDY}") from None
        try:
            self.connection = _connection(path / QUEUES)
        except sqlite3.Error as error:
            self._lock.close()
            raise Refused(unusable(path, error)) from None

    def rows(self, sql: str, *values: Any) -> list[Any]:
        try:
            return self.connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._fail(error)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection
            self.connection.execute("COMMIT")
        except BaseException as error:
            if self.connection.in_transaction:  # a full disk has ended it already
                self.connection.execute("ROLLBACK")
            self._fail(error)

    def require_room(self) -> None:
        """Raises Blocked while the disk is full."""
        if shutil.disk_usage(self.path).free < self.least_free_bytes:
            raise Blocked(f"no space is left on the disk of {self.path}: make room")

    def _fail(self, error: BaseException) -> NoReturn:
        if type(error) in (sqlite3.OperationalError, sqlite3.DatabaseError):  # others are faults of the program
            raise (Blocked if _may_pass(error) else Refused)(unusable(self.path, error)) from error
        raise error

    def close(self) -> None:
        self.connection.close()
        self._lock.close()


def was_used(folder: Path) -> bool:
    """Whether the folder has queues of an earlier host."""
    try:
        with closing(sqlite3.connect(f"{(folder / QUEUES).absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM queues LIMIT 1").fetchone() is not None
    except sqlite3.Error:  # there is no file, or DataFolder refuses it
        return False


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps hosts away from the folder, which is made if need be. Raises Refused if a host has it, and OSError."""
    path.mkdir(0o700, parents=True, exist_ok=True)
    with _locked(path / LOCK, ""):
        yield


def unusable(folder: Path, error: BaseException) -> str:
    """The file of the queues, why it cannot be used, and what to do."""
    remedy = _REMEDY if _may_pass(error) else "Move it away to start with empty queues"
    return f"{folder / QUEUES} cannot be used: {error}. {remedy}"


def _may_pass(error: BaseException) -> bool:
    """Whether the file may be right: the disk is full, for example. Damage is no OperationalError; SQLITE_ERROR says
    that the tables are not of this program, or not of this version."""
    is_operational = isinstance(error, sqlite3.OperationalError)
    return is_operational and getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_ERROR


def _make_private(folder: Path) -> None:
    """Takes the rights of other users from the folder and what lies in it. A folder that all users share, such as /tmp,
    stays as it is."""
    if folder.stat().st_mode & stat.S_ISVTX:
        return
    for each in (folder, *folder.iterdir()):
        mode = each.lstat().st_mode
        if mode & 0o077 and not stat.S_ISLNK(mode):
            with suppress(PermissionError):  # of another owner
                each.chmod(stat.S_IMODE(mode) & ~0o077)


def _connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_SCHEMA)
        connection.execute("SELECT name FROM queues LIMIT 1")
        connection.execute("SELECT text, dequeue_count, receipt, held FROM messages LIMIT 1")
        if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(found.splitlines()[-1])
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
    path.touch(0o600)
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
