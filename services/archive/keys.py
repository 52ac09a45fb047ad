"""Where the archive has the files of an article: `<day>/<article>/<sha256 of the bytes>`. Pure.

The day is that on which the article was created, as its document has it. It never changes, so all files of the document
are in one folder, and the folders that may have expired come first. No name depends on what a site has sent.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from urllib.parse import unquote

from models.errors import InvalidInput
from models.values import format_time

LARGEST_OBJECT = 32 * 1024 * 1024
LONGEST_NAME = 200
"""Of an article in a folder. File systems allow 255 bytes; `dedup:` ids take 40."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
"""The others are escaped: some file systems take A for a, and . and / have a meaning."""
_FOLDER = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}/[a-z0-9_%A-F-]{{1,{LONGEST_NAME}}}")
_OBJECT = re.compile(r"[0-9a-f]{64}")


def day_of(moment: datetime) -> str:
    return format_time(moment)[:10]


def folder_of(source_id: str, day: str) -> str:
    """The folder of an article for this day."""
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in source_id.encode())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise InvalidInput("source_id", f"1 to {LONGEST_NAME} bytes, where each beyond a-z 0-9 _ - counts three times")
    return checked_folder(f"{day}/{name}")


def source_of(folder: str) -> str:
    """The article of a folder."""
    return unquote(checked_folder(folder).partition("/")[2])


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
