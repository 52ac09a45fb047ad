"""OPML, the format in which people carry their lists of feeds from one reader to another: bytes in, bytes out.

Reading takes what is written in the wild (any nesting, any spelling of `xmlUrl`); a document type is refused, since
entities are an attack and no list needs them. Nothing here knows the registry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import urlsplit
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from models.errors import InvalidInput
from models.feed import Feed


@dataclass(frozen=True, slots=True)
class Outline:
    """One feed of a list: the line of the document that it begins on, and what it says there."""

    line: int
    url: str
    title: str


def read_opml(document: bytes) -> list[Outline]:
    """Every outline that has a URL of a feed. Raises InvalidInput for what is no OPML, or has a document type."""
    found: list[Outline] = []
    root: list[str] = []
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        if not root:
            root.append(name)
            if name.lower() != "opml":
                raise InvalidInput("body", f"must be OPML; the root of this is <{name[:40]}>")
        said = {key.lower(): value.strip() for key, value in attributes.items()}
        if name.lower() == "outline" and said.get("xmlurl"):
            title = said.get("title") or said.get("text") or _host(said["xmlurl"])
            found.append(Outline(parser.CurrentLineNumber, said["xmlurl"], title))

    def doctype(*_: object) -> None:
        raise InvalidInput("body", "must be OPML without a document type: entities are not read")

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InvalidInput("body", f"must be OPML, which is XML; this is not ({error})") from None
    return found


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


def write_opml(feeds: Iterable[Feed], now: datetime) -> bytes:
    """OPML 2.0, one outline for each feed, in their order."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<opml version="2.0">',
        f"<head><title>toolpulse feeds</title><dateCreated>{format_datetime(now, usegmt=True)}</dateCreated></head>",
        "<body>",
    ]
    for feed in feeds:
        name, url = quoteattr(feed.source_name), quoteattr(feed.feed_url)
        lines.append(f'<outline type="rss" text={name} title={name} xmlUrl={url}/>')
    return "\n".join([*lines, "</body>", "</opml>", ""]).encode()
