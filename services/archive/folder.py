"""The Archive port over a folder of this machine.

Objects are written to another name, synced and then renamed: after a crash or a power cut an object is there whole, or
not at all. Folder and files can be read by the app's user only. All work is done in threads.
"""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from models.errors import Damaged, NotFound, Unavailable
from services.archive.keys import checked_folder, checked_key, is_folder, is_object, key_of, sha256_of
from services.ports import Archived

T = TypeVar("T")

CONTAINER = "folder"
_PRIVATE = 0o700


class FolderArchive:
    """The archive in a folder. `root` is made at the first put."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def put(self, folder: str, data: bytes) -> Archived:
        key = key_of(folder, data)
        await self._run(lambda: self._put(self._root / key, data))
        sha256 = key.rpartition("/")[2]
        return Archived(CONTAINER, key, sha256, len(data), f'"{sha256}"')

    async def get(self, key: str) -> bytes:
        path = self._root / checked_key(key)
        data = await self._run(lambda: _read(path))
        if data is None:
            raise NotFound(f"the archive has no object {key}")
        if sha256_of(data) != path.name:
            raise Damaged(f"the object {key} of the archive is damaged: restore a backup of {self._root}")
        return data

    async def delete_folder(self, folder: str) -> int:
        path = self._root / checked_folder(folder)
        return await self._run(lambda: _delete_folder(path))

    async def folders(self, before: str, *, after: str = "", limit: int = 100) -> list[str]:
        return await self._run(lambda: self._folders(before, after, limit))

    async def ping(self) -> None:
        await self._run(self._probe)

    async def close(self) -> None:
        pass

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Unavailable(f"no space is left on the disk of {self._root}: make room") from error
            why = f"{self._root} cannot be used ({error.strerror}): check its rights and the disk"
            raise Unavailable(why) from error

    def _put(self, path: Path, data: bytes) -> None:
        _make(path.parent, self._root.parent)
        if _read(path) != data:
            _write(path, data)
        _sync(path.parent)  # also for an object that a process wrote and died before it synced the folder

    def _folders(self, before: str, after: str, limit: int) -> list[str]:
        found: list[str] = []
        for day in _folders_in(self._root):
            if day >= before or len(found) >= limit:
                break
            if day >= after[: len(day)]:
                named = (f"{day}/{name}" for name in _folders_in(self._root / day))
                found += [folder for folder in named if after < folder < before and is_folder(folder)]
        return found[:limit]

    def _probe(self) -> None:
        self._root.mkdir(_PRIVATE, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self._root):
            pass


def _make(folder: Path, known: Path) -> None:
    """Makes the folder. Each new one is synced into the folder above it, up to `known`."""
    missing = [each for each in (folder, *folder.parents) if each.is_relative_to(known) and not each.exists()]
    for each in reversed(missing):
        each.mkdir(_PRIVATE, parents=True, exist_ok=True)
        _sync(each.parent)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes) -> None:
    descriptor, unfinished = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise


def _sync(folder: Path) -> None:
    """Makes the names in the folder durable. Windows cannot, and keeps its own journal of them."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _delete_folder(folder: Path) -> int:
    deleted = 0
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):  # also what a killed process has not finished
            with suppress(FileNotFoundError):
                (folder / name).unlink()
                deleted += is_object(name)
        _remove_empty(folder)
    return deleted


def _remove_empty(folder: Path) -> None:
    """Removes the folder of an article and of its day, unless there are other objects."""
    with suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()


def _folders_in(folder: Path) -> list[str]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    return []
