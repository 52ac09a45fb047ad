"""Reading the articles that name a tool, each with what it says about it."""

from __future__ import annotations

from typing import Any

from models.article import Article
from models.mention import SentimentScore
from services.ports import Query, Store, Where
from services.reading.shown import shown
from services.store.containers import ARTICLES, MENTIONS


async def tool_articles(
    store: Store, tool_id: str, limit: int, after: str | None
) -> tuple[list[dict[str, Any]], str | None]:
    """One page of articles, newest first. Mentions outlive their articles: a page may be shorter than `limit`."""
    where = (Where("removed_at", "missing"),)
    query = Query(where, partition=tool_id, order="by_published", reverse=True, limit=limit, after=after)
    page = await store.query(MENTIONS.name, query)
    mentions = [SentimentScore.from_document(document) for document in page.items]
    found = (
        await store.read_many(ARTICLES.name, [(each.source_id, Article.ID) for each in mentions]) if mentions else []
    )
    articles = [Article.from_document(document) if document is not None else None for document in found]
    items = [
        {**shown(article), "mention": shown(mention)}
        for article, mention in zip(articles, mentions, strict=True)
        if article is not None and article.deleted_at is None
    ]
    return items, page.next
