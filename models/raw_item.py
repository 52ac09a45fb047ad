"""What the parser finds in one feed document: the items as their source wrote them, the title, and hints.

A RawItem is the first stage of an article: plain headline, absolute link, UTC date. `summary_html` and `content_html`
are the source's own markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

LONGEST_DATE = 200
"""Characters of the date as its source wrote it, that are stored."""
PublishedFlag = Literal["missing", "unparsable", "future"]
"""Why `published` is not the source's date. The parser sets the first two; `future` needs the time of the fetch."""


class RawItem(NamedTuple):
    """One entry of a feed, or one article of a news API.

    `article_id` is the source's own id (guid, Atom id, API id), None without one and for an id that repeats within the
    document. `headline` is not empty, on one line, without markup or entities. `published` is aware UTC in whole
    seconds; if it is None, `published_flag` is the reason. `publisher` is the publisher that the source names: RSS
    `<source>`, an API's `source`; `publisher_url` is its address, empty if that is on the host of `url`, or the page of
    the account on a platform whose links name no account. `date_text` is the entry's date as written, even if it is
    unreadable; `repairs` lists the other values that were cut or left out.
    `url_shared`: the entry has no id, and other entries have its URL under other headlines, so that the URL does not
    identify it. `language` is the primary subtag that the entry or else the feed declares, empty without a declaration.
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
    repairs: tuple[str, ...] = ()
    url_shared: bool = False
    language: str = ""
    publisher_url: str = ""


@dataclass(frozen=True, slots=True)
class Freshness:
    """A feed's own hints about when to fetch it again. Hours are UTC, days are lower-case English."""

    ttl_minutes: int | None = None
    """Without a ttl, the minutes between updates, from sy:updatePeriod and sy:updateFrequency."""
    skip_hours: frozenset[int] = frozenset()
    skip_days: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """One feed document, its items in the order of the document.

    `warnings` counts repairs by kind; `skipped` counts the entries that are not in `items`, by reason. `version` is
    feedparser's name of the format ("rss20", "atom10", "rss10", …), "json1…" for JSON Feed, or the API's name.
    `moved_to` is the new URL that the feed itself names.
    """

    version: str
    items: tuple[RawItem, ...]
    title: str = ""
    site_url: str | None = None
    moved_to: str | None = None
    freshness: Freshness = Freshness()
    warnings: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
