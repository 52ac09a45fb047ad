"""The specification's two monitoring queries: how healthy the feeds are, and what each source brought lately."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.article import Article
from models.feed import Feed
from models.values import format_time
from services.feeds.registry import FeedRegistry
from services.ports import Clock, Query, Store, Where, listed
from services.store.containers import ARTICLES

WINDOW = timedelta(hours=24)
_PAGE = 500


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """One enabled feed."""

    feed_id: str
    source_name: str
    enabled: bool
    consecutive_errors: int
    last_successful_fetch: datetime | None
    articles_per_hour: float


@dataclass(frozen=True, slots=True)
class SourceYield:
    """One source name. An article counts for each source that carried it."""

    source_name: str
    article_count: int
    avg_age_hours: float


class Overview:
    def __init__(self, store: Store, feeds: FeedRegistry, clock: Clock) -> None:
        self._store = store
        self._feeds = feeds
        self._clock = clock

    async def feed_health(self) -> list[FeedHealth]:
        """Those with most errors in a row first."""
        enabled = [_health(feed) async for feed in self._feeds.every() if feed.enabled]
        return sorted(enabled, key=lambda each: (-each.consecutive_errors, each.feed_id))

    async def sources(self) -> list[SourceYield]:
        """Those with most articles of the last 24 hours first."""
        now = self._clock()
        names = {feed.feed_id: feed.source_name async for feed in self._feeds.every()}
        ages: defaultdict[str, list[float]] = defaultdict(list)
        where = (Where("deleted_at", "missing"), Where("timestamp", "gt", format_time(now - WINDOW)))
        after: str | None = None
        while True:
            query = Query(where, order="by_time", limit=_PAGE, after=after)
            page = await self._store.query(ARTICLES.name, query)
            for article in listed(page, Article.from_document, "source_id").items:
                for name in {names.get(source, source) for source in article.sources}:
                    ages[name].append((now - article.timestamp) / timedelta(hours=1))
            after = page.next
            if after is None:
                break
        found = [SourceYield(name, len(each), round(sum(each) / len(each), 2)) for name, each in ages.items()]
        return sorted(found, key=lambda each: (-each.article_count, each.source_name))


def _health(feed: Feed) -> FeedHealth:
    return FeedHealth(
        feed.feed_id,
        feed.source_name,
        feed.enabled,
        feed.consecutive_errors,
        feed.last_successful_fetch,
        feed.articles_per_hour,
    )
