"""Writes OPML, which other feed readers import. services/feeds/lists.py reads it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from email.utils import format_datetime
from xml.etree import ElementTree

from models.feed import Feed


def write_opml(feeds: Sequence[Feed], now: datetime) -> bytes:
    """OPML 2.0. In each folder its feeds in their order, after the folders in it; feeds without tags are in none."""
    opml = ElementTree.Element("opml", version="2.0")
    head = ElementTree.SubElement(opml, "head")
    ElementTree.SubElement(head, "title").text = "toolpulse feeds"
    ElementTree.SubElement(head, "dateCreated").text = format_datetime(now, usegmt=True)
    folders = {"": ElementTree.SubElement(opml, "body")}
    for tag in sorted({tag for feed in feeds for tag in feed.tags}, key=lambda tag: tag.split("/")):
        _folder(folders, tag)
    for feed in feeds:
        known = {
            "type": "rss",
            "text": feed.source_name,
            "title": feed.source_name,
            "xmlUrl": feed.feed_url,
            "htmlUrl": feed.site_url,
            "category": ",".join(f"/{tag}" for tag in feed.tags),
        }
        for tag in feed.tags or ("",):
            attributes = {name: value for name, value in known.items() if value}
            ElementTree.SubElement(folders[tag], "outline", attributes)
    ElementTree.indent(opml, "")
    written: bytes = ElementTree.tostring(opml, encoding="UTF-8", xml_declaration=True)
    return written


def _folder(folders: dict[str, ElementTree.Element], tag: str) -> ElementTree.Element:
    """The folder of the tag, in that of the level above."""
    if tag not in folders:
        parent, _, name = tag.rpartition("/")
        folders[tag] = ElementTree.SubElement(_folder(folders, parent), "outline", text=name, title=name)
    return folders[tag]
