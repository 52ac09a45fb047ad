"""JSON Feed 1.0 and 1.1 (https://www.jsonfeed.org/version/1.1/), read as loosely as feeds are written."""

from __future__ import annotations

from typing import Any

from services.parse.collected import Collected, Feed, as_html
from services.parse.dates import first_date
from services.parse.json_body import load_json
from services.parse.repair import resolved
from services.parse.unreadable import Unreadable


def read_json_feed(body: bytes, base: str) -> Feed:
    """Unreadable if it is not JSON, or JSON of another kind."""
    collected = Collected()
    document = load_json(body, collected.warnings)
    version = _text(document, "version") if isinstance(document, dict) else ""
    if not isinstance(document, dict) or "jsonfeed.org/version/" not in version:
        raise Unreadable("not_a_feed", "JSON, but no JSON Feed")
    items = document.get("items")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            _collect(item, base, collected)
        else:
            collected.skipped["not_an_entry"] += 1
    version = "json" + version.rpartition("/")[2].replace(".", "")[:4]
    return Feed(version, _text(document, "title"), _text(document, "home_page_url"), collected)


def _collect(item: dict[str, Any], base: str, collected: Collected) -> None:
    link = _text(item, "url") or _text(item, "external_url") or _link_of_id(item)
    dates = (_text(item, "date_published"), _text(item, "date_modified"))
    tags = item.get("tags")
    summary = as_html(_text(item, "summary"), is_html=False)
    content = _text(item, "content_html") or as_html(_text(item, "content_text"), is_html=False)
    collected.add(
        title=_text(item, "title"),
        title_is_html=False,
        link=resolved(base, link) if link else "",
        article_id=_text(item, "id"),
        published=first_date(*dates),
        dates=dates,
        summary=summary or content,
        content=content,
        tags=[tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else (),
    )


def _link_of_id(item: dict[str, Any]) -> str:
    """An id that is a URL is the item's permalink, as the specification has it."""
    text = _text(item, "id")
    return text if text.startswith(("http://", "https://")) else ""


def _text(item: dict[str, Any], name: str) -> str:
    """A field as text; ids are numbers in some feeds."""
    value = item.get(name)
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
