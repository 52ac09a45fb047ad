"""Lists the mentions of a tool that count, latest first, all or those of one sentiment.

No index has the sentiment of a mention: a list with this filter reads on until its page is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from models.errors import InvalidInput
from services.articles.listing import SAID, UNSCORED
from services.ports import Document, Page, Query, Store, Where
from services.store.containers import MENTIONS

MOST_PAGES = 20
"""Pages that one list reads to find mentions with a sentiment. It then ends early, with a cursor."""


def check_sentiment(text: str | None) -> str | None:
    """Raises InvalidInput for a text that is not in SAID."""
    if text is not None and text not in SAID:
        raise InvalidInput("sentiment", f"one of {', '.join(SAID)}")
    return text


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
