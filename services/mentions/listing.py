"""Lists the mentions of a tool that count, latest first, all or those of one sentiment.

No index has the sentiment of a mention: a list with this filter reads on until its page is full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from models.errors import InvalidInput
from models.mention import SentimentScore
from models.values import format_time
from services.articles.listing import UNSCORED
from services.ports import Document, Listed, Page, Query, Store, Where, listed
from services.store.containers import MENTIONS

MOST_PAGES = 20
"""Pages that one list reads to find mentions with a sentiment. It then ends early, with a cursor."""


def says(mention: Document, said: str) -> bool:
    return (mention.get("unscored_reason") is not None) if said == UNSCORED else mention.get("sentiment") == said


async def mentions_page(
    store: Store, tool_id: str, where: Sequence[Where], limit: int, after: str | None, said: str | None
) -> Page:
    """One page of the mentions that meet `where`; with `said`, it may be shorter than `limit` though others follow."""
    every = (Where("removed_at", "missing"), *where)
    query = Query(every, partition=tool_id, order="by_published", reverse=True, limit=limit, after=after)
    page = await store.query(MENTIONS.name, query)
    if said is None:
        return page
    found = [each for each in page.items if says(each, said)]
    for _ in range(MOST_PAGES - 1):
        if page.next is None or len(found) == limit:
            break
        page = await store.query(MENTIONS.name, replace(query, limit=limit - len(found), after=page.next))
        found += [each for each in page.items if says(each, said)]
    return Page(found, page.next)


async def mentions_between(
    store: Store, tool_id: str, times: Mapping[str, datetime], limit: int, after: str | None, said: str | None
) -> Listed[SentimentScore]:
    """One page of the tool's mentions from `since` up to, but without, `until`. Raises InvalidInput."""
    since, until = times.get("since"), times.get("until")
    if since is not None and until is not None and until <= since:
        raise InvalidInput("until", "a time after since")
    where = []
    if since is not None:
        where.append(Where("published_at", "ge", format_time(since)))
    if until is not None:
        where.append(Where("published_at", "lt", format_time(until)))
    page = await mentions_page(store, tool_id, where, limit, after, said)
    return listed(page, SentimentScore.from_document, "source_id")
