"""Looks at what is at a URL before a person registers it as a feed: one poll, of which nothing is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

from models.raw_item import ParsedDocument
from models.resources.feeds import FeedPreview, PreviewedEntry
from services.articles.poll import FeedPoller
from services.feeds.form import new_feed
from services.feeds.outcome import failure_of
from services.ports import Clock

SAMPLES = 5
LONGEST_HEADLINE = 500
_UNNAMED = "a feed"


class FeedPreviews:
    """`registered` gives the id of the feed that is registered at a URL."""

    def __init__(self, poller: FeedPoller, registered: Callable[[str], Awaitable[str | None]], clock: Clock) -> None:
        self._poller = poller
        self._registered = registered
        self._clock = clock

    async def of(self, fields: Mapping[str, Any]) -> FeedPreview:
        """Raises InvalidInput for a URL or credential that cannot be registered. A URL without a feed is a result."""
        now = self._clock()
        feed = new_feed({**fields, "source_name": _UNNAMED}, now)
        async with self._poller.polled(feed, now) as polled:
            failure = failure_of(polled)
            found = {} if polled.document is None else found_in(polled.document, now)
            fetched = polled.result.url
        return FeedPreview(
            url=feed.feed_url,
            fetched_url=fetched,
            is_feed=failure is None and polled.document is not None,
            is_page=polled.found_at is not None,
            feed_id=await self._registered(feed.feed_url) or await self._registered(fetched),
            error_type=failure.kind if failure else None,
            error=failure.error if failure else None,
            status_code=polled.result.status_code,
            duration_ms=polled.result.duration_ms,
            **found,
        )


def found_in(document: ParsedDocument, now: datetime) -> dict[str, Any]:
    """What the preview says of a feed document. Dates in the future say nothing of the past."""
    dates = [item.published for item in document.items if item.published is not None and item.published <= now]
    newest = sorted(document.items, key=lambda item: (item.published is not None, item.published or now), reverse=True)
    return {
        "format": document.version,
        "title": document.title or None,
        "site_url": document.site_url,
        "entries": len(document.items),
        "entries_skipped": sum(document.skipped.values()),
        "parse_warnings": sum(document.warnings.values()),
        "oldest_entry_at": min(dates, default=None),
        "newest_entry_at": max(dates, default=None),
        "samples": tuple(
            PreviewedEntry(headline=item.headline[:LONGEST_HEADLINE], url=item.url, published_at=item.published)
            for item in newest[:SAMPLES]
        ),
    }
