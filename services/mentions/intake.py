"""Takes up a message of `analyze-articles`: each article analysed, or told apart from the others and tried alone.

An article that fails in company goes on alone; alone it is tried again by its queue, and at its fifth delivery becomes
an error that somebody can see. `clean_up` gives errors another chance for as long as they have attempts left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.article import Article
from models.errors import ChangedMeanwhile, ToolpulseError
from models.values import format_time
from services.articles.analysis_messages import article_messages
from services.logs import log_event
from services.mentions.settling import Settled, Settling
from services.mentions.works import fingerprint
from services.ports import Clock, Document, Query, Store, Where
from services.store.containers import ARTICLES

log = logging.getLogger("toolpulse.analysis")

LAST_DELIVERY = 5
"""host.json's maxDequeueCount; a test holds it to that."""
APART_FROM = 3
"""The delivery at which a batch is taken apart: what does not fail but kills the process shows itself alone."""
MOST_ATTEMPTS = 15
ERRORS_REST = timedelta(hours=1)
MOST_AT_ONCE = 500
_TRIES = 8


class AnalysisFailed(ToolpulseError):
    """One article could not be analysed; its message is to be delivered again."""


@dataclass(frozen=True, slots=True)
class Taken:
    """How many were analysed, and the messages of those that are to be tried alone."""

    analyzed: int
    alone: tuple[str, ...] = ()


class Intake:
    def __init__(self, store: Store, settling: Settling, clock: Clock) -> None:
        self._store = store
        self._settling = settling
        self._clock = clock

    async def take(self, source_ids: Sequence[str], delivery: int = 1) -> Taken:
        """Raises AnalysisFailed for an article that was alone and failed, Unavailable if nobody could be asked."""
        if not source_ids:
            return Taken(0)
        if len(source_ids) > 1 and delivery >= APART_FROM:
            return Taken(0, tuple(article_messages(source_ids, 1)))
        if delivery >= LAST_DELIVERY:
            await self._give_up(source_ids[0], None)
            return Taken(0)
        settled = await self._settling.settle(source_ids)
        log_event(
            log,
            logging.WARNING if settled.failed else logging.INFO,
            "articles_analyzed",
            articles=len(settled.done),
            mentions=settled.written,
            removed=settled.removed,
            failed=len(settled.failed),
        )
        for source_id in settled.hopeless:
            await self._give_up(source_id, settled.failed[source_id], hopeless=True)
        again = [each for each in settled.failed if each not in settled.hopeless]
        if again and len(source_ids) == 1:
            await self._fail(settled)
        return Taken(len(settled.done), tuple(article_messages(again, 1)))

    async def second_chances(self, now: datetime) -> list[str]:
        """The articles in error that have attempts left and have rested, pending again: their events are due."""
        rested = Where("updated_at", "le", format_time(now - ERRORS_REST))
        left = Where("analysis_attempts", "lt", MOST_ATTEMPTS)
        return await self._pending_again((rested, left), MOST_AT_ONCE, {}, now)

    async def redriven(self, limit: int) -> list[str]:
        """The articles in error, pending again as if they had never been tried: somebody has mended the cause."""
        return await self._pending_again((), limit, {"analysis_attempts": 0}, self._clock())

    async def _pending_again(self, which: tuple[Where, ...], limit: int, more: Document, now: datetime) -> list[str]:
        where = (Where("status", "eq", "error"), Where("deleted_at", "missing"), *which)
        page = await self._store.query(ARTICLES.name, Query(where, order="by_status", limit=limit))
        changes = {"status": "pending", "updated_at": format_time(now), "resent_at": format_time(now), **more}
        done = await asyncio.gather(*(self._replaced(each, changes) for each in page.items))
        return [each["source_id"] for each, replaced in zip(page.items, done, strict=True) if replaced]

    async def _fail(self, settled: Settled) -> None:
        (source_id,) = settled.failed
        document = await self._store.read(ARTICLES.name, source_id, Article.ID)
        if document is not None:
            attempts = (document.get("analysis_attempts") or 0) + 1
            said = {"analysis_attempts": attempts, "last_error_fingerprint": settled.failed[source_id]}
            # Not written: somebody else changed it, and that is another try.
            await self._replaced(document, said)
        raise AnalysisFailed(f"article {source_id}: {settled.failed[source_id]}")

    async def _give_up(self, source_id: str, why: str | None, *, hopeless: bool = False) -> None:
        """An error that can be seen. What was analysed before an edit keeps its figures, as its states want it."""
        for _ in range(_TRIES):
            document = await self._store.read(ARTICLES.name, source_id, Article.ID)
            if document is None or document.get("deleted_at"):
                return
            attempts = MOST_ATTEMPTS if hopeless else (document.get("analysis_attempts") or 0) + 1
            said = {
                "analysis_attempts": attempts,
                "last_error_fingerprint": why or document.get("last_error_fingerprint") or fingerprint("process died"),
                "updated_at": format_time(self._clock()),
            }
            if document.get("status") == "pending":
                said["status"] = "error"
            if await self._replaced(document, said):
                log_event(log, logging.ERROR, "article_given_up", source_id=source_id, attempts=attempts)
                return
        raise ChangedMeanwhile(f"article {source_id} keeps changing")

    async def _replaced(self, document: Document, changes: Document) -> bool:
        """By fields, since an article that cannot be read as one must be marked all the same."""
        try:
            await self._store.replace(ARTICLES.name, {**document, **changes}, document["_etag"])
        except ChangedMeanwhile:
            return False
        return True
