"""Reads the articles that mention a tool, each with its mention."""

from __future__ import annotations

from typing import Any

from models.article import Article
from models.mention import SentimentScore
from models.resources.articles import ArticleResource
from models.resources.base import View
from models.resources.mentions import MentionResource
from services.articles.observations import with_source_counts
from services.mentions.listing import mentions_page
from services.parse.publisher_id import shown_name
from services.ports import Listed, Store, listed, listed_documents
from services.store.containers import ARTICLES


async def tool_articles(
    store: Store, tool_id: str, limit: int, after: str | None, said: str | None = None, view: View = "default"
) -> Listed[dict[str, Any]]:
    """One page of articles, newest first; with `said`, those whose mention has this sentiment, or is unscored. Mentions
    outlive their articles: a page may be shorter than `limit`."""
    page = await mentions_page(store, tool_id, (), limit, after, said)
    mentions = listed(page, SentimentScore.from_document, "source_id")
    keys = [(each.source_id, Article.ID) for each in mentions.items]
    found = await store.read_many(ARTICLES.name, keys)
    articles = await with_source_counts(store, listed_documents(found, Article.from_document, "source_id"))
    alive = {each.source_id: each for each in articles.items if each.deleted_at is None}
    items = [_shown(alive[each.source_id], each, view) for each in mentions.items if each.source_id in alive]
    return Listed(items, page.next, (*mentions.unreadable, *articles.unreadable))


def _shown(article: Article, mention: SentimentScore, view: View) -> dict[str, Any]:
    resource = ArticleResource.of(article, shown_name(article.publisher_id), view)
    return resource.with_added(mention=MentionResource.of(mention, view)).shown()
