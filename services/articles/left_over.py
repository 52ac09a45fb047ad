"""What a worker stored that died before it saved the feed: the next try counts it, though its entry may be gone.

What is still in the feed's document is met there (dedup.py). This finds the rest, by when it was written; it is asked
only of feeds that somebody has taken up and never saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from models.article import Article
from models.feed import Feed
from models.values import format_time, parse_time
from services.articles.canonical import Moment
from services.articles.dedup import fold
from services.articles.processing import Processed, counted_until, source_of
from services.ports import Document, Query, Store, Where
from services.store.containers import ARTICLES
from services.store.listed import listed

PAGE = 500
CLOCKS_DIFFER = timedelta(minutes=1)
"""At most: whoever analysed an article meanwhile may have dated it back."""


async def left_over(store: Store, feeds: Iterable[Document | None]) -> dict[str, list[Document]]:
    """The articles that may be so, by feed. One look for all feeds: there is no index by source and time."""
    since = {feed["feed_id"]: feed["unsaved_since"] for feed in feeds if feed and feed.get("unsaved_since")}
    found: dict[str, list[Document]] = {}
    if not since:
        return found
    first = format_time(parse_time(min(since.values())) - CLOCKS_DIFFER)
    where = (Where("entity_type", "eq", "Article"), Where("updated_at", "ge", first))
    after: str | None = None
    while True:
        page = await store.query(ARTICLES.name, Query(where, limit=PAGE, after=after))
        # One that cannot be read is nobody's: it must not keep a message's feeds from being fetched.
        readable = {each.source_id for each in listed(page, Article.from_document, "source_id").items}
        for article in page.items:
            if article["source_id"] in readable:
                for feed_id in since.keys() & set(article["source_attribution"]):
                    found.setdefault(feed_id, []).append(article)
        after = page.next
        if after is None:
            return found


def with_left_over(processed: Processed, feed: Feed, articles: Sequence[Document], now: Moment) -> Processed:
    """Counts what no entry has led to. What was there before the first of those workers is none of it."""
    if feed.unsaved_since is None:
        return processed
    source, taken = source_of(feed), processed.taken
    until = max(counted_until(feed), format_time(feed.unsaved_since - timedelta(seconds=1)))
    known = len(taken.first)
    for article in articles:
        taken.count(article["source_id"], fold(article, (), source, now, until))
    return replace(processed, found=processed.found + len(taken.first) - known)
