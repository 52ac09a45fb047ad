"""Closes each UTC day some hours after its end: writes its figures once for each tool with mentions, so that a report
can cite them. On the same round it keeps the references of the day that is no longer live.

`clean_up` does this work in pages of tools, and keeps its place in one document. After a crash a page is done again:
what exists is not written again.
"""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from models.cache import Window
from models.run import CLOSE
from models.timeline import DailyClose, DayCounts, HistoryProgress
from models.values import is_ahead
from services import deadline
from services.figures.counting import Count
from services.figures.coverage import Coverage, Shares
from services.figures.points import LIVE_DAYS, STEPS, day_start, first_live_day
from services.figures.recount import NOT_REMOVED, Recount, published
from services.figures.windows import Windows
from services.logs import log_event
from services.mentions.references import keep_references
from services.ports import Clock, Document, Query, Store, query_all, readable
from services.store.containers import CATALOG, MENTIONS, RUNS
from services.tools.catalog import ONLY_TOOLS
from services.work.handling import Handled, run_of
from services.work.rules import reason_of

log = logging.getLogger("toolpulse.history")

CLOSED_AFTER = timedelta(hours=6)
"""After the end of a day: feeds bring most of its articles by then."""
TOOLS_AT_ONCE = 20
MAX_PAGES = 50
"""Pages of tools in one call, which has other work to leave time for."""
_DAY = timedelta(days=1)


def next_day(progress: HistoryProgress | None, now: datetime) -> date | None:
    """The day that is to be closed now. Days that are no longer live are left out."""
    day, last = first_live_day(now), (now - CLOSED_AFTER).date() - _DAY
    if progress is not None and not is_ahead(progress.updated_at, now):
        day = max(day, date.fromisoformat(progress.closed_until) + _DAY)
    return day if day <= last else None


def after_page(progress: HistoryProgress | None, day: date, after: str | None, now: datetime) -> HistoryProgress:
    """`after` is where the next page of this day begins; None after the last one. Of the days of a gap before this day
    nothing is known."""
    before = (day - _DAY).isoformat()
    if progress is None:
        progress = HistoryProgress(created_at=now, since=day.isoformat(), closed_until=before)
    since = progress.since if progress.closed_until == before else day.isoformat()
    return progress.changed(now, since=since, closed_until=before if after else day.isoformat(), after=after)


async def stored_progress(store: Store) -> HistoryProgress | None:
    document = await store.read(CATALOG.name, HistoryProgress.PARTITION, HistoryProgress.ID)
    return readable(document, HistoryProgress.from_document)


@dataclass(frozen=True, slots=True)
class DailyCloses:
    """The work of the daily close."""

    store: Store
    recount: Recount
    coverage: Coverage
    clock: Clock
    tools_at_once: int = TOOLS_AT_ONCE
    most_pages: int = MAX_PAGES
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex

    async def work(self) -> Handled:
        """Goes on with the present day, or begins the next; does nothing if every day is closed. Tells of the tools,
        each once for every day."""
        handled, began = Handled(counts=Counter(closed=0)), self.clock()
        progress = await stored_progress(self.store)
        for _ in range(self.most_pages):
            now = self.clock()
            day = next_day(progress, now)
            if day is None or deadline.is_near():
                break
            is_begun = progress is not None and progress.closed_until == (day - _DAY).isoformat()
            after = progress.after if progress and is_begun else None
            page = await self.store.query(CATALOG.name, Query((ONLY_TOOLS,), limit=self.tools_at_once, after=after))
            tool_ids = [document["tool_id"] for document in page.items]
            if tool_ids:
                recounted = await self.recount.windows_of(tool_ids, now)
                if deadline.is_near():
                    break  # some tools may not have been recounted
                handled.counts["closed"] += await self._close(recounted.windows, day, now)
                handled.done += len(recounted.windows)
                handled.failed |= {tool_id: reason_of(error) for tool_id, error in recounted.failed.items()}
                await self._keep_references(tool_ids, day - (LIVE_DAYS - 1) * _DAY, now)
            # Of two workers at once, both do the same.
            progress = after_page(progress, day, page.next, now)
            await self.store.upsert(CATALOG.name, progress.to_document())
        if handled.counts["closed"]:
            log_event(log, logging.INFO, "days_closed", tools=handled.done, closed=handled.counts["closed"])
        if handled.done or handled.failed:
            run = run_of(CLOSE, self.new_id(), handled, began, self.clock())
            await self.store.create(RUNS.name, run.to_document())
        return handled

    async def _close(self, windows: Mapping[str, Windows], day: date, now: datetime) -> int:
        """The counts of these tools are right. One whose mentions cannot be read has no close: a close never
        changes."""
        whole, shares = Window(day_start(day), day_start(day + _DAY)), Shares(await self.coverage.fetches(now), now)
        keys = [(tool_id, DayCounts.id_of(f"{day:%Y%m%d}")) for tool_id in windows]
        stored = await self.store.read_many(CATALOG.name, keys) if keys else []
        closes: list[Document] = []
        for (tool_id, _), document in zip(keys, stored, strict=True):
            if document is None or readable(document, DayCounts.from_document) is None:
                continue
            count = Count.stored(document["whole"])
            if count.mentions:
                share = shares.of(whole, windows[tool_id].since, windows[tool_id].sources())
                figures = {**count.figures(), "coverage": share}
                closes.append(DailyClose.of(tool_id, day.isoformat(), figures, now).to_document())
        return sum(await self.store.create_many(CATALOG.name, closes)) if closes else 0

    async def _keep_references(self, tool_ids: Sequence[str], day: date, now: datetime) -> None:
        query = published(tool_ids, day_start(day), day_start(day) + STEPS["day"], NOT_REMOVED)
        mentions: dict[str, list[Document]] = {}
        for mention in await query_all(self.store, MENTIONS.name, query):
            mentions.setdefault(mention["tool_id"], []).append(mention)
        for tool_id, of_day in mentions.items():
            await keep_references(self.store, tool_id, day, of_day, now)
