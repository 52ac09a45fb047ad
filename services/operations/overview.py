"""The specification's two monitoring queries: the health of the feeds, and the articles of the last day by source."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta

from models.article import Article
from models.feed import Feed
from models.values import format_time
from models.verdict import VERDICTS
from services.articles.observations import further_sources
from services.feeds.registry import FeedRegistry
from services.ports import Clock, Query, Store, Where, listed, pages
from services.store.containers import ARTICLES

WINDOW = timedelta(hours=24)
_PAGE = 500


@dataclass(frozen=True, slots=True)
class SourceYield:
    """The articles of the last day from sources of one name. An article counts for each source that published it."""

    source_name: str
    article_count: int
    avg_age_hours: float


class Overview:
    def __init__(self, store: Store, feeds: FeedRegistry, clock: Clock) -> None:
        self._store = store
        self._feeds = feeds
        self._clock = clock

    async def feed_health(self) -> list[Feed]:
        """The feeds that no person disabled, by verdict: those that a person must look at first."""
        found = [feed for feed in await self._feeds.every() if feed.enabled or feed.disabled_by == "app"]
        return sorted(found, key=lambda each: (_urgency(each), -each.consecutive_errors, each.feed_id))

    async def sources(self) -> list[SourceYield]:
        """The articles of the last day by source name, the name with the most articles first."""
        now = self._clock()
        names = {feed.feed_id: feed.source_name for feed in await self._feeds.every()}
        ages: defaultdict[str, list[float]] = defaultdict(list)
        where = (Where("deleted_at", "missing"), Where("timestamp", "gt", format_time(now - WINDOW)))
        query = Query(where, order="by_time", limit=_PAGE, may_be_stale=True)
        async for page in pages(self._store, ARTICLES.name, query):
            further = await further_sources(self._store, page.items)
            for article in listed(page, Article.from_document, "source_id").items:
                sources = (*article.sources, *(source for source, _ in further.get(article.source_id, ())))
                for name in {names.get(source, source) for source in sources}:
                    ages[name].append((now - article.timestamp) / timedelta(hours=1))
        found = [SourceYield(name, len(each), round(sum(each) / len(each), 2)) for name, each in ages.items()]
        return sorted(found, key=lambda each: (-each.article_count, each.source_name))


def _urgency(feed: Feed) -> int:
    return VERDICTS.index(feed.verdict) if feed.verdict is not None else len(VERDICTS)
