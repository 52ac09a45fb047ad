"""Reads the full texts that articles name, for their analysis."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from models.article import Article
from models.errors import Damaged, NotFound, Unavailable
from services.logs import log_event
from services.ports import Archive

log = logging.getLogger("toolpulse.documents")

MAX_SCORED = 20_000
"""Characters of a full text that are scored: what an article says of a tool, it says by then."""
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class FullTexts:
    """Reads full texts from the archive."""

    archive: Archive

    async def read(self, articles: Iterable[Article]) -> Mapping[str, str | Unavailable]:
        """The full texts by article, without articles whose text of the feed is to be scored: they have no full text,
        or it is gone or damaged. Unavailable if the archive did not answer."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(article: Article) -> tuple[str, str | Unavailable | None]:
            async with gate:
                return article.source_id, await self._text(article)

        wanted = [each for each in articles if each.text_to_score is not None]
        found = await asyncio.gather(*map(one, wanted))
        return {source_id: text for source_id, text in found if text is not None}

    async def _text(self, article: Article) -> str | Unavailable | None:
        named = article.text_to_score
        assert named is not None
        try:
            data = await self.archive.get(named.archive_key)
        except (NotFound, Damaged) as error:
            fields = {"source_id": article.source_id, "error": type(error).__name__}
            log_event(log, logging.ERROR, "full_text_not_readable", **fields)
            return None
        except Unavailable as error:
            return error
        return data.decode("utf-8", "replace")[:MAX_SCORED]
