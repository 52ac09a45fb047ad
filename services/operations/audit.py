"""Audits what is stored: counts anew what other documents say, and compares.

An audit goes in rounds through all sections, part by part. The timer `clean_up` does a few parts at a time and stores
a checkpoint; a command does a whole round. A part that differs is read again after a moment. Only differences that are
there both times, in the same versions of the documents, are reported: what a worker is just writing is none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from models.audit import AuditExample, AuditProgress, AuditRound
from models.errors import ChangedMeanwhile, Conflict
from models.values import format_time
from services import deadline, telemetry
from services.logs import log_event
from services.operations.audit_corrections import CorrectionsSection
from services.operations.audit_figures import ToolsSection
from services.operations.audit_reading import with_stale_reads
from services.operations.audit_repair import Repairs
from services.operations.audit_rules import HARMLESS, KINDS, Difference
from services.operations.audit_sections import (
    ArticlesSection,
    FeedsSection,
    LocatorsSection,
    MentionsSection,
    Part,
    RunsSection,
    Section,
)
from services.ports import Clock, Store, readable
from services.store.containers import CATALOG

log = logging.getLogger("toolpulse.upkeep")

DOCUMENTS_IN_STEP = 200
MOST_IN_STEP = 1000
STEPS_IN_ROUND = 288
"""A day of `clean_up`: a step is as large as a round of a day needs, within the two limits above."""
SECONDS_IN_STEP = 2.0
READ_AGAIN_AFTER_SECONDS = 2.0
WAITING_PARTS = 20


Readings = tuple[Section, Section]
"""A section for the first reading, which may be stale, and for the second, which decides what is reported."""


@dataclass(frozen=True, slots=True)
class Audited:
    """One part of a round: its section, its differences, and how many of them were repaired."""

    section: str
    checked: int
    differences: list[Difference]
    repaired: int = 0


class Audit:
    """`seconds` measures how long a step takes. Without `repairs`, an audit reads only."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        repairs: Repairs | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._repairs = repairs
        self._sleep = sleep
        self._seconds = seconds
        self._sections = _sections(store, clock)

    async def progress(self) -> AuditProgress | None:
        return readable(await self._stored(), AuditProgress.from_document)

    async def step(self) -> AuditRound | None:
        """Audits the next few parts, and stores the checkpoint. Returns the round if this step ended it.

        Another worker may make the same step: the first to store its checkpoint counts.
        """
        if deadline.is_near():
            return None
        began, now = self._seconds(), self._clock()
        document = await self._stored()
        known = readable(document, AuditProgress.from_document)
        present = AuditRound(started_at=now) if known is None else known.present
        section, position = (next(iter(self._sections)), None) if known is None else (known.section, known.position)
        if section not in self._sections:
            section, position = next(iter(self._sections)), None
        documents, ended, enough = 0, False, step_size(None if known is None else known.last)
        while documents < enough and self._seconds() - began < SECONDS_IN_STEP and not deadline.is_near():
            first, second = self._sections[section]
            part = await _readable(first, position)
            if _is_suspect(part):
                await self._sleep(READ_AGAIN_AFTER_SECONDS)
                part = await _confirmed(second, position, part)
            present = present.plus(part.checked, [_example(each) for each in part.differences])
            documents += part.checked
            following = section if part.next is not None else self._section_after(section)
            section, position, ended = following or next(iter(self._sections)), part.next, following is None
            if ended:
                break
        last = known.last if known is not None else None
        if ended:
            last, present = present.ended(self._clock()), AuditRound(started_at=self._clock())
        after = AuditProgress(
            created_at=now if known is None else known.created_at,
            updated_at=now,
            section=section,
            position=position,
            present=present,
            last=last,
        )
        if not await self._save(after, document):
            return None
        if ended and last is not None:
            log_round(last)
        return last if ended else None

    async def round(self, *, tool_id: str | None = None, repair: bool = False) -> AsyncIterator[Audited]:
        """Audits everything, or one tool with its mentions, at once. With `repair`, what differs is
        repaired as it is found. A whole round replaces the last one of the checkpoint."""
        sections = self._sections if tool_id is None else _sections(self._store, self._clock, tool_id)
        result = AuditRound(started_at=self._clock())
        for name, readings in sections.items():
            async for part in self._parts(readings):
                left = part.differences
                if repair and self._repairs is not None:
                    left = await self._repairs.repair_all(left)
                result = result.plus(part.checked, [_example(each) for each in left])
                yield Audited(name, part.checked, part.differences, len(part.differences) - len(left))
        if tool_id is None:
            await self._save_round(result.ended(self._clock()))

    async def _parts(self, readings: Readings) -> AsyncIterator[Part]:
        """All parts of a section. Those that differ come later, WAITING_PARTS after one moment."""
        first, second = readings
        waiting: list[tuple[str | None, Part]] = []
        position: str | None = None
        while True:
            part = await _readable(first, position)
            if _is_suspect(part):
                waiting.append((position, part))
            else:
                yield part
            if waiting and (part.next is None or len(waiting) == WAITING_PARTS):
                await self._sleep(READ_AGAIN_AFTER_SECONDS)
                for began, each in waiting:
                    yield await _confirmed(second, began, each)
                waiting = []
            if part.next is None:
                return
            position = part.next

    def _section_after(self, name: str) -> str | None:
        names = list(self._sections)
        at = names.index(name) + 1
        return names[at] if at < len(names) else None

    async def _stored(self) -> dict[str, Any] | None:
        return await self._store.read(CATALOG.name, AuditProgress.PARTITION, AuditProgress.ID)

    async def _save(self, progress: AuditProgress, before: Mapping[str, Any] | None) -> bool:
        try:
            if before is None:
                await self._store.create(CATALOG.name, progress.to_document())
            else:
                await self._store.replace(CATALOG.name, progress.to_document(), before["_etag"])
        except (Conflict, ChangedMeanwhile):
            return False
        return True

    async def _save_round(self, ended: AuditRound) -> None:
        """The timer begins a new round: what it has found so far may be repaired."""
        now = self._clock()
        document = await self._stored()
        known = readable(document, AuditProgress.from_document)
        first = known or AuditProgress(
            created_at=now, updated_at=now, section=next(iter(self._sections)), present=AuditRound(started_at=now)
        )
        changes = {"section": next(iter(self._sections)), "position": None, "present": AuditRound(started_at=now)}
        await self._save(first.changed(now, last=ended, **changes), document)
        log_round(ended)


def _sections(store: Store, clock: Clock, tool_id: str | None = None) -> dict[str, Readings]:
    """All sections, or those of one tool, by name, for the first and the second reading."""

    def all_on(store: Store) -> dict[str, Section]:
        of_tool: dict[str, Section] = {
            "mentions": MentionsSection(store, clock, tool_id),
            "corrections": CorrectionsSection(store, tool_id),
            "tools": ToolsSection(store, clock, tool_id),
        }
        if tool_id is not None:
            return of_tool
        return {
            "articles": ArticlesSection(store, clock),
            "locators": LocatorsSection(store, clock),
            **of_tool,
            "feeds": FeedsSection(store, clock),
            "runs": RunsSection(store),
        }

    first, second = all_on(with_stale_reads(store)), all_on(store)
    return {name: (first[name], second[name]) for name in first}


async def _readable(section: Section, position: str | None) -> Part:
    """The part. A document that is no document of ours ends its section: the others are audited."""
    try:
        return await section.part(position)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        log.exception("part_not_audited section=%s", type(section).__name__)
        detail = f"behind {position}: {type(error).__name__}"
        return Part([Difference("unreadable", type(section).__name__, detail)], None, 1)


def _is_suspect(part: Part) -> bool:
    return any(each.kind not in HARMLESS for each in part.differences)


async def _confirmed(section: Section, position: str | None, part: Part) -> Part:
    """The part with the differences that are there twice. If documents were written meanwhile, the second reading may
    end earlier; the next position is that of the first."""
    again = set((await _readable(section, position)).differences)
    return Part([each for each in part.differences if each in again], part.next, part.checked)


def step_size(last: AuditRound | None) -> int:
    """How many documents a step reads, by the number that the last round has read."""
    needed = 0 if last is None else last.checked // STEPS_IN_ROUND
    return min(max(needed, DOCUMENTS_IN_STEP), MOST_IN_STEP)


def log_round(ended: AuditRound) -> None:
    found = {kind: number for kind, number in ended.found.items() if kind not in HARMLESS}
    for kind in KINDS:
        telemetry.record(telemetry.AUDIT_DIFFERENCES, ended.found.get(kind, 0), kind=kind)
    level = logging.WARNING if found else logging.INFO
    log_event(log, level, "audit_ended", checked=ended.checked, began=format_time(ended.started_at), **found)


def _example(difference: Difference) -> AuditExample:
    return AuditExample(kind=difference.kind, subject=difference.subject, detail=difference.detail[:200])
