"""Where the archive has the files of an article: `<day>/<article>/<sha256 of the bytes>`. Pure.

The day is that on which the article was created, as its document has it. It never changes, so all files of the document
are in one folder, and the folders that may have expired come first. No name depends on what a site has sent.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime

from models.article import source_id
from models.errors import InvalidInput
from models.values import format_time

LARGEST_OBJECT = 32 * 1024 * 1024

_FOLDER = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9a-f]{1,64}")
_OBJECT = re.compile(r"[0-9a-f]{64}")


def day_of(moment: datetime) -> str:
    return format_time(moment)[:10]


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


def is_folder(name: str) -> bool:
    return _FOLDER.fullmatch(name) is not None


def checked_folder(folder: str) -> str:
    if not is_folder(folder):
        raise InvalidInput("folder", "<YYYY-MM-DD>/<article>, as folder_of names it")
    return folder


def checked_key(key: str) -> str:
    folder, _, name = key.rpartition("/")
    if not (is_folder(folder) and is_object(name)):
        raise InvalidInput("key", "<YYYY-MM-DD>/<article>/<sha256>, as put returned it")
    return key


def is_object(name: str) -> bool:
    return _OBJECT.fullmatch(name) is not None
