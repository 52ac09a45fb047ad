"""OPML documents, as other feed readers exchange them: folders and the attribute `category` are tags. Pure.

A feed is in the folder of each of its tags, nested for tags with several levels, and `category` lists all its tags:
some readers know folders only, some `category` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlsplit
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from models.errors import InvalidInput
from models.feed import Feed
from services.feeds.form import LONGEST_NAME, LONGEST_TAG


@dataclass(frozen=True, slots=True)
class Outline:
    """One feed of an OPML document, and the line on which it begins. `tags` are its folder, if it is in one, and its
    categories."""

    line: int
    url: str
    title: str
    tags: tuple[str, ...] = ()
    site_url: str | None = None

    def fields(self) -> dict[str, Any]:
        """As a person would post them."""
        name = " ".join(self.title.split())[:LONGEST_NAME]
        return {"url": self.url, "source_name": name, "tags": self.tags}


def read_opml(document: bytes) -> list[Outline]:
    """Every outline with the URL of a feed, at any depth and with any spelling of `xmlUrl`. Raises InvalidInput for a
    document that is not OPML, or has a document type: no list needs entities, and attacks use them."""
    reader = _Reader()
    try:
        reader.parser.Parse(document, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InvalidInput("body", f"must be OPML, which is XML, but cannot be parsed ({error})") from None
    return reader.found


class _Reader:
    """`_folders` has the tag of each open outline: that of its folder, or "" outside of folders."""

    def __init__(self) -> None:
        self.found: list[Outline] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._has_root = False
        self._folders = [""]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._has_root:
            self._has_root = True
            if name.lower() != "opml":
                raise InvalidInput("body", f"must be OPML, but its root element is <{name[:40]}>")
        if name.lower() != "outline":
            return
        values = {key.lower(): value.strip() for key, value in attributes.items()}
        url, title, folder = values.get("xmlurl"), values.get("title") or values.get("text") or "", self._folders[-1]
        if url:
            tags = [folder, *values.get("category", "").split(",")]
            named = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip(" /")))
            line = self.parser.CurrentLineNumber
            self.found.append(Outline(line, url, title or _host(url), named, values.get("htmlurl") or None))
            self._folders.append(folder)
        else:
            # A comma separates categories. A tag that is too long is refused with its feed, however deep its folder.
            tag = f"{folder}/{title.replace(',', ' ')}" if folder and title else folder or title.replace(",", " ")
            self._folders.append(tag[: 2 * LONGEST_TAG])

    def _end(self, name: str) -> None:
        if name.lower() == "outline":
            self._folders.pop()

    def _doctype(self, *_: object) -> None:
        raise InvalidInput("body", "must be OPML without a document type: entities are not read")


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


@dataclass(slots=True)
class _Folder:
    folders: dict[str, _Folder] = field(default_factory=dict)
    feeds: list[Feed] = field(default_factory=list)


def write_opml(feeds: Iterable[Feed], now: datetime) -> bytes:
    """OPML 2.0. In each folder its feeds in their order, after the folders in it; feeds without tags are in none."""
    top = _Folder()
    for feed in feeds:
        for tag in feed.tags or ("",):
            folder = top
            for level in filter(None, tag.split("/")):
                folder = folder.folders.setdefault(level, _Folder())
            folder.feeds.append(feed)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<opml version="2.0">',
        f"<head><title>toolpulse feeds</title><dateCreated>{format_datetime(now, usegmt=True)}</dateCreated></head>",
        "<body>",
        *_outlines(top),
    ]
    return "\n".join([*lines, "</body>", "</opml>", ""]).encode()


def _outlines(folder: _Folder) -> Iterable[str]:
    for name, inner in sorted(folder.folders.items()):
        yield f"<outline{_attributes({'text': name, 'title': name})}>"
        yield from _outlines(inner)
        yield "</outline>"
    for feed in folder.feeds:
        yield f"<outline{_attributes(_described(feed))}/>"


def _described(feed: Feed) -> dict[str, str | None]:
    return {
        "type": "rss",
        "text": feed.source_name,
        "title": feed.source_name,
        "xmlUrl": feed.feed_url,
        "htmlUrl": feed.site_url,
        "category": ",".join(f"/{tag}" for tag in feed.tags),
    }


def _attributes(values: Mapping[str, str | None]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in values.items() if value)
