"""Lists mentions that count, with what people read beside them: those of a tool, those of an article with the names of
their tools, and the articles that mention a tool.

No index has the sentiment of a mention: a list with this filter reads on until its page is full.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from models.article import Article
from models.mention import SentimentScore
from models.resources.articles import ArticleResource, MentionResource, NamedMention
from models.resources.base import View
from models.values import format_time
from services.articles.reading import UNSCORED
from services.articles.sources import of_list
from services.parse.publisher_id import shown_name
from services.ports import Document, Listed, Query, Store, Where, filled_page, listed, listed_documents
from services.store.containers import ARTICLES, MENTIONS
from services.tools.catalog import Catalog


def says(mention: Document, said: str) -> bool:
    return (mention.get("unscored_reason") is not None) if said == UNSCORED else mention.get("sentiment") == said


async def mentions_page(
    store: Store,
    tool_id: str,
    limit: int,
    after: str | None,
    said: str | None = None,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Listed[SentimentScore]:
    """One page of the tool's mentions from `since` up to, but without, `until`, latest first. With `said`, those with
    this sentiment, or the unscored ones: it may be shorter than `limit` though others follow."""
    where = [Where("removed_at", "missing")]
    if since is not None:
        where.append(Where("published_at", "ge", format_time(since)))
    if until is not None:
        where.append(Where("published_at", "lt", format_time(until)))
    query = Query(tuple(where), partition=tool_id, order="by_published", reverse=True, limit=limit, after=after)
    page = await filled_page(store, MENTIONS.name, query, lambda each: said is None or says(each, said))
    return listed(page, SentimentScore.from_document, "source_id")


async def mentions_of_article(store: Store, catalog: Catalog, article: Article) -> Listed[NamedMention]:
    """The mentions that count, by the names of their tools. `unreadable` are the tools whose mention cannot be read."""
    keys = [(tool_id, article.source_id) for tool_id in article.tool_ids_ever_detected]
    documents = await store.read_many(MENTIONS.name, keys) if keys else ()
    found = listed_documents(documents, SentimentScore.from_document, "tool_id")
    counting = [each for each in found.items if each.counts]
    tools = await catalog.known([each.tool_id for each in counting]) if counting else None
    names = {tool.tool_id: tool.primary_name for tool in tools.items} if tools is not None else {}
    named = [NamedMention(each, names.get(each.tool_id)) for each in counting]
    named.sort(key=lambda each: ((each.tool or "").casefold(), each.mention.tool_id))
    return Listed(named, None, found.unreadable)


async def tool_articles(
    store: Store, tool_id: str, limit: int, after: str | None, said: str | None = None, view: View = "default"
) -> Listed[dict[str, Any]]:
    """One page of articles, newest first; with `said`, those whose mention has this sentiment, or is unscored. Mentions
    outlive their articles: a page may be shorter than `limit`."""
    mentions = await mentions_page(store, tool_id, limit, after, said)
    keys = [(each.source_id, Article.ID) for each in mentions.items]
    found = await store.read_many(ARTICLES.name, keys)
    articles = of_list(listed_documents(found, Article.from_document, "source_id"))
    alive = {each.source_id: each for each in articles.items if each.deleted_at is None}
    items = [_shown(alive[each.source_id], each, view) for each in mentions.items if each.source_id in alive]
    return Listed(items, mentions.next, (*mentions.unreadable, *articles.unreadable))


def _shown(article: Article, mention: SentimentScore, view: View) -> dict[str, Any]:
    resource = ArticleResource.of(article, shown_name(article.publisher_id), view)
    return resource.with_added(mention=MentionResource.of(mention, view)).shown()
