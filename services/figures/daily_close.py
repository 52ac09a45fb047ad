"""Closes each UTC day some hours after its end, and freezes it when its figures are no longer live.

The close of a day is written once for each tool with mentions, and never changes, so that a report can cite it. Later
figures of the day stand beside it, the last of them for good, and those of its hours for a month. `clean_up` does this
work in pages of tools, and keeps its place in one document. After a crash a page is done again: what exists is not
written again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from models.errors import ChangedMeanwhile, Conflict
from models.history import DailyClose, DailyRound, FrozenHours, HistoryDay, HistoryProgress
from models.tally import by_day
from models.values import Day, format_time
from services import deadline
from services.figures.counting import Count, CountedMention
from services.figures.coverage import Coverage
from services.figures.points import oldest_counted
from services.figures.span import LIVE_DAYS, STEPS, day_start
from services.logs import log_event
from services.ports import Clock, Create, Document, Operation, Query, Replace, Store, Where, pages, readable
from services.store.containers import CATALOG, MENTIONS
from services.tools.catalog import ONLY_TOOLS

log = logging.getLogger("toolpulse.history")

CLOSED_AFTER = timedelta(hours=6)
"""After the end of a day: feeds bring most of its articles by then."""
TOOLS_AT_ONCE = 20
MOST_PAGES = 50
"""Pages of tools in one call, which has other work to leave time for."""
HOURS_KEPT = timedelta(days=31)
"""Of how many frozen days FrozenHours has the hours: the timeline has those of the 30 days after them."""
_PAGE = 1000
_DAY = timedelta(days=1)

DayHook = Callable[[str, date, Sequence[Document]], Awaitable[None]]
"""Called with a tool, a day and the tool's mentions of that day, before the day is closed, and again before it is
frozen; after a crash, once more."""


def next_round(progress: HistoryProgress | None, now: datetime) -> DailyRound | None:
    """The days that are to be closed and frozen now. Days whose mentions have begun to expire are left out."""
    today, oldest = (now - CLOSED_AFTER).date(), oldest_counted(now).date()
    closed_until = progress.closed_until if progress else None
    frozen_until = progress.frozen_until if progress else None
    close = _days_after(closed_until, oldest, today - _DAY)
    freeze = _days_after(frozen_until, oldest, today - LIVE_DAYS * _DAY)
    return DailyRound(close=close, freeze=freeze) if close or freeze else None


def _days_after(done: Day | None, oldest: date, last: date) -> tuple[Day, Day] | None:
    first = oldest if done is None else max(oldest, date.fromisoformat(done) + _DAY)
    return (first.isoformat(), last.isoformat()) if first <= last else None


def after_round(progress: HistoryProgress, ended: DailyRound, now: datetime) -> HistoryProgress:
    """Frozen days with a gap before them count from that gap on: nothing is known of the days in between."""
    changes: dict[str, Day | None] = {}
    if ended.close:
        changes["closed_until"] = ended.close[1]
    if ended.freeze:
        first, last = ended.freeze
        until = progress.frozen_until
        follows = until is not None and date.fromisoformat(until) + _DAY == date.fromisoformat(first)
        changes |= {"frozen_since": progress.frozen_since if follows else first, "frozen_until": last}
    return progress.changed(now, **changes, round=None)


@dataclass(slots=True)
class CountedDay:
    """A tool's mentions of one day, together and by hour."""

    count: Count = field(default_factory=Count)
    hours: dict[str, Count] = field(default_factory=dict)

    def add(self, mention: CountedMention, published_at: str) -> None:
        self.count.add(mention)
        self.hours.setdefault(published_at[11:13], Count()).add(mention)

    def text(self, day: date) -> str | None:
        """The day as a timeline has it; None without mentions."""
        name = f"{day:%Y%m%d}"
        return by_day({name + hour: count.tally for hour, count in self.hours.items()}).get(name)


def with_day(kept: FrozenHours, day: date, text: str, now: datetime) -> FrozenHours:
    """With the hours of one more day, and without those of days that have become too old."""
    oldest = f"{day - HOURS_KEPT + _DAY:%Y%m%d}"
    days = {name: each for name, each in kept.days.items() if name >= oldest} | {f"{day:%Y%m%d}": text}
    return kept.changed(now, days=days)


def _frozen_day(
    tool_id: str, day: date, stored: Document | None, count: Count, coverage: Mapping[str, Any], now: datetime
) -> list[Operation] | None:
    """None if the day is frozen already. Nothing for a document that cannot be read, and was logged: a close is never
    overwritten."""
    found = readable(stored, HistoryDay.from_document)
    if found is None and stored is not None:
        return []
    if found is not None and found.frozen is not None:
        return None
    before = found or HistoryDay(created_at=now, updated_at=now, tool_id=tool_id, day=day.isoformat())
    # The close has the coverage by the feeds that were relevant then.
    share = before.closed.figures if before.closed else coverage
    figures = {**count.figures(), "coverage": share.get("coverage")}
    return [_write(before.changed(now, frozen=count.to_frozen(figures, now)).to_document(), before.stored_etag)]


def _frozen_hours(
    tool_id: str, day: date, stored: Document | None, counted: CountedDay, now: datetime
) -> list[Operation]:
    """Nothing without mentions, and nothing if the other days cannot be read: they would be lost."""
    text, kept = counted.text(day), readable(stored, FrozenHours.from_document)
    if stored is None:
        kept = FrozenHours(created_at=now, updated_at=now, tool_id=tool_id)
    if text is None or kept is None:
        return []
    return [_write(with_day(kept, day, text, now).to_document(), kept.stored_etag)]


def _write(document: dict[str, Any], etag: str | None) -> Operation:
    return Create(document) if etag is None else Replace(document, etag)


@dataclass(slots=True)
class Closed:
    """What one call did: the tools that it went through, and the documents that it wrote."""

    tools: int = 0
    closed: int = 0
    frozen: int = 0


class DailyCloses:
    """`hooks` are called for each tool and day with mentions."""

    def __init__(
        self,
        store: Store,
        coverage: Coverage,
        clock: Clock,
        tools_at_once: int = TOOLS_AT_ONCE,
        most_pages: int = MOST_PAGES,
    ) -> None:
        self._store = store
        self._coverage = coverage
        self._clock = clock
        self._tools_at_once = tools_at_once
        self._most_pages = most_pages
        self.hooks: list[DayHook] = []

    async def work(self) -> Closed:
        """Goes on with the present round, or begins the next; does nothing if every day is done."""
        done = Closed()
        document = await self._store.read(CATALOG.name, HistoryProgress.PARTITION, HistoryProgress.ID)
        progress = readable(document, HistoryProgress.from_document)
        for _ in range(self._most_pages):
            now = self._clock()
            work = (progress and progress.round) or next_round(progress, now)
            if work is None or deadline.is_near():
                break
            after = await self._page(work, now, done)
            before = progress or HistoryProgress(created_at=now, updated_at=now)
            going_on = work.model_copy(update={"after": after})
            progress = after_round(before, work, now) if after is None else before.changed(now, round=going_on)
            try:
                progress = await self._saved(progress)
            except (Conflict, ChangedMeanwhile):
                break  # another worker goes on with this round
        if done.closed or done.frozen:
            log_event(log, logging.INFO, "days_closed", tools=done.tools, closed=done.closed, frozen=done.frozen)
        return done

    async def _saved(self, progress: HistoryProgress) -> HistoryProgress:
        if progress.stored_etag is None:
            stored = await self._store.create(CATALOG.name, progress.to_document())
        else:
            stored = await self._store.replace(CATALOG.name, progress.to_document(), progress.stored_etag)
        return HistoryProgress.from_document(stored)

    async def _page(self, work: DailyRound, now: datetime, done: Closed) -> str | None:
        """Closes and freezes the days of the round for the next tools. Returns where the page after it begins."""
        query = Query((ONLY_TOOLS,), limit=self._tools_at_once, after=work.after)
        page = await self._store.query(CATALOG.name, query)
        tool_ids = [document["tool_id"] for document in page.items]
        if tool_ids:
            for day in _days(work.close):
                done.closed += await self._close(tool_ids, day, now)
            for day in _days(work.freeze):
                done.frozen += await self._freeze(tool_ids, day, now)
        done.tools += len(tool_ids)
        return page.next

    async def _close(self, tool_ids: Sequence[str], day: date, now: datetime) -> int:
        counts = await self._counts(tool_ids, day)
        coverage = await self._coverages(list(counts), day, now)
        documents = [
            HistoryDay(
                created_at=now,
                updated_at=now,
                tool_id=tool_id,
                day=day.isoformat(),
                closed=DailyClose.of(tool_id, day.isoformat(), {**counted.count.figures(), **coverage[tool_id]}, now),
            ).to_document()
            for tool_id, counted in counts.items()
        ]
        return sum(await self._store.create_many(CATALOG.name, documents)) if documents else 0

    async def _freeze(self, tool_ids: Sequence[str], day: date, now: datetime) -> int:
        counts = await self._counts(tool_ids, day)
        coverage = await self._coverages(tool_ids, day, now)
        keys = [(tool_id, HistoryDay.id_of(day.isoformat())) for tool_id in tool_ids]
        stored = await self._store.read_many(CATALOG.name, keys)
        hours = await self._store.read_many(CATALOG.name, [(tool_id, FrozenHours.ID) for tool_id in tool_ids])
        writes: list[tuple[str, list[Operation]]] = []
        for tool_id, document, of_hours in zip(tool_ids, stored, hours, strict=True):
            if document is None and tool_id not in counts:
                continue
            counted = counts.get(tool_id, CountedDay())
            operations = _frozen_day(tool_id, day, document, counted.count, coverage[tool_id], now)
            if operations is not None:
                operations += _frozen_hours(tool_id, day, of_hours, counted, now)
                writes.append((tool_id, operations))
        writes = [write for write in writes if write[1]]
        # One that fails was written by another worker, which did the same.
        outcomes = await self._store.batch_many(CATALOG.name, writes) if writes else []
        return sum(isinstance(outcome, list) for outcome in outcomes)

    async def _coverages(self, tool_ids: Sequence[str], day: date, now: datetime) -> dict[str, dict[str, float | None]]:
        of_tools = await self._coverage.of_tools(tool_ids, now)
        start = day_start(day)
        return {tool_id: {"coverage": each.share(start, start + STEPS["day"])} for tool_id, each in of_tools.items()}

    async def _counts(self, tool_ids: Collection[str], day: date) -> dict[str, CountedDay]:
        """The counts of the tools with mentions on that day, after the hooks have seen these."""
        where = (
            Where("tool_id", "in", tuple(tool_ids)),
            Where("removed_at", "missing"),
            Where("published_at", "ge", format_time(day_start(day))),
            Where("published_at", "lt", format_time(day_start(day) + STEPS["day"])),
        )
        counts: dict[str, CountedDay] = {}
        mentions: dict[str, list[Document]] = {}
        async for page in pages(self._store, MENTIONS.name, Query(where, order="by_published", limit=_PAGE)):
            for mention in page.items:
                tool_id = mention["tool_id"]
                try:
                    counted = CountedMention.of(mention)
                except ValueError as error:
                    log_event(log, logging.ERROR, "mention_not_counted", tool_id=tool_id, error=str(error))
                    continue
                counts.setdefault(tool_id, CountedDay()).add(counted, mention["published_at"])
                if self.hooks:
                    mentions.setdefault(tool_id, []).append(mention)
        for tool_id, of_day in mentions.items():
            for hook in self.hooks:
                await hook(tool_id, day, of_day)
        return counts


def _days(span: tuple[Day, Day] | None) -> list[date]:
    if span is None:
        return []
    first, last = map(date.fromisoformat, span)
    return [first + number * _DAY for number in range((last - first).days + 1)]
