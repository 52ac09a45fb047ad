"""Entries as nearly all are: each thing said once, nothing to mend, cut, resolve or guess. For speed alone.

The entries of a feed have few shapes: the same elements at the same places. A shape is worked out once, and then its
elements are fetched instead of looked through. Whatever is not plain is left to the reader that knows the rules, and
what is taken here is what that reader would have made of it: a test reads the same entries both ways.
"""

from __future__ import annotations

from typing import NamedTuple
from xml.etree.ElementTree import Element

from models.raw_item import RawItem
from services.parse.collected import MAX_HEADLINE, MAX_HTML, MAX_TAG, MAX_TAGS
from services.parse.dates import parse_date
from services.parse.repair import is_plain_id, is_plain_url, is_token, repaired
from services.parse.text import one_line
from services.parse.xml_elements import items_of
from services.parse.xml_tags import (
    ATOM_SUMMARY,
    CATEGORY,
    CONTENT,
    ENCODED,
    ID,
    IGNORE,
    LINK,
    PUBLISHED,
    RDF,
    SUMMARY,
    TITLE,
    UPDATED,
)

_ABOUT = RDF + "about"
_SHAPED = frozenset({TITLE, LINK, ID, PUBLISHED, UPDATED, SUMMARY, ATOM_SUMMARY, ENCODED, CONTENT})
_TEXT_TYPE = [("type", "text")]
_HTML_TYPE = [("type", "html")]
_NO_PERMALINK = [("isPermaLink", "false")]
_ONLY_TERM = ["term"]


class Shape(NamedTuple):
    """Where in an entry each thing stands, None for nowhere."""

    title: int
    link: int
    date: int
    id: int | None
    summary: int | None
    content: int | None
    summary_is_html: bool
    content_is_html: bool
    tags: tuple[int, ...]


def shape_of(kinds: list[int]) -> Shape | None:
    """The shape of entries whose elements are of these kinds; None if it takes more than their places to read them."""
    places: dict[int, int] = {}
    tags = []
    for place, kind in enumerate(kinds):
        if kind == CATEGORY:
            tags.append(place)
        elif kind in _SHAPED and kind not in places:
            places[kind] = place
        elif kind != IGNORE:
            return None
    present = places.keys()
    date = places.get(PUBLISHED, places.get(UPDATED))
    summaries, contents = present & {SUMMARY, ATOM_SUMMARY}, present & {ENCODED, CONTENT}
    if date is None or not {TITLE, LINK} <= present or len(summaries) > 1 or len(contents) > 1 or len(tags) > MAX_TAGS:
        return None
    summary, content = summaries.pop() if summaries else 0, contents.pop() if contents else 0
    found = places.get
    return Shape(
        *(places[TITLE], places[LINK], date, found(ID), found(summary), found(content)),
        *(summary == SUMMARY, content == ENCODED, tuple(tags)),
    )


def plain_item(entry: Element, shape: Shape) -> RawItem | None:  # noqa: PLR0911, PLR0912, PLR0915
    """The item that an entry of this shape is, or None if not all of it is plain.

    One long function: for 60,000 entries a second, calls are what there is to save.
    """
    title_at, link_at, date_at, id_at, summary_at, content_at, summary_is_html, content_is_html, tags_at = shape
    element = entry[title_at]
    title = element.text
    if not title or "&" in title or "<" in title:
        return None
    title = title.strip() if title.isascii() else repaired(title)
    if "  " in title or not title.isprintable():
        title = one_line(title)
    if element.keys() and items_of(element) != _TEXT_TYPE:
        return None
    element = entry[link_at]
    link = element.text
    if element.keys():
        link = element.get("href")
        if element.get("rel") != "alternate" or element.get("type") != "text/html" or len(element.keys()) != 3:
            return None
    if not link or not is_plain_url(link):
        return None
    if id_at is None:
        article_id = entry.get(_ABOUT) or None
    else:
        element = entry[id_at]
        article_id = element.text
        if not article_id:
            return None
        if element.keys():
            if items_of(element) != _NO_PERMALINK or not is_token(article_id):
                return None
        elif not is_plain_url(article_id) and not is_plain_id(article_id):
            return None
    date_text = entry[date_at].text or ""
    published = parse_date(date_text)
    if not title or published is None or len(title) + len(link) + len(article_id or "") > MAX_HEADLINE:
        return None
    summary = content = ""
    if content_at is not None:
        element = entry[content_at]
        content = element.text or ""
        content = content.strip() if content.isascii() else repaired(content)
        attributes = items_of(element)
        if attributes != _HTML_TYPE and (attributes or not (content_is_html or _has_no_markup(content))):
            return None
        summary = content
    if summary_at is not None:
        element = entry[summary_at]
        summary = element.text or ""
        summary = summary.strip() if summary.isascii() else repaired(summary)
        attributes = items_of(element)
        if attributes != _HTML_TYPE and (attributes or not (summary_is_html or _has_no_markup(summary))):
            return None
    if len(summary) + len(content) > MAX_HTML:
        return None
    tags = []
    for at in tags_at:
        element = entry[at]
        tag = element.text
        if element.keys():
            if tag or element.keys() != _ONLY_TERM:
                return None
            tag = element.get("term")
        if not tag or not tag.isprintable() or len(tag) > MAX_TAG or tag[0] == " " or tag[-1] == " " or "  " in tag:
            return None
        if not tag.isascii() and repaired(tag) is not tag:
            return None
        tags.append(tag)
    if len(tags) > 1:
        tags = list(dict.fromkeys(tags))
    return RawItem(article_id, link, title, published, None, summary, content, tuple(tags), (), None, date_text)


def _has_no_markup(text: str) -> bool:
    return "<" not in text and "&" not in text
