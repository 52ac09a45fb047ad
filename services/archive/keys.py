"""Where the archive has the files of an article, `<day>/<article>/<sha256 of the bytes>`, and what both adapters share.

The day is that on which the article was created, as its document has it. It never changes, so all files of the document
are in one folder, and the folders that may have expired come first. No name depends on what a site has sent.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from typing import ClassVar

from models.article import source_id
from models.errors import Damaged, InvalidInput, NotFound
from services.ports import Archived

LARGEST_OBJECT = 32 * 1024 * 1024

_FOLDER = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9a-f]{1,64}")
_OBJECT = re.compile(r"[0-9a-f]{64}")


class KeyedArchive(ABC):
    """The Archive port over objects that are read and written by their keys."""

    CONTAINER: ClassVar[str]

    async def put(self, folder: str, data: bytes) -> Archived:
        key = key_of(folder, data)
        return Archived(self.CONTAINER, key, key.rpartition("/")[2], len(data), await self._write(key, data))

    async def get(self, key: str) -> bytes:
        data = await self._read(checked_key(key))
        if data is None:
            raise NotFound(f"the archive has no object {key}")
        if sha256_of(data) != key.rpartition("/")[2]:
            raise Damaged(f"the object {key} of the archive is damaged: restore it from a backup")
        return data

    async def folders(self, before: str, *, after: str = "", limit: int = 100) -> list[str]:
        found: list[str] = []
        for day in await self._folders_in(""):
            if day >= before or len(found) >= limit:
                break
            if day >= after[: len(day)]:
                named = [f"{day}/{name}" for name in await self._folders_in(f"{day}/")]
                found += [folder for folder in named if after < folder < before and _FOLDER.fullmatch(folder)]
        return found[:limit]

    @abstractmethod
    async def _write(self, key: str, data: bytes) -> str:
        """Stores the object, unless it is there, and returns its ETag."""

    @abstractmethod
    async def _read(self, key: str) -> bytes | None:
        """None if there is no object."""

    @abstractmethod
    async def _folders_in(self, path: str) -> list[str]:
        """The names of the folders there, in order."""


def folder_of(article: str, day: str) -> str:
    """The folder of an article, by its id, for this day."""
    return checked_folder(f"{day}/{article.removeprefix(source_id(''))}")


def source_of(folder: str) -> str:
    """The article of a folder."""
    return source_id(checked_folder(folder).partition("/")[2])


def key_of(folder: str, data: bytes) -> str:
    """Raises InvalidInput if the archive cannot have such an object."""
    if len(data) > LARGEST_OBJECT:
        raise InvalidInput("data", f"at most {LARGEST_OBJECT} bytes")
    return f"{checked_folder(folder)}/{sha256_of(data)}"


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def checked_folder(folder: str) -> str:
    if _FOLDER.fullmatch(folder) is None:
        raise InvalidInput("folder", "<YYYY-MM-DD>/<article>, as folder_of names it")
    return folder


def checked_key(key: str) -> str:
    folder, _, name = key.rpartition("/")
    if _FOLDER.fullmatch(folder) is None or not is_object(name):
        raise InvalidInput("key", "<YYYY-MM-DD>/<article>/<sha256>, as put returned it")
    return key


def is_object(name: str) -> bool:
    return _OBJECT.fullmatch(name) is not None
