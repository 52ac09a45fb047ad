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

from models.errors import Unavailable
from services.archive.keys import KeyedArchive, checked_folder, is_object

T = TypeVar("T")

_PRIVATE = 0o700


class FolderArchive(KeyedArchive):
    """The archive in a folder. `root` is made at the first put."""

    CONTAINER = "folder"

    def __init__(self, root: Path) -> None:
        self._root = root

    async def delete_folder(self, folder: str) -> int:
        path = self._root / checked_folder(folder)
        return await self._run(lambda: _delete_folder(path))

    async def ping(self) -> None:
        await self._run(self._probe)

    async def close(self) -> None:
        pass

    async def _write(self, key: str, data: bytes) -> str:
        path = self._root / key
        await self._run(lambda: self._put(path, data))
        return f'"{path.name}"'

    async def _read(self, key: str) -> bytes | None:
        return await self._run(lambda: _bytes_of(self._root / key))

    async def _folders_in(self, path: str) -> list[str]:
        return await self._run(lambda: _folders_in(self._root / path))

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Unavailable(f"no space is left on the disk of {self._root}: make room") from error
            why = f"{self._root} cannot be used ({error.strerror}): check its rights and the disk"
            raise Unavailable(why) from error

    def _put(self, path: Path, data: bytes) -> None:
        for each in (self._root, path.parent.parent, path.parent):
            each.mkdir(_PRIVATE, parents=True, exist_ok=True)
        if _bytes_of(path) != data:
            _replace(path, data)

    def _probe(self) -> None:
        self._root.mkdir(_PRIVATE, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self._root):
            pass


def _bytes_of(path: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return None


def _replace(path: Path, data: bytes) -> None:
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


def _delete_folder(folder: Path) -> int:
    deleted = 0
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):  # also what a killed process has not finished
            with suppress(FileNotFoundError):
                (folder / name).unlink()
                deleted += is_object(name)
        with suppress(OSError):  # other objects are there
            folder.rmdir()
            folder.parent.rmdir()
    return deleted


def _folders_in(folder: Path) -> list[str]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    return []
