"""The files of the dashboard as they are served: bytes, gzip, type and ETag, by their path below triggers/page.

Files are found by their exact name among those that were read, so that no path of a request reaches the disk. Assets
have the digest of all files in their path: a browser keeps them for good, and asks for others after a deployment.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("page")
PAGE = "dashboard/index.html"
_LANGUAGES = "dashboard/i18n/"

TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain",
}
"""What else is in the folder, such as a page for developers, is not served."""


@dataclass(frozen=True, slots=True)
class PageFile:
    content: bytes
    zipped: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, content: bytes, media_type: str) -> PageFile:
        etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
        return cls(content, gzip.compress(content, 9, mtime=0), media_type, etag)


@dataclass(frozen=True, slots=True)
class PageFiles:
    """`page` is the HTML that every view begins with; `assets` are the other files; `digest` is that of all files."""

    page: PageFile
    assets: Mapping[str, PageFile]
    digest: str


def read_files(folder: Path) -> PageFiles:
    contents = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES and path.is_file()
    }
    digest = hashlib.blake2b(digest_size=8)
    for name, content in contents.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    version = digest.hexdigest()
    languages = " ".join(
        Path(name).stem for name in contents if name.startswith(_LANGUAGES) and name != f"{_LANGUAGES}index.js"
    )
    page = contents.pop(PAGE).decode("utf-8").replace("{assets}", version).replace("{languages}", languages)
    assets = {name: PageFile.of(content, TYPES[Path(name).suffix]) for name, content in contents.items()}
    return PageFiles(PageFile.of(page.encode("utf-8"), TYPES[".html"]), assets, version)


@cache
def shipped_files() -> PageFiles:
    """Read once: the files of a deployed app do not change."""
    return read_files(FOLDER)
