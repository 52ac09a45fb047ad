"""What an adapter read out of one document: items as their source wrote them, and what the document says of itself.

A RawItem is the first stage of an article: plain headline, absolute link, UTC date. Nothing here is cleaned for showing
(`summary_html` and `content_html` are the source's own markup), compared with what is known, or stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

PublishedFlag = Literal["missing", "unparsable", "future"]
"""Why `published` is not simply what the source said. Adapters set the first two; who knows the time, the third."""


class RawItem(NamedTuple):
    """One entry of a feed, or one article of a news API.

    `article_id` is the source's own id (guid, Atom id, API id), None if it has none or if it identifies nothing
    because it repeats within the document. `headline` is not empty, on one line, without markup or entities.
    `published` is aware UTC in whole seconds, None when `published_flag` says why. `publisher` is who wrote it where
    the source says so: RSS `<source>`, an API's `source`. `date_text` is the entry's date as it is written, whatever
    came of it; `mended` names what else of the entry was cut or left out. `url_shared`: it has no id, and other entries
    of the document have its URL under other headlines, so that the URL alone does not identify it.
    """

    article_id: str | None
    url: str
    headline: str
    published: datetime | None
    published_flag: PublishedFlag | None = None
    summary_html: str = ""
    content_html: str = ""
    tags: tuple[str, ...] = ()
    tickers: tuple[str, ...] = ()
    publisher: str | None = None
    date_text: str = ""
    mended: tuple[str, ...] = ()
    url_shared: bool = False


@dataclass(frozen=True, slots=True)
class Freshness:
    """What a feed says about when asking again is worth it. Hours are UTC, days are lower-case English."""

    ttl_minutes: int | None = None
    update_minutes: int | None = None
    """From sy:updatePeriod and sy:updateFrequency."""
    skip_hours: frozenset[int] = frozenset()
    skip_days: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """All that one document holds, in its order.

    `warnings` counts what had to be mended or cut, by kind; `skipped` counts the entries that are not in `items`,
    by reason. `version` is feedparser's word for the format ("rss20", "atom10", "rss10", …), "json1…" for JSON Feed,
    or the API's name. `moved_to` is the URL under which the feed wants to be read from now on.
    """

    version: str
    items: tuple[RawItem, ...]
    title: str = ""
    site_url: str | None = None
    moved_to: str | None = None
    freshness: Freshness = Freshness()
    warnings: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
