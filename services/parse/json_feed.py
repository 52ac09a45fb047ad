"""JSON Feed 1.0 and 1.1 (https://www.jsonfeed.org/version/1.1/), read as loosely as feeds are written."""

from __future__ import annotations

from typing import Any

from services.parse.collected import Collected, Feed, as_html
from services.parse.dates import first_date
from services.parse.json_body import load_json, text_of, texts_of
from services.parse.repair import resolved
from services.parse.unreadable import Unreadable


def read_json_feed(body: bytes, base: str) -> Feed:
    """Unreadable if it is not JSON, or JSON of another kind."""
    collected = Collected()
    document = load_json(body, collected.warnings)
    version = text_of(document, "version") if isinstance(document, dict) else ""
    if not isinstance(document, dict) or "jsonfeed.org/version/" not in version:
        raise Unreadable("not_a_feed", "JSON, but no JSON Feed")
    items = document.get("items")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            _collect(item, base, collected)
        else:
            collected.skipped["not_an_entry"] += 1
    version = "json" + version.rpartition("/")[2].replace(".", "")[:4]
    return Feed(version, text_of(document, "title"), text_of(document, "home_page_url"), collected)


def _collect(item: dict[str, Any], base: str, collected: Collected) -> None:
    link = text_of(item, "url") or text_of(item, "external_url") or _link_of_id(item)
    dates = (text_of(item, "date_published"), text_of(item, "date_modified"))
    summary = as_html(text_of(item, "summary"), is_html=False)
    content = text_of(item, "content_html") or as_html(text_of(item, "content_text"), is_html=False)
    collected.add(
        title=text_of(item, "title"),
        title_is_html=False,
        link=resolved(base, link) if link else "",
        article_id=text_of(item, "id"),
        published=first_date(*dates),
        dates=dates,
        summary=summary or content,
        content=content,
        tags=texts_of(item, "tags"),
    )


def _link_of_id(item: dict[str, Any]) -> str:
    """An id that is a URL is the item's permalink, as the specification has it."""
    text = text_of(item, "id")
    return text if text.startswith(("http://", "https://")) else ""
