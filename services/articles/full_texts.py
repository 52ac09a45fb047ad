"""For which articles a feed asks for the text of the page. Pure.

Only the source of the canonical reading may ask: an article has one full text, that of the reading that is scored.
services/documents acquires it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from models.feed import SHORT_TEXT, FullTextChoice
from services.articles.entry_documents import SourceAttempt
from services.articles.merge import Merged


class Asked(NamedTuple):
    """An article whose full text its feed asks for. `revision` is that of the entry, `expires` the article's
    `ttl_timestamp`."""

    source_id: str
    feed_id: str
    url: str
    revision: str
    expires: int | None


Discover = Callable[[Sequence[Asked]], Awaitable[None]]
"""Makes the documents of these articles due. A second call for the same articles changes nothing."""


async def discover_nothing(asked: Sequence[Asked]) -> None:
    """For an app that acquires no full texts."""


def asks(choice: FullTextChoice, text: str | None) -> bool:
    """Whether a feed with this choice asks for the full text of an entry with this text."""
    return choice == "always" or (choice == "short" and (not text or len(text) < SHORT_TEXT))


def asked_for(merged: Iterable[Merged], attempt: SourceAttempt) -> list[Asked]:
    """The articles of an attempt whose full text is asked for, also those that the attempt has not changed: an earlier
    one may have died before it asked."""
    source, found = attempt.source, dict[str, Asked]()
    for one in merged:
        article = one.article or one.before
        if article is None or article.get("deleted_at") or article["canonical"]["source"] != source.key:
            continue
        if asks(source.full_text, article.get("text_for_analysis")):
            reading = article["canonical"]
            found[article["source_id"]] = Asked(
                article["source_id"], source.key, reading["url"], reading["revision"], article.get("ttl_timestamp")
            )
    return list(found.values())
