"""Keeps the references of old days of tools, so that they outlive mentions and articles.

The daily close calls this before it freezes a day, and the recount for each dirty hour of an old day. So each change of
a mention after that, such as a verdict, its undoing, a deletion or a merge, changes what is kept, before the mention
expires.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from models.errors import Unavailable
from models.mention import SentimentScore
from models.reference import Reference, ReferenceDay
from services.logs import log_event
from services.mentions.references import fitting, is_kept, kept_after
from services.ports import Create, Operation, Query, Replace, Store, Where, listed_documents, pages, readable
from services.store.containers import CATALOG, MENTIONS

log = logging.getLogger("toolpulse.references")

DAYS_AT_ONCE = 31
_TRIES = 20
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class KeptReferences:
    store: Store

    async def keep(self, tool_id: str, days: Iterable[date], now: datetime, also: Sequence[Reference] = ()) -> None:
        """Keeps the references of those days that are old enough. `also` are references of which nothing else is known.

        Each of these days is read before its mentions, and always written, by its ETag. So of two workers the one that
        has read older mentions fails, and reads again. Raises Unavailable if the days keep changing.
        """
        waiting = sorted(day for day in set(days) if is_kept(day, now))
        for _ in range(_TRIES):
            if not waiting:
                return
            left: list[date] = []
            for start in range(0, len(waiting), DAYS_AT_ONCE):
                left += await self._keep(tool_id, waiting[start : start + DAYS_AT_ONCE], now, also)
            waiting = left
        raise Unavailable(f"the references of {tool_id} on {waiting[0]} keep changing", retry_after=1.0)

    async def _keep(self, tool_id: str, days: Sequence[date], now: datetime, also: Sequence[Reference]) -> list[date]:
        """Returns the days that another worker has written meanwhile."""
        keys = [(tool_id, ReferenceDay.id_of(day.isoformat())) for day in days]
        stored = await self.store.read_many(CATALOG.name, keys)
        mentions = await self._mentions(tool_id, days)
        writes: list[tuple[date, Operation]] = []
        for day, document in zip(days, stored, strict=True):
            found = readable(document, ReferenceDay.from_document)
            if found is None and document is not None:
                continue  # cannot be read, and was logged: what was kept is never overwritten
            before = found or ReferenceDay(created_at=now, updated_at=now, tool_id=tool_id, day=day.isoformat())
            of_day = [each for each in also if each.published_at.date() == day]
            fit = fitting(kept_after([*of_day, *before.references], mentions[day]))
            if fit.left_out:
                fields = {"tool_id": tool_id, "day": before.day, "left_out": fit.left_out}
                log_event(log, logging.WARNING, "references_not_kept", **fields)
            # Those that did not fit before may have expired since.
            not_kept = max(before.not_kept, fit.left_out)
            after = before.changed(now, references=fit.references, not_kept=not_kept).to_document()
            etag = before.stored_etag
            writes.append((day, Create(after) if etag is None else Replace(after, etag)))
        # One batch for each day, as a document may be large.
        outcomes = await self.store.batch_many(CATALOG.name, [(tool_id, [write]) for _, write in writes])
        return [day for (day, _), done in zip(writes, outcomes, strict=True) if not isinstance(done, list)]

    async def _mentions(self, tool_id: str, days: Collection[date]) -> dict[date, list[SentimentScore]]:
        """The mentions of each day, also removed ones; those that cannot be read are logged and left out."""
        found: dict[date, list[SentimentScore]] = {day: [] for day in days}
        where = (
            Where("published_at", "ge", f"{min(days)}T00:00:00Z"),
            Where("published_at", "lt", f"{max(days) + timedelta(days=1)}T00:00:00Z"),
        )
        async for page in pages(self.store, MENTIONS.name, Query(where, tool_id, order="by_published", limit=_PAGE)):
            wanted = [each for each in page.items if date.fromisoformat(each["published_at"][:10]) in found]
            for mention in listed_documents(wanted, SentimentScore.from_document, "source_id").items:
                found[mention.published_at.date()].append(mention)
        return found
