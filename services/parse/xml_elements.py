"""Elements of a tree as feedparser sees them: text, type, permalink, tags. No rules about entries."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from services.parse.repair import repaired
from services.parse.xml_tags import ENCODED, MEDIA_SUMMARY, SUMMARY

LONGEST_TAG = 65_536
"""Attributes cost a hundred times their size: a longer tag is made to cost memory, or holds a picture."""

_TAG_NAME = re.compile(rb"<[A-Za-z][\w:.-]*")
_TAG = re.compile(rb"""<[A-Za-z](?:[^'"<>]++|"[^"]*+"(?=[>/\s]|\w+=)|'[^']*+'(?=[>/\s]|\w+=))*+[^<>]*+""")
"""As far as feedparser takes it to reach."""
_FAR_FROM_THE_NEXT = re.compile(rb"<(?=[A-Za-z])[^<]{%d,}" % LONGEST_TAG)

_HTML_KINDS = (SUMMARY, MEDIA_SUMMARY, ENCODED)
_TYPES = {"text": False, "plain": False, "text/plain": False, "html": True, "text/html": True}
_MOVES_BASE = frozenset({"base", "{http://www.w3.org/XML/1998/namespace}base", "href", "lastmod"})


class Odd(Exception):
    """Something that feedparser may understand otherwise than we would: the document is for feedparser."""


def has_long_tag(data: bytes) -> bool:
    """Of XML that may be well-formed. A look at a few places is enough for nearly all."""
    half = LONGEST_TAG // 2
    if all(data.find(b"<", start, start + half) >= 0 for start in range(0, len(data) - half + 1, half)):
        return False
    return any(_length(data, each.start()) > LONGEST_TAG for each in _FAR_FROM_THE_NEXT.finditer(data))


def without_long_tags(data: bytes) -> bytes:
    """With the names alone of tags that are too long, whatever it is otherwise."""
    return _TAG.sub(_name_if_long, data)


def _length(data: bytes, start: int) -> int:
    tag = _TAG.match(data, start)
    return len(tag[0]) if tag else 0


def _name_if_long(tag: re.Match[bytes]) -> bytes:
    name = _TAG_NAME.match(tag[0]) if len(tag[0]) > LONGEST_TAG else None
    return name[0] + b" " if name else tag[0]


def items_of(element: Element) -> list[tuple[str, str]]:
    # Not `attrib`: that would make a dictionary for each element that has none.
    return element.items()  # type: ignore[return-value] # typeshed has a view, the C implementation a list


def text_of(element: Element) -> str:
    text = element.text or ""
    return text.strip() if text.isascii() else repaired(text)


def tags_of(element: Element) -> list[str]:
    """What a category names, in its attribute and in its text."""
    tags = [value for name, value in element.items() if name.lower() == "term"]
    text = text_of(element)
    return [*tags, text] if text else tags


def keep_base(element: Element) -> None:
    """Odd if what is below it has another base, or if it says by attributes what others say by elements."""
    if not _MOVES_BASE.isdisjoint(element.keys()):
        raise Odd


def holds_entries(element: Element) -> bool:
    return any(below.tag.rpartition("}")[2].lower() in ("item", "entry") for below in element.iter())


def is_html(attributes: list[tuple[str, str]], kind: int) -> bool:
    """What the `type` of a text says, or else its kind; Odd for the types that change how it is read."""
    declared = kind in _HTML_KINDS
    for name, value in attributes:
        local = name.rpartition("}")[2].lower()
        if local == "mode" or (local == "type" and (name != "type" or value.lower() not in _TYPES)):
            raise Odd
        if local == "type":
            declared = _TYPES[value.lower()]
    return declared


def is_permalink(attributes: list[tuple[str, str]]) -> bool:
    for name, value in attributes:
        local = name.rpartition("}")[2].lower()
        if local == "base" or (local == "ispermalink" and "}" in name):
            raise Odd
        if local == "ispermalink":
            return value == "true"
    return True
