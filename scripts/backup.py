"""Copies the data folder of the embedded store while the app runs, and puts a copy back.

    python -m scripts.backup backup TARGET [--data DIR]
    python -m scripts.backup restore BACKUP [--data DIR]

A backup is a folder: the databases, the archive, and a manifest with a checksum of each file. Settings and keys are no
part of it. The manifest is written last, so that an interrupted backup is not taken for one.

The databases are copied one after the other: first the queues, then the store. So each message of the backup finds its
documents, and a message that came later is sent again from the state of the documents. Files of the archive never
change: they are copied before and after, so that none is missing that a document names.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from models.version import VERSION
from scripts.local_host import Refused
from scripts.local_host.data import LOCK, QUEUES, locked, was_used
from scripts.local_host.settings import app_settings
from services.operations.migrations import MIGRATIONS
from services.settings import Settings
from services.store.sqlite_sql import SCHEMA_VERSION

ROOT = Path(__file__).resolve().parent.parent
FORMAT, FORMAT_VERSION = "toolpulse backup", 1
MANIFEST = "manifest.json"
STORE, ARCHIVE = "toolpulse.db", "archive"
NOT_INCLUDED = "settings and keys (local.settings.json, the environment, the service's environment file)"
_BLOCK = 1024 * 1024
_BUSY_SECONDS = 30


class File(BaseModel):
    model_config = ConfigDict(frozen=True)

    bytes: int = Field(ge=0)
    sha256: str


class Manifest(BaseModel):
    """What a backup is. `version` is the program's; `migrations` is the number of the last one that it knows."""

    model_config = ConfigDict(frozen=True)

    format: str
    format_version: int
    version: str
    made_at: datetime
    schema_version: int
    migrations: int
    not_included: str
    files: dict[str, File]

    @property
    def size_bytes(self) -> int:
        return sum(file.bytes for file in self.files.values())


def backup(data: Path, target: Path) -> Manifest:
    """Copies the data folder, whose app may run, to the new folder `target`. Raises Refused."""
    if not (data / STORE).is_file():
        raise Refused(f"{data} has no {STORE}: it is not the data folder of an embedded store, or the app never ran")
    if target.resolve().is_relative_to((data / ARCHIVE).resolve()):
        raise Refused(f"{target} lies in the archive that is to be copied: choose another folder")
    _require_empty(target, "choose a new folder for the backup")
    with _said(target), _filled(target):
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        copied = _copy_archive(data, target)
        if (data / QUEUES).exists():
            _copy_database(data / QUEUES, target / QUEUES)
        _copy_database(data / STORE, target / STORE)
        copied |= _copy_archive(data, target)
        names = [*(name for name in (QUEUES, STORE) if (target / name).exists()), *sorted(copied)]
        manifest = Manifest(
            format=FORMAT,
            format_version=FORMAT_VERSION,
            version=VERSION,
            made_at=datetime.now(UTC),
            schema_version=SCHEMA_VERSION,
            migrations=MIGRATIONS[-1].number,
            not_included=NOT_INCLUDED,
            files={name: _described(target / name) for name in names},
        )
        part = target / f"{MANIFEST}.part"
        part.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        os.replace(part, target / MANIFEST)
    return manifest


def restore(source: Path, data: Path) -> Manifest:
    """Puts a backup into the data folder, which must be empty. Checks all of it first. Raises Refused."""
    manifest = _manifest(source)
    with _said(source):
        for name, file in manifest.files.items():
            path = source / name
            if not path.is_file() or _described(path) != file:
                raise Refused(f"{path} is damaged or missing: the backup cannot be restored; use another one")
    with _said(data), locked(data):
        _require_empty(data, "move its files away, or choose another folder with --data")
        with _filled(data):
            # The store goes last: without it, the folder is not taken for a whole one.
            for name in sorted(manifest.files, key=lambda each: (each == STORE, each)):
                (data / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.copyfile(source / name, data / name)
    return manifest


def require_store(environment: Mapping[str, str]) -> None:
    """Raises Refused if the embedded store is lost: it is missing or empty, but its queues or archive are there. A new,
    empty store would hide the loss."""
    settings = Settings.load(environment)
    data = Path(settings.data_dir)
    store = data / STORE
    if settings.store != "sqlite" or (store.exists() and store.stat().st_size):
        return
    if was_used(data) or any(path.is_file() for path in (data / ARCHIVE).rglob("*")):
        what = "is empty" if store.exists() else "is missing"
        remedy = f"restore a backup, or move {data} away to start with an empty store"
        raise Refused(f"{store} {what}, but {data} has the queues or full texts of a store: {remedy}")


def _manifest(source: Path) -> Manifest:
    path = source / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refused(f"{source} is no finished backup: {MANIFEST} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise Refused(f"{path} is damaged ({error}): use another backup") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise Refused(f"{source} is no backup of this program: {MANIFEST} does not say {FORMAT!r}")
    if not isinstance(content.get("format_version"), int) or content["format_version"] > FORMAT_VERSION:
        raise _of_another_version(source, content)
    try:
        manifest = Manifest.model_validate(content)
    except ValidationError as error:
        raise Refused(f"{path} is damaged ({error.error_count()} wrong fields): use another backup") from None
    if manifest.schema_version != SCHEMA_VERSION or manifest.migrations > MIGRATIONS[-1].number:
        raise _of_another_version(source, content)
    if STORE not in manifest.files or not all(map(_is_ours, manifest.files)):
        raise Refused(f"{path} is damaged (it names other files than {STORE}, {QUEUES} and {ARCHIVE}/…)")
    return manifest


def _of_another_version(source: Path, content: dict[str, object]) -> Refused:
    return Refused(
        f"{source} was made by another version ({content.get('version')}; this is {VERSION}): restore with that version"
    )


def _is_ours(name: str) -> bool:
    path = PurePosixPath(name)
    in_archive = len(path.parts) > 1 and path.parts[0] == ARCHIVE and ".." not in path.parts and "\\" not in name
    return name in (STORE, QUEUES) or (in_archive and str(path) == name)


def _require_empty(folder: Path, remedy: str) -> None:
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{folder} is no folder: {remedy}")
    if folder.exists() and any(each.name != LOCK for each in folder.iterdir()):
        raise Refused(f"{folder} is not empty: {remedy}")


def _copy_database(source: Path, target: Path) -> None:
    """SQLite's own copy of a file that others write: all of it, as it is at one moment."""
    with (
        closing(sqlite3.connect(source, timeout=_BUSY_SECONDS)) as original,
        closing(sqlite3.connect(target)) as copy,
    ):
        original.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        if (found := copy.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise Refused(f"{source} is damaged ({found}): restore an older backup")


def _copy_archive(data: Path, target: Path) -> set[str]:
    """Copies what is not there yet, and returns the names of all that is there. Objects that are being written have
    another name until they are whole; those that are deleted meanwhile are left out."""
    names = set()
    for path in (data / ARCHIVE).rglob("*"):
        name = path.relative_to(data).as_posix()
        if path.name.startswith(".") or not path.is_file():
            continue
        if not (target / name).exists():
            (target / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                shutil.copyfile(path, target / name)
            except FileNotFoundError:
                (target / name).unlink(missing_ok=True)
                continue
        names.add(name)
    return names


def _described(path: Path) -> File:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return File(bytes=path.stat().st_size, sha256=digest.hexdigest())


@contextmanager
def _said(where: Path) -> Iterator[None]:
    """One sentence for what the disk or SQLite refuses."""
    try:
        yield
    except sqlite3.Error as error:
        raise Refused(f"a database cannot be copied to {where}: {error}. Check its rights and the space") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Refused(f"no space is left on the disk of {where}: make room") from None
        raise Refused(
            f"{error.filename2 or error.filename or where} cannot be used ({error.strerror}): check its rights"
        ) from None


@contextmanager
def _filled(folder: Path) -> Iterator[None]:
    """Files that are written are private. After an error the folder is as empty as it was."""
    was_there, before = folder.exists(), os.umask(0o077)
    try:
        yield
    except BaseException:
        for each in folder.iterdir() if folder.exists() else ():
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
            elif each.name != LOCK:
                each.unlink(missing_ok=True)
        if not was_there and folder.exists():
            folder.rmdir()
        raise
    finally:
        os.umask(before)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="backup", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what, about in (
        ("backup", "target", "copy the data folder; the app may run"),
        ("restore", "source", "put a backup into an empty data folder"),
    ):
        command = commands.add_parser(name, help=about)
        command.add_argument("folder", type=Path, metavar=what.upper())
        command.add_argument("--data", type=Path, metavar="DIR", help="the data folder (default: the setting DATA_DIR)")
    given = parser.parse_args(arguments)
    try:
        settings, _ = app_settings(ROOT, {}, os.environ)
        data = given.data or ROOT / (os.environ.get("DATA_DIR") or settings.get("DATA_DIR") or ".data")
        manifest = backup(data, given.folder) if given.command == "backup" else restore(given.folder, data)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    count, size = len(manifest.files), manifest.size_bytes / 1_000_000
    if given.command == "backup":
        print(f"{given.folder}: {count} files, {size:.1f} MB. Not included: {NOT_INCLUDED}.")
    else:
        print(f"{data}: {count} files, {size:.1f} MB, as of {manifest.made_at:%Y-%m-%d %H:%M} UTC.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
